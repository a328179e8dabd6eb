// What the workbench shows of denoising. Here: whether it is shown, its draft, the middle of the workbench. Not here: its panel (DenoisePanel.tsx).

import { useState, type ReactNode } from "react";
import { Segmented } from "../components/Choice";
import type { ReconstructionDraft, RegionName, ScanDescription } from "../protocol";
import type { Change } from "../reconstruction/PreviewImages";
import type { Previews } from "../reconstruction/previewStore";
import type { SliceTools } from "../reconstruction/sliceTools";
import { Slice } from "../reconstruction/SliceView";
import { edgeOf, firstDenoising, regionOf, withRegion, type DenoisingDraft, type Rectangle } from "./draft";
import { RegionDrawing } from "./RegionDrawing";
import { TrainingView } from "./TrainingView";
import { useDenoising, type WatchedDenoising } from "./useDenoising";

type Result = "volume" | "clean";
type Shown = "slice" | "training";

export interface DenoisingWork {
  isShown: boolean;
  show: (isShown: boolean) => void;
  draft: DenoisingDraft;
  change: (change: Partial<DenoisingDraft>) => void;
  /** The region that is drawn now. */
  drawing: RegionName | null;
  draw: (name: RegionName | null) => void;
  onDrawn: (name: RegionName, drawn: Rectangle) => void;
  watched: WatchedDenoising;
}

export function useDenoisingWork(path: string, scan: ScanDescription, slices: ReconstructionDraft): DenoisingWork {
  const watched = useDenoising(path);
  const [isShown, show] = useState<boolean | null>(null);
  const [draft, setDraft] = useState<DenoisingDraft>(() => firstDenoising(scan));
  const [drawing, draw] = useState<RegionName | null>(null);
  const change = (part: Partial<DenoisingDraft>): void => setDraft((before) => ({ ...before, ...part }));
  const onDrawn = (name: RegionName, drawn: Rectangle): void => {
    const { binning } = slices.recipe;
    const region = regionOf(name, drawn, edgeOf(scan, slices) ?? 0, Math.floor(slices.row / binning), Math.floor(scan.rows / binning));
    if (!region) return;
    change({ regions: withRegion(draft.regions, region) });
    draw(null);
  };
  // A page that is opened while it runs shows it, and goes on with that at its end.
  if (isShown === null && watched.run) show(watched.run.status.state === "running");
  return { isShown: isShown ?? false, show, draft, change, drawing, draw, onDrawn, watched };
}

export function ResultChoice({ work }: { work: DenoisingWork }): ReactNode {
  return (
    <div className="workbench-choice">
      <Segmented<Result>
        label="Result"
        value={work.isShown ? "clean" : "volume"}
        options={[
          { value: "volume", label: "Reconstruct" },
          { value: "clean", label: "Denoise", title: "Reconstruct with less noise, by a network that learns from this scan" },
        ]}
        onChange={(result) => work.show(result === "clean")}
      />
    </div>
  );
}

interface DenoisedSliceProps {
  scan: ScanDescription;
  draft: ReconstructionDraft;
  previews: Previews;
  work: DenoisingWork;
  tools: SliceTools;
  onChange: Change;
}

/** The slice, to draw regions on; once there are images of the training, those. */
export function DenoisedSlice({ scan, draft, previews, work, tools, onChange }: DenoisedSliceProps): ReactNode {
  const [chosen, choose] = useState<Shown | null>(null);
  const { run } = work.watched;
  const hasImages = run !== null && run.images > 0;
  const shown: Shown = work.drawing || !hasImages ? "slice" : (chosen ?? "training");
  const edge = edgeOf(scan, draft);
  return (
    <>
      {shown === "training" && run ? (
        <TrainingView run={run} />
      ) : (
        <Slice scan={scan} draft={{ ...draft, compare: "nothing" }} previews={previews} tools={tools} onChange={onChange}>
          {edge === null ? null : <RegionDrawing regions={work.draft.regions} edge={edge} drawing={work.drawing} onDrawn={work.onDrawn} />}
        </Slice>
      )}
      <div className="workbench-under">
        <p className="hint">{helpOf(work, shown, hasImages)}</p>
        {hasImages ? (
          <Segmented<Shown>
            label="Show"
            value={shown}
            options={[
              { value: "slice", label: "Slice" },
              { value: "training", label: "Before and after" },
            ]}
            onChange={choose}
          />
        ) : null}
      </div>
    </>
  );
}

function helpOf({ drawing, watched }: DenoisingWork, shown: Shown, hasImages: boolean): string {
  if (drawing) return `Drag over the slice to draw a region of ${drawing}.`;
  if (shown === "training") return "Drag the line to compare. The images change while the network learns.";
  return watched.run?.status.state === "running" && !hasImages ? "Images before and after appear when the training has begun." : "Settings of the slices are under Reconstruct.";
}
