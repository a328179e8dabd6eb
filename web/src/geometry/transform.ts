// The transform of a layer: scaled, then rotated about the world's x, y and z axes, then moved.

import type { Transform } from "../protocol";
import { add, rotate, type Vector } from "./vector";

const AXES: readonly Vector[] = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];

/** A direction of the layer in the world; not of unit length where the layer is scaled. */
export function directed({ scale, rotation_deg }: Transform, vector: Vector): Vector {
  const scaled: Vector = [vector[0] * scale[0], vector[1] * scale[1], vector[2] * scale[2]];
  return AXES.reduce((turned, axis, index) => rotate(turned, axis, ((rotation_deg[index] ?? 0) * Math.PI) / 180), scaled);
}

/** A direction along an axis of the world, reversed where a volume with these scales is mirrored: towards its higher indices. */
export const towardsHigher = (direction: Vector, scales: Vector): Vector => [
  direction[0] * Math.sign(scales[0]),
  direction[1] * Math.sign(scales[1]),
  direction[2] * Math.sign(scales[2]),
];

export const placed = (transform: Transform, point: Vector): Vector => add(directed(transform, point), transform.translation);
