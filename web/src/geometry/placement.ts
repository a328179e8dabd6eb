// Where a volume stands. Here: its spacing and the directions of its axes, corrected by its transform.

import type { LayerDescription, Transform } from "../protocol";
import { directed } from "./transform";
import { add, scale, subtract, withAxis, type Vector } from "./vector";

/** Along (x, y, z), as it is shown. */
export const shownSpacing = ({ spacing }: LayerDescription, { scale: factors }: Transform): Vector => [
  spacing[2] * Math.abs(factors[0]),
  spacing[1] * Math.abs(factors[1]),
  spacing[0] * Math.abs(factors[2]),
];

/** With another spacing along an axis (0, 1, 2 for x, y, z); the middle of the volume stays where it is. */
export function withSpacing(layer: LayerDescription, transform: Transform, axis: number, spacing: number): Transform {
  const factor = (spacing / (layer.spacing[2 - axis] ?? 1)) * Math.sign(transform.scale[axis] ?? 1);
  return aroundMiddle(layer, transform, { ...transform, scale: withAxis(transform.scale, axis, factor) });
}

/** With an axis reversed. */
export const flipped = (layer: LayerDescription, transform: Transform, axis: number): Transform =>
  aroundMiddle(layer, transform, { ...transform, scale: withAxis(transform.scale, axis, -(transform.scale[axis] ?? 1)) });

function aroundMiddle({ shape, spacing }: LayerDescription, before: Transform, after: Transform): Transform {
  const middle: Vector = [((shape[2] - 1) / 2) * spacing[2], ((shape[1] - 1) / 2) * spacing[1], ((shape[0] - 1) / 2) * spacing[0]];
  const stands = add(directed(before, middle), before.translation);
  return { ...after, translation: add(scale(directed(after, middle), -1), subtract(stands, [0, 0, 0])) };
}
