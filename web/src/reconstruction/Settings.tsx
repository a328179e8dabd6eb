// The choices of a reconstruction. Here: their controls. Not here: what they do (the instance), pictures of it (Pictures.tsx).

import { useState, type ReactNode } from "react";
import { Button } from "../parts/Button";
import { Segmented, Select, Switch } from "../parts/Choice";
import { NumberField } from "../parts/NumberField";
import { Section } from "../parts/Section";
import { Slider } from "../parts/Slider";
import type { ComparedStep, Paganin, Recipe, ScanDescription, ScanOptions, Wish } from "../protocol";
import type { Change } from "./Pictures";
import { centerOf, centerRange } from "./wish";

interface SettingsProps {
  scan: ScanDescription;
  wish: Wish;
  onChange: Change;
}

const RINGS: Record<string, string> = {
  none: "Leave them",
  "vo-sorting": "Sorting (Vo 3)",
  "vo-large": "Wide stripes (Vo 5)",
  "vo-dead": "Dead columns (Vo 6)",
  "vo-all": "All of Vo's",
  "fourier-wavelet": "Wavelets (Münch)",
  titarenko: "Regularised (Titarenko)",
};
const METHODS: Record<string, string> = { direct: "Direct", gridding: "Fast", sirt: "SIRT", cgls: "CGLS" };

const titled = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);
const options = (values: readonly string[], words: Record<string, string> = {}): { value: string; label: string }[] => values.map((value) => ({ value, label: words[value] ?? titled(value) }));

export function Settings({ scan, wish, onChange }: SettingsProps): ReactNode {
  const { recipe } = wish;
  const set = (change: Partial<Recipe>): void => onChange({ recipe: { ...recipe, ...change } });
  return (
    <>
      <Section title="Axis" aside={<Button look="plain" onClick={() => onChange({ axis: "guessed" })}>Find it</Button>}>
        <Center scan={scan} recipe={recipe} onChange={set} />
        {wish.axis === "guessed" ? <p className="hint">looking closer…</p> : null}
        {scan.is_full_turn ? <Switch label="At the border: join opposite views" isOn={recipe.is_offset} onChange={(is_offset) => set({ is_offset })} /> : null}
      </Section>
      <Section title="Rings and stray photons">
        <Select label="Rings" value={recipe.rings.method} options={options(scan.choices.rings, RINGS)} onChange={(method) => set({ rings: { ...recipe.rings, method } })} />
        <Numbers label="Zingers" hint="attenuation below" value={recipe.zingers} step={0.05} onChange={(zingers) => set({ zingers })} />
        <Numbers label="Air at the ends" hint="columns" value={recipe.air} step={1} onChange={(air) => set({ air: Math.min(Math.round(air), Math.floor(scan.columns / 2)) })} />
      </Section>
      <Section title="Filter">
        <Select label="Filter" value={recipe.filter} options={options(scan.choices.filters)} onChange={(filter) => set({ filter })} />
        <Select label="Beyond the detector" value={recipe.padding} options={options(scan.choices.paddings, { auto: "As it needs", none: "Nothing", edge: "Fading out" })} onChange={(padding) => set({ padding })} />
        <Segmented label="Method" value={recipe.method} options={options(scan.choices.methods, METHODS)} onChange={(method) => set({ method })} />
        {recipe.method === "sirt" || recipe.method === "cgls" ? (
          <>
            <Numbers label="Iterations" hint="" value={recipe.iterations} step={1} least={1} onChange={(iterations) => set({ iterations: Math.round(iterations) })} />
            <p className="hint">The slice here is made by the fast method.</p>
          </>
        ) : null}
      </Section>
      <PhaseSection scan={scan} recipe={recipe} onChange={set} />
      <Section title="Before and after">
        <Segmented<ComparedStep>
          label="Compare with"
          value={wish.compare}
          options={[
            { value: "nothing", label: "Off" },
            { value: "rings", label: "Rings", title: "Without ring removal" },
            { value: "phase", label: "Phase", title: "Without phase retrieval" },
            { value: "filter", label: "Filter", title: "With the sharpest filter" },
          ]}
          onChange={(compare) => onChange({ compare })}
        />
      </Section>
    </>
  );
}

interface PartProps {
  scan: ScanDescription;
  recipe: Recipe;
  onChange: (change: Partial<Recipe>) => void;
}

