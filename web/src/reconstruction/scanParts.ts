// What a scan does not state, as its options spell it. Here: angles and frames read from their text and written to it. Not here: their controls (ScanFields.tsx).

import type { Dataset, Suggestion } from "../protocol";

const INCLUSIVE = ":inclusive";
const FRAMES = "frames:";
const BETWEEN = ";";
export const NONE = "none";

/** isInclusive: the last projection is at the last angle. */
interface AngleRange {
  readonly first: number;
  readonly last: number;
  readonly isInclusive: boolean;
}

/** null: not a range, but the name of a list, or nothing. */
export function angleRange(text: string): AngleRange | null {
  const isInclusive = text.endsWith(INCLUSIVE);
  const ends = (isInclusive ? text.slice(0, -INCLUSIVE.length) : text).split(":").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  const [first, last] = ends;
  return ends.length === 2 && first !== undefined && last !== undefined && ends.every(Number.isFinite) ? { first, last, isInclusive } : null;
}

export const angleText = ({ first, last, isInclusive }: AngleRange): string => `${first}:${last}${isInclusive ? INCLUSIVE : ""}`;

/** Frames by their number, the last one counted; null: not such. */
export function numbered(text: string): [number, number] | null {
  const [first, stop] = text.startsWith(FRAMES) ? text.slice(FRAMES.length).split(":").map(Number) : [];
  return first !== undefined && stop !== undefined && Number.isInteger(first) && Number.isInteger(stop) ? [first, stop - 1] : null;
}

export const numberedText = (first: number, last: number): string => `${FRAMES}${Math.min(first, last)}:${Math.max(first, last) + 1}`;

/** Flats, or darks, before and after the scan. */
export function beforeAndAfter(text: string): [string, string] {
  const [before = "", ...after] = text.split(BETWEEN);
  return [before, after.join(BETWEEN)];
}

export const joined = (before: string, after: string): string => (after === "" ? before : `${before}${BETWEEN}${after}`);

/** "raw_*.tif  (91 × 135 × 160)"; files beside the scan without their folders. */
export function labelOf({ name, shape }: Dataset, isFile: boolean): string {
  const short = isFile ? name.slice(name.lastIndexOf("/") + 1) : name.replaceAll("[0-9]*", "*");
  return `${short}  (${shape.join(" × ")})`;
}

/** A list beside the scan, not a dataset inside it: where nothing was chosen, folders have no such names. */
export const isLogFile = ({ name }: Dataset): boolean => /\.[a-z]+$/i.test(name);

export const NOTHING_FOUND: Suggestion = { is_recognised: true, frames: [], lists: [], options: { projections: "", flats: "", darks: "", angles: "", pixel_size_um: null, is_repaired: true } };
