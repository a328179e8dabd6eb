// The draft of a denoising. Here: the draft as one value, regions of a slice in voxels, what a run does now. Not here: asking for it (requests.ts).

import { short } from "../geometry/measures";
import { clamp } from "../geometry/vector";
import type { DenoisingPreset, DenoisingRegion, DenoisingRequest, DenoisingStatus, ReconstructionDraft, RegionName, ScanDescription } from "../protocol";

export interface DenoisingDraft {
  output: string;
  preset: DenoisingPreset;
  /** 0: those of the preset. */
  steps: number;
  regions: readonly DenoisingRegion[];
  isReplaced: boolean;
}

/** Slices of a region, above and below the slice that it was drawn on. */
const REACH = 4;
const MIN_EDGE = 2;

/** Parts of a slice, from 0 to 1. */
export interface Rectangle {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** `/data/scan.zarr` has `/data/scan-clean.zarr` beside it. */
export const firstDenoising = (scan: ScanDescription): DenoisingDraft => ({ output: scan.output.replace(/(\.[^./]*)?$/, "-clean.zarr"), preset: "fast", steps: 0, regions: [], isReplaced: false });

export const requestOf = (path: string, { options, recipe }: ReconstructionDraft, { output, preset, steps, regions, isReplaced }: DenoisingDraft): DenoisingRequest => ({
  path,
  options,
  recipe,
  output,
  preset,
  steps: steps > 0 ? steps : null,
  regions,
  is_replaced: isReplaced,
});

/** Voxels along an edge of the slice; null where they are not known before it is reconstructed. */
export const edgeOf = (scan: ScanDescription, { recipe }: ReconstructionDraft): number | null => (recipe.is_offset || recipe.roll_deg !== 0 ? null : Math.floor(scan.columns / recipe.binning));

/** Some slices of what was drawn on one; null where it is too small. */
export function regionOf(name: RegionName, drawn: Rectangle, edge: number, slice: number, slices: number): DenoisingRegion | null {
  const voxel = (share: number): number => Math.round(clamp(share, 0, 1) * edge);
  const [top, bottom] = [voxel(Math.min(drawn.top, drawn.bottom)), voxel(Math.max(drawn.top, drawn.bottom))];
  const [left, right] = [voxel(Math.min(drawn.left, drawn.right)), voxel(Math.max(drawn.left, drawn.right))];
  if (bottom - top < MIN_EDGE || right - left < MIN_EDGE) return null;
  return { name, start: [Math.max(0, slice - REACH), top, left], stop: [Math.min(slices, slice + REACH + 1), bottom, right] };
}

export const rectangleOf = ({ start, stop }: DenoisingRegion, edge: number): Rectangle => ({ top: start[1] / edge, left: start[2] / edge, bottom: stop[1] / edge, right: stop[2] / edge });

/** One region of each name. */
export const withRegion = (regions: readonly DenoisingRegion[], region: DenoisingRegion): DenoisingRegion[] => [...regions.filter((one) => one.name !== region.name), region];

/** What a run does now. */
export function stageOf({ stage, status, step, steps, is_training: isTraining }: DenoisingStatus): string {
  if (status.note) return status.note;
  if (isTraining && steps > 0) return `Training: step ${step} of ${steps}`;
  return stage ? `${stage}…` : "Starting…";
}

/** What the network makes of slices that it has not learnt from. */
export function errorText({ validations }: DenoisingStatus): string {
  const last = validations.at(-1);
  return last ? `Error on held-out slices: ${short(last.error_before)} before, ${short(last.error)} after (mean squared, with the noise of what it is compared with).` : "";
}
