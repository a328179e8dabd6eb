// Before and after. Here: which step of the slice is left out beside it. Not here: the two pictures (Pictures.tsx).

import type { ReactNode } from "react";
import { Segmented } from "../parts/Choice";
import type { ComparedStep, Wish } from "../protocol";
import type { Change } from "./Pictures";
import { before } from "./wish";

const HELP = "Drag across the slice to move the axis, with shift finely; or its line at the left.";
const NOTHING_TO_COMPARE: Record<Exclude<ComparedStep, "nothing">, string> = {
  rings: "Rings are left as they are: choose a way to remove them.",
  phase: "Phase is not retrieved: switch that on.",
  filter: "No filter is used, or the sharpest one.",
};

export function Comparing({ wish, onChange }: { wish: Wish; onChange: Change }): ReactNode {
  const { compare, recipe } = wish;
  const isMissed = compare !== "nothing" && before(recipe, compare) === null;
  return (
    <div className="bench-under">
      <p className="hint">{isMissed ? NOTHING_TO_COMPARE[compare] : HELP}</p>
      <span className="label">Before and after</span>
      <Segmented<ComparedStep>
        label="Compare with"
        value={compare}
        options={[
          { value: "nothing", label: "Off" },
          { value: "rings", label: "Rings", title: "Without ring removal" },
          { value: "phase", label: "Phase", title: "Without phase retrieval" },
          { value: "filter", label: "Filter", title: "With the sharpest filter" },
        ]}
        onChange={(next) => onChange({ compare: next })}
      />
    </div>
  );
}
