// Before and after. Here: which step of the slice is left out beside it. Not here: the two images (PreviewImages.tsx).

import type { ReactNode } from "react";
import { Segmented } from "../components/Choice";
import type { ComparedStep, ReconstructionDraft } from "../protocol";
import type { Change } from "./PreviewImages";
import { before } from "./draft";
import type { DragMode } from "./sliceTools";

const HELP: Record<DragMode, string> = {
  axis: "Drag across the slice to move the axis (Shift: finely), or drag its line on the left.",
  pan: "Drag the slice to move it; the wheel zooms.",
  crop: "Drag over the part of the slice to keep.",
};
const NOTHING_TO_COMPARE: Record<Exclude<ComparedStep, "nothing">, string> = {
  rings: "Ring removal is off. Choose a method to compare.",
  phase: "Phase retrieval is off. Switch it on to compare.",
  filter: "No filter to compare with: the sharpest one is used, or none.",
};

interface BeforeAfterProps {
  draft: ReconstructionDraft;
  /** What dragging on the slice does. */
  drag: DragMode;
  onChange: Change;
}

export function BeforeAfter({ draft, drag, onChange }: BeforeAfterProps): ReactNode {
  const { compare, recipe } = draft;
  const isMissed = compare !== "nothing" && before(recipe, compare) === null;
  return (
    <div className="workbench-under">
      <p className="hint">{isMissed ? NOTHING_TO_COMPARE[compare] : HELP[drag]}</p>
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
