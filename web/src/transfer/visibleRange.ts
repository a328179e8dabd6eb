// The values of points that are drawn: those whose opacity is above 0.
// Here: the range that is shown, read from a transfer function and put into one. Not here: curves of any shape (points.ts).

import { clamp } from "../geometry/vector";
import type { TransferFunction } from "../protocol";

type Opacities = TransferFunction["opacities"];

/** The lowest and the highest value that are shown, within the window of the transfer function. */
export function visibleRange({ opacities, value_range: [low, high], gamma }: TransferFunction): [number, number] {
  const first = opacities.findIndex(([, opacity]) => opacity > 0);
  const last = opacities.findLastIndex(([, opacity]) => opacity > 0);
  const value = (position: number): number => low + (high - low) * position ** (1 / gamma);
  if (first === -1) return [low, low];
  return [first === 0 ? low : value(opacities[first - 1]?.[0] ?? 0), last === opacities.length - 1 ? high : value(opacities[last + 1]?.[0] ?? 1)];
}

/** Opacities that show values from one to another, and no others; at an end of the window, also all beyond it. */
export function visibleOpacities({ value_range: [low, high], gamma }: TransferFunction, from: number, to: number): Opacities {
  const position = (value: number): number => clamp((value - low) / (high - low), 0, 1) ** gamma;
  const [start, stop] = [position(from), position(to)];
  const before: Opacities = start > 0 ? [[0, 0], [start, 0]] : [];
  const after: Opacities = stop < 1 ? [[stop, 0], [1, 0]] : [];
  return [...before, [start, 1], [stop, 1], ...after];
}
