// Distances that were measured, and the values along them.

import type { ReactNode } from "react";
import { short, withUnit } from "../geometry/measures";
import { distance } from "../geometry/vector";
import { Button, IconButton } from "../components/Button";
import { Section } from "../components/Section";
import type { ProfileValues } from "../protocol";
import { useSession } from "../session/session";
import { useSelect } from "../state/store";

export function MeasureSection(): ReactNode {
  const session = useSession();
  const measures = useSelect((state) => state.measures);
  const isMeasuring = useSelect((state) => state.interface.tool === "distance");
  const hasStart = useSelect((state) => state.measureStart !== null);
  const unit = useSelect((state) => state.layers?.layers[0]?.unit ?? "");
  if (measures.length === 0 && !isMeasuring) return null;
  return (
    <Section title="Distances">
      {isMeasuring ? <p className="hint">{hasStart ? "Click the second point." : "Click the first point."}</p> : null}
      {measures.map((measure) => (
        <div key={measure.id} className="card">
          <div className="row">
            <b className="label number">{withUnit(distance(measure.start, measure.stop), unit)}</b>
            <IconButton icon="trash" label="Remove this distance" onClick={() => session.store.dispatch({ type: "forget-measure", id: measure.id })} />
          </div>
          {measure.profile ? <Values profile={measure.profile} /> : null}
        </div>
      ))}
      {isMeasuring ? (
        <Button isWide onClick={() => session.page({ tool: "turn" })}>
          Done
        </Button>
      ) : null}
    </Section>
  );
}

function Values({ profile }: { profile: ProfileValues }): ReactNode {
  const known = profile.values.filter((one): one is number => one !== null);
  if (known.length < 2) return null;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const spread = high - low || 1;
  const last = Math.max(profile.values.length - 1, 1);
  const path = profile.values.map((value, index) => {
    if (value === null) return "";
    const isFirst = (profile.values[index - 1] ?? null) === null;
    return `${isFirst ? "M" : "L"}${(index / last).toFixed(4)} ${(1 - (value - low) / spread).toFixed(4)}`;
  });
  return (
    <figure className="profile">
      <svg viewBox="0 -0.04 1 1.08" preserveAspectRatio="none" role="img" aria-label="Values along the line">
        <path d={path.join("")} />
      </svg>
      <figcaption className="hint number">
        {short(low)} to {short(high)}
      </figcaption>
    </figure>
  );
}
