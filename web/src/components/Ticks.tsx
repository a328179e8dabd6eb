// Numbers along an axis, each at its place. Not here: which numbers are round (geometry/ticks.ts).

import type { CSSProperties, ReactNode } from "react";
import { within } from "../geometry/measures";
import { ticks } from "../geometry/ticks";

interface TicksProps {
  range: readonly [number, number];
  most: number;
  /** After the last number. */
  unit?: string;
  isVertical?: boolean;
}

/** From left to right, or from the bottom to the top. */
export function Ticks({ range, most, unit = "", isVertical = false }: TicksProps): ReactNode {
  const [low, high] = range;
  const found = ticks(low, high, most);
  return (
    <div className={isVertical ? "ticks is-vertical number" : "ticks number"} aria-hidden="true">
      {found.map((value, index) => (
        <span key={value} style={{ "--at": (value - low) / (high - low) } as CSSProperties}>
          {within(value, range)}
          {unit && index === found.length - 1 ? ` ${unit}` : ""}
        </span>
      ))}
    </div>
  );
}
