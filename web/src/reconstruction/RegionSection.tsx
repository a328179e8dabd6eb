// The part of the volume that is made. Here: its rows and its crop as numbers. Not here: dragging them (PreviewImages.tsx, SliceView.tsx).

import type { ReactNode } from "react";
import { Button } from "../components/Button";
import { NumberField } from "../components/NumberField";
import { Section } from "../components/Section";
import { bytes } from "../geometry/measures";
import type { ReconstructionDraft, ScanDescription } from "../protocol";
import type { Change } from "./PreviewImages";
import { cropOf, range, rowsOf, shapeOf, withRange, type Ends } from "./region";
import type { SliceTools } from "./sliceTools";

const BYTES_PER_VOXEL = 4;

interface RegionProps {
  scan: ScanDescription;
  draft: ReconstructionDraft;
  /** Pixels of the detector along x and y of a whole slice. */
  edge: number;
  tools: SliceTools;
  onChange: Change;
}

export function RegionSection({ scan, draft, edge, tools, onChange }: RegionProps): ReactNode {
  const { binning } = draft.recipe;
  const [rows, crop] = [rowsOf(draft, scan), cropOf(draft, edge)];
  const shape = shapeOf(rows, crop, draft.recipe);
  const isPart = Boolean(draft.rows ?? draft.crop);
  return (
    <Section title="Region" aside={isPart ? <Button look="plain" title="Reconstruct all rows, uncropped" onClick={() => onChange({ rows: null, crop: null })}>Whole volume</Button> : undefined}>
      <RangeRow label="Rows" one="row" ends={rows} count={scan.rows} onChange={(first, stop) => onChange({ rows: range(first, stop, scan.rows, binning) })} />
      <RangeRow label="Crop x" one="column of a slice" ends={crop[1]} count={edge} onChange={(first, stop) => onChange({ crop: withRange(crop, 1, first, stop, edge, binning) })} />
      <RangeRow label="Crop y" one="line of a slice" ends={crop[0]} count={edge} onChange={(first, stop) => onChange({ crop: withRange(crop, 0, first, stop, edge, binning) })} />
      <div className="row">
        <span className="label hint number">
          {shape.join(" × ")} voxels (x, y, z), {bytes(shape.reduce((product, length) => product * length, BYTES_PER_VOXEL))}
        </span>
        <Button isOn={tools.drag === "crop"} title="Drag over the slice to draw the crop" onClick={() => tools.set({ drag: tools.drag === "crop" ? "axis" : "crop" })}>
          Draw crop
        </Button>
      </div>
    </Section>
  );
}

interface RangeRowProps {
  label: string;
  /** What is counted. */
  one: string;
  ends: Ends;
  count: number;
  onChange: (first: number, stop: number) => void;
}

/** First and last, both counted. */
function RangeRow({ label, one, ends: [first, stop], count, onChange }: RangeRowProps): ReactNode {
  return (
    <div className="row workbench-range" role="group" aria-label={label}>
      <span className="label">{label}</span>
      <NumberField label={`${label}, first`} title={`The first ${one}, from 0`} value={first} low={0} high={count - 1} text={String} onChange={(value) => onChange(value, Math.max(stop, value + 1))} />
      <span className="hint">to</span>
      <NumberField label={`${label}, last`} title={`The last ${one}, up to ${count - 1}`} value={stop - 1} low={0} high={count - 1} text={String} onChange={(value) => onChange(Math.min(first, value), value + 1)} />
    </div>
  );
}