function Center({ scan, recipe, onChange }: PartProps): ReactNode {
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

const USUAL_PHASE = { energy_kev: 20, distance_mm: 100, delta_over_beta: 200 };

function PhaseSection({ scan, recipe, onChange }: PartProps): ReactNode {
  const { phase } = recipe;
  const pixel_size_um = scan.pixel_size_um;
  const set = (change: Partial<Paganin>): void => (phase ? onChange({ phase: { ...phase, ...change } }) : undefined);
  return (
    <Section title="Phase" isOpenAtFirst={false}>
      <Switch
        label="Retrieve it (Paganin)"
        isOn={phase !== null}
        isDisabled={pixel_size_um === null}
        onChange={(isOn) => onChange({ phase: isOn && pixel_size_um !== null ? { ...USUAL_PHASE, pixel_size_um } : null })}
      />
      {pixel_size_um === null ? <p className="hint">It needs the size of a pixel: say it under The scan.</p> : null}
      {phase ? (
        <>
          <Numbers label="Energy" hint="keV" value={phase.energy_kev} step={1} onChange={(energy_kev) => set({ energy_kev })} />
          <Numbers label="Distance" hint="mm" value={phase.distance_mm} step={10} onChange={(distance_mm) => set({ distance_mm })} />
          <Numbers label="δ/β" hint="" value={phase.delta_over_beta} step={10} onChange={(delta_over_beta) => set({ delta_over_beta })} />
        </>
      ) : null}
    </Section>
  );
}

interface NumbersProps {
  label: string;
  hint: string;
  value: number;
  step: number;
  least?: number;
  onChange: (value: number) => void;
}

function Numbers({ label, hint, value, step, least = 0, onChange }: NumbersProps): ReactNode {
  return (
    <div className="row">
      <span className="label">
        {label} <span className="hint">{hint}</span>
      </span>
      <NumberField label={label} value={value} low={least} step={step} onChange={onChange} />
    </div>
  );
}

const SAID: readonly { name: "angles" | "flats" | "darks" | "projections"; label: string; example: string }[] = [
  { name: "angles", label: "Angles", example: "0:180, a dataset or a file" },
  { name: "flats", label: "Flats", example: "none, frames:0:10, a dataset" },
  { name: "darks", label: "Darks", example: "none, frames:0:10, a dataset" },
  { name: "projections", label: "Projections", example: "a dataset" },
];

interface ScanSectionProps {
  options: ScanOptions;
  scan: ScanDescription | null;
  onChange: (options: ScanOptions) => void;
}

/** What the files do not say. */
export function ScanSection({ options: said, scan, onChange }: ScanSectionProps): ReactNode {
  return (
    <Section title="The scan" isOpenAtFirst={scan === null}>
      {SAID.map(({ name, label, example }) => (
        <TextField key={name} label={label} example={example} value={said[name]} onChange={(text) => onChange({ ...said, [name]: text })} />
      ))}
      <TextField
        label="Pixel, µm"
        example={scan?.pixel_size_um ? String(scan.pixel_size_um) : "unknown"}
        value={said.pixel_size_um === null ? "" : String(said.pixel_size_um)}
        onChange={(text) => onChange({ ...said, pixel_size_um: Number(text.replace(",", ".")) > 0 ? Number(text.replace(",", ".")) : null })}
      />
      {scan?.assumptions.map((sentence) => (
        <p key={sentence} className="hint">
          {sentence}
        </p>
      ))}
    </Section>
  );
}

interface TextFieldProps {
  label: string;
  example: string;
  value: string;
  onChange: (text: string) => void;
}

/** What is typed counts on Enter, and on leaving. */
export function TextField({ label, example, value, onChange }: TextFieldProps): ReactNode {
  const [typed, setTyped] = useState<string | null>(null);
  const commit = (): void => {
    if (typed !== null && typed.trim() !== value) onChange(typed.trim());
    setTyped(null);
  };
  return (
    <label className="row bench-text">
      <span className="label">{label}</span>
      <input
        className="field"
        type="text"
        spellCheck={false}
        placeholder={example}
        value={typed ?? value}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => (event.key === "Enter" ? commit() : undefined)}
        onBlur={commit}
      />
    </label>
  );
}
