// The rotation axis. Here: its column and its tilt, each typed or searched for. Not here: dragging it (PreviewImages.tsx).

import { useState, type ReactNode } from "react";
import { Button } from "../components/Button";
import { Switch } from "../components/Choice";
import { Section } from "../components/Section";
import { Slider } from "../components/Slider";
import type { Recipe, ScanDescription, ReconstructionDraft } from "../protocol";
import { useSession } from "../session/session";
import { Numbers } from "./fields";
import type { Change } from "./PreviewImages";
import { findAxis } from "./requests";
import { centerOf, centerRange, leaning, numberOf, withAxis, type Leaning } from "./draft";

interface AxisProps {
  path: string;
  scan: ScanDescription;
  draft: ReconstructionDraft;
  onChange: Change;
}

export function AxisSection({ path, scan, draft, onChange }: AxisProps): ReactNode {
  const { recipe } = draft;
  const set = (change: Partial<Recipe>): void => onChange({ recipe: { ...recipe, ...change } });
  return (
    <Section title="Rotation axis" aside={draft.axis === "guessed" ? <span className="hint">refining…</span> : <Button look="plain" onClick={() => onChange({ axis: "guessed" })}>Find automatically</Button>}>
      <Center scan={scan} recipe={recipe} onChange={set} />
      {scan.is_full_turn ? (
        <Switch label="Offset scan: join opposite views" isOn={recipe.is_offset} onChange={(is_offset) => set(is_offset ? { is_offset, tilt: 0, roll_deg: 0 } : { is_offset })} />
      ) : null}
      {recipe.is_offset ? null : <Slope path={path} draft={draft} onChange={onChange} />}
    </Section>
  );
}

interface CenterProps {
  scan: ScanDescription;
  recipe: Recipe;
  onChange: (change: Partial<Recipe>) => void;
}

function Center({ scan, recipe, onChange }: CenterProps): ReactNode {
  const center = centerOf(recipe);
  // The ends stay where they are while the axis moves between them.
  const [range, setRange] = useState<[number, number] | null>(null);
  if (center === null) return null;
  const isInside = range && center >= range[0] && center <= range[1];
  const [low, high] = isInside ? range : centerRange(center, scan.columns);
  return (
    <Slider
      label="Column"
      value={center}
      low={low}
      high={high}
      text={(value) => value.toFixed(2)}
      isOpenEnded
      onChange={(value, isMoving) => {
        setRange(isMoving ? [low, high] : null);
        onChange({ center: Math.min(Math.max(Number(value.toFixed(2)), 0), scan.columns - 1) });
      }}
    />
  );
}

const digits = (value: number): string => String(Number(value.toFixed(5)));

/** A tilted axis is followed from row to row, or corrected by rotating the detector: one or the other. */
function Slope({ path, draft, onChange }: Omit<AxisProps, "scan">): ReactNode {
  const session = useSession();
  const [sought, setSought] = useState<Leaning | null>(null);
  const find = async (how: Leaning): Promise<void> => {
    setSought(how);
    const found = await session.attempt(findAxis(path, draft.options, leaning(draft, how).recipe));
    setSought(null);
    if (found) onChange((now) => withAxis(leaning(now, how), found, "found"));
  };
  const finder = (how: Leaning): ReactNode => (
    <Button look="plain" isDisabled={sought !== null} title="Search several rows, together with the column" onClick={() => void find(how)}>
      {sought === how ? "Searching…" : "Find"}
    </Button>
  );
  const set = (tilt: number, roll_deg: number): void => onChange({ recipe: { ...draft.recipe, tilt, roll_deg } });
  const { tilt, roll_deg } = draft.recipe;
  return (
    <>
      <Numbers label="Tilt" hint="columns per row" value={numberOf(tilt)} least={-Infinity} step={0.001} text={digits} aside={finder("tilt")} onChange={(value) => set(value, 0)} />
      <Numbers label="Roll" hint="degrees" value={numberOf(roll_deg)} least={-Infinity} step={0.05} text={digits} aside={finder("roll_deg")} onChange={(value) => set(0, value)} />
    </>
  );
}
