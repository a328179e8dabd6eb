// The outline of the histogram, for a part of the values, with plain or logarithmic counts.

import type { HistogramData } from "../../protocol";

export type Domain = readonly [number, number];

/** An SVG path over a square of size 1, the highest bin in sight at 0.04 from the top; empty where there is nothing. */
export function outline(histogram: HistogramData, domain: Domain, isLogarithmic: boolean): string {
  const { low, high, counts } = histogram;
  const width = (high - low) / counts.length;
  const place = (value: number): number => (value - domain[0]) / (domain[1] - domain[0]);
  const heights = counts.map((count) => (isLogarithmic ? Math.log1p(count) : count));
  const inSight = heights.filter((_, bin) => place(low + bin * width) < 1 && place(low + (bin + 1) * width) > 0);
  const most = highest(inSight, isLogarithmic);
  if (!(width > 0) || !(most > 0)) return "";
  const steps = heights.flatMap((height, bin) => {
    const [left, right] = [place(low + bin * width), place(low + (bin + 1) * width)];
    if (right < 0 || left > 1) return [];
    const top = (1 - Math.min(height / most, 1) * 0.96).toFixed(4);
    return [`L${left.toFixed(5)} ${top}`, `L${right.toFixed(5)} ${top}`];
  });
  const first = place(low + heights.findIndex((_, bin) => place(low + (bin + 1) * width) >= 0) * width).toFixed(5);
  const last = Math.min(place(high), 1 + width / (domain[1] - domain[0])).toFixed(5);
  return `M${first} 1${steps.join("")}L${last} 1Z`;
}

/** Air is most of many scans: with plain counts its one bin would flatten all others, so the second highest decides. */
function highest(heights: readonly number[], isLogarithmic: boolean): number {
  const sorted = heights.toSorted((a, b) => b - a);
  const [first = 0, second = 0] = sorted;
  return isLogarithmic || second === 0 ? first : Math.min(first, second * 1.25);
}

/** Voxels in the bin of a value; null outside. */
export function countAt({ low, high, counts }: HistogramData, value: number): number | null {
  if (!(high > low) || value < low || value > high) return null;
  return counts[Math.min(counts.length - 1, Math.floor(((value - low) / (high - low)) * counts.length))] ?? null;
}

/** All values, and the value range of the transfer function if it is wider. */
export function wholeDomain(histogram: HistogramData | null, range: Domain): Domain {
  if (!histogram) return range;
  return [Math.min(histogram.low, range[0]), Math.max(histogram.high, range[1])];
}

/** The value range, with a margin on both sides. */
export function nearDomain(range: Domain): Domain {
  const margin = (range[1] - range[0]) * 0.08;
  return [range[0] - margin, range[1] + margin];
}
