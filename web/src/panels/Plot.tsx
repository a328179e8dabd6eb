// A small plot with axes: values over equal steps.

import type { ReactNode } from "react";
import { short } from "../geometry/measures";

interface PlotProps {
  label: string;
  values: readonly (number | null)[];
  /** What stands at the two ends of the horizontal axis. */
  ends: readonly [string, string];
  isFilled?: boolean;
}

export function Plot({ label, values, ends, isFilled = false }: PlotProps): ReactNode {
  const known = values.filter((one): one is number => one !== null);
  if (known.length < 2) return null;
  const [low, high] = [isFilled ? 0 : Math.min(...known), Math.max(...known)];
  const spread = high - low || 1;
  const last = Math.max(values.length - 1, 1);
  const path = values.map((value, index) => {
    if (value === null) return "";
    const isFirst = (values[index - 1] ?? null) === null;
    return `${isFirst ? "M" : "L"}${(index / last).toFixed(4)} ${(1 - (value - low) / spread).toFixed(4)}`;
  });
  return (
    <figure className={isFilled ? "profile plot is-filled" : "profile plot"}>
      <span className="hint number">{isFilled ? short(high) : `${short(low)} to ${short(high)}`}</span>
      <svg viewBox="0 -0.04 1 1.08" preserveAspectRatio="none" role="img" aria-label={label}>
        <path d={path.join("") + (isFilled ? "L1 1L0 1Z" : "")} />
      </svg>
      <figcaption className="hint number">
        <span>{ends[0]}</span>
        <span>{ends[1]}</span>
      </figcaption>
    </figure>
  );
}
