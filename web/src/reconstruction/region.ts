// The part of a volume that is made. Here: rows and crop as numbers, and what follows from them. Not here: their controls (RegionSection.tsx).

import { clamp } from "../geometry/vector";
import type { Recipe, ReconstructionDraft, ScanDescription } from "../protocol";

export type Ends = readonly [number, number];
/** First and stop along y, then along x, in pixels of the detector. */
export type Crop = readonly [Ends, Ends];

/** A range within all of them; null if it is all. At least `least` long. */
export function range(first: number, stop: number, count: number, least = 1): Ends | null {
  const low = clamp(Math.round(Math.min(first, stop - least)), 0, count - least);
  const high = clamp(Math.round(stop), low + least, count);
  return low === 0 && high === count ? null : [low, high];
}

export const rowsOf = ({ rows }: ReconstructionDraft, scan: ScanDescription): Ends => rows ?? [0, scan.rows];

export const cropOf = ({ crop }: ReconstructionDraft, edge: number): Crop => crop ?? [[0, edge], [0, edge]];

/** One axis of a crop changed; null if it is the whole slice. */
export function withRange(crop: Crop, axis: 0 | 1, first: number, stop: number, edge: number, least = 1): Crop | null {
  const changed: Ends = range(first, stop, edge, least) ?? [0, edge];
  const next: Crop = axis === 0 ? [changed, crop[1]] : [crop[0], changed];
  return next.every(([low, high]) => low === 0 && high === edge) ? null : next;
}

/** From shares of the slice. */
export const cropFrom = (edge: number, least: number, left: number, top: number, right: number, bottom: number): Crop | null => {
  const along = (one: number, other: number): Ends => range(Math.min(one, other) * edge, Math.max(one, other) * edge, edge, least) ?? [0, edge];
  const crop: Crop = [along(top, bottom), along(left, right)];
  return crop.every(([low, high]) => low === 0 && high === edge) ? null : crop;
};

/** Voxels along x, y, z of the volume. */
export function shapeOf(rows: Ends, crop: Crop, { binning }: Recipe): [number, number, number] {
  const along = ([first, stop]: Ends): number => Math.floor(stop / binning) - Math.floor(first / binning);
  return [along(crop[1]), along(crop[0]), along(rows)];
}
