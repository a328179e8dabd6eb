// Control points: (position, level) pairs with ascending positions from 0 to 1. A level is an opacity or a colour.
// Here: add, move, remove, read in between. Not here: drawing and dragging them (panels/transfer).

import { clamp } from "../geometry/vector";
import type { TransferFunction } from "../protocol";

export type Color = [number, number, number];
export type ColorPoint = [number, Color];
export type OpacityPoint = [number, number];
type Mix<Level> = (a: Level, b: Level, share: number) => Level;

export const mixNumbers: Mix<number> = (a, b, share) => a + (b - a) * share;
export const mixColors: Mix<Color> = (a, b, share) => [
  mixNumbers(a[0], b[0], share),
  mixNumbers(a[1], b[1], share),
  mixNumbers(a[2], b[2], share),
];

/** The level at a position: linear between points, constant outside. */
export function levelAt<Level>(points: readonly [number, Level][], position: number, mix: Mix<Level>): Level {
  const after = points.findIndex(([at]) => at > position);
  const last = points.at(-1);
  const first = points[0];
  if (!first || !last) throw new Error("A transfer function has at least one point.");
  if (after === -1) return last[1];
  const right = points[after] ?? last;
  const left = points[after - 1] ?? first;
  if (after === 0 || right[0] === left[0]) return right[1];
  return mix(left[1], right[1], (position - left[0]) / (right[0] - left[0]));
}

/** The points with one added, and its index. */
export function withPoint<Level>(points: readonly [number, Level][], position: number, level: Level): [[number, Level][], number] {
  const at = clamp(position, 0, 1);
  const after = points.findIndex(([other]) => other > at);
  const index = after === -1 ? points.length : after;
  return [points.toSpliced(index, 0, [at, level]), index];
}

/** One point moved: it stops at its neighbours, so that the order never changes. */
export function withMoved<Level>(points: readonly [number, Level][], index: number, position: number, level: Level): [number, Level][] {
  const low = points[index - 1]?.[0] ?? 0;
  const high = points[index + 1]?.[0] ?? 1;
  return points.with(index, [clamp(position, low, high), level]);
}

/** The points without one; the last two stay, because a function needs ends. */
export function withoutPoint<Level>(points: readonly [number, Level][], index: number): [number, Level][] {
  return points.length <= 2 ? [...points] : points.toSpliced(index, 1);
}

export const css = (color: readonly number[]): string =>
  `rgb(${color.map((one) => Math.round(clamp(one, 0, 1) * 255)).join(" ")})`;

export function hex(color: Color): string {
  return `#${color.map((one) => Math.round(clamp(one, 0, 1) * 255).toString(16).padStart(2, "0")).join("")}`;
}

export function fromHex(text: string): Color {
  const number = Number.parseInt(text.slice(1), 16);
  return [(number >> 16) / 255, ((number >> 8) & 255) / 255, (number & 255) / 255];
}

const flat = (points: TransferFunction["colors"]): number[] => points.flatMap(([at, color]) => [at, ...color]);

/** Whether two lists of colours look the same: numbers that went through a file differ in their last digits. */
export function areAlike(left: readonly ColorPoint[], right: TransferFunction["colors"]): boolean {
  const [a, b] = [flat(left), flat(right)];
  return a.length === b.length && a.every((one, index) => Math.abs(one - (b[index] ?? 0)) < 1e-4);
}

/** A CSS gradient of colours at their positions. */
export function gradient(points: readonly ColorPoint[]): string {
  const stops = points.map(([at, color]) => `${css(color)} ${(at * 100).toFixed(2)}%`);
  return `linear-gradient(to right, ${stops.length === 1 ? `${stops[0]}, ${stops[0]}` : stops.join(", ")})`;
}

/** A named map's colours as points at equal distances, from a first position on. */
export function evenly(colors: readonly Color[], from = 0): ColorPoint[] {
  const last = Math.max(colors.length - 1, 1);
  return colors.map((color, index) => [from + ((1 - from) * index) / last, color]);
}
