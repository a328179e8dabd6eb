// A small plot with axes: values over equal steps, with the one under the cursor.

import { useState, type PointerEvent, type ReactNode } from "react";
import { Ticks } from "../components/Ticks";
import { short, unitText, withUnit } from "../geometry/measures";

interface PlotProps {
  label: string;
  values: readonly (number | null)[];
  /** What the first and the last value belong to. */
  range: readonly [number, number];
  /** Of the range. */
  unit?: string;
  /** Bars from zero: the range is that of their edges. */
  isFilled?: boolean;
}

const STEPS = { horizontal: 4, vertical: 3 };

export function Plot({ label, values, range, unit = "", isFilled = false }: PlotProps): ReactNode {
  const [under, setUnder] = useState<number | null>(null);
  const known = values.filter((one): one is number => one !== null);
  if (known.length < 2) return null;
  const [low, high] = [isFilled ? 0 : Math.min(...known), Math.max(...known)];
  const vertical = [low, high > low ? high : low + 1] as const;
  const count = isFilled ? values.length : values.length - 1;
  const point = (event: PointerEvent<SVGSVGElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    const place = (event.clientX - box.left) / box.width;
    setUnder(Math.max(0, Math.min(values.length - 1, isFilled ? Math.floor(place * count) : Math.round(place * count))));
  };
  const at = under === null ? 0 : (isFilled ? under + 0.5 : under) / count;
  const value = under === null ? null : (values[under] ?? null);
  const position = withUnit(range[0] + (range[1] - range[0]) * at, unit);
  return (
    <figure className={isFilled ? "plot is-filled" : "plot"}>
      <span className="hint number">{under === null ? `${short(low)} to ${short(high)}` : `${value === null ? "no value" : short(value)} at ${position}`}</span>
      <Ticks range={vertical} most={STEPS.vertical} isVertical />
      <svg viewBox="0 -0.04 1 1.08" preserveAspectRatio="none" role="img" aria-label={label} onPointerMove={point} onPointerLeave={() => setUnder(null)}>
        <path d={isFilled ? bars(values, vertical) : line(values, vertical)} />
        {under === null ? null : <line x1={at} x2={at} y1={0} y2={1} />}
      </svg>
      <Ticks range={range} most={STEPS.horizontal} unit={unitText(unit)} />
    </figure>
  );
}

type Range = readonly [number, number];

const heightOf = (value: number, [low, high]: Range): string => (1 - (value - low) / (high - low)).toFixed(4);

function line(values: readonly (number | null)[], vertical: Range): string {
  const last = Math.max(values.length - 1, 1);
  const parts = values.map((value, index) => {
    if (value === null) return "";
    const isFirst = (values[index - 1] ?? null) === null;
    return `${isFirst ? "M" : "L"}${(index / last).toFixed(4)} ${heightOf(value, vertical)}`;
  });
  return parts.join("");
}

function bars(values: readonly (number | null)[], vertical: Range): string {
  const edge = (index: number): string => (index / values.length).toFixed(4);
  const tops = values.map((value, index) => `L${edge(index)} ${heightOf(value ?? 0, vertical)}L${edge(index + 1)} ${heightOf(value ?? 0, vertical)}`);
  return `M0 1${tops.join("")}L1 1Z`;
}
