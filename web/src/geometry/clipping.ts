// The clipping box of a volume, as it is shown and dragged.
// Here: corners, edges and faces in the world, a face moved along its axis. Not here: the handles (view/ClipHandles).

import type { Box, LayerDescription, Transform } from "../protocol";
import { extentOf } from "./extent";
import { alongLine, type Ray } from "./camera";
import { directed, placed } from "./transform";
import { add, clamp, length, scale, unit, withAxis, type Vector } from "./vector";

/** axis: 0, 1, 2 for x, y, z. */
export interface Face {
  axis: number;
  isHigh: boolean;
  centre: Vector;
  /** World direction of the axis, of unit length. */
  direction: Vector;
}

export const EDGES: readonly (readonly [number, number])[] = [
  [0, 1], [2, 3], [4, 5], [6, 7],
  [0, 2], [1, 3], [4, 6], [5, 7],
  [0, 4], [1, 5], [2, 6], [3, 7],
];

/** Eight corners; bit 0 of the index is x, bit 1 is y, bit 2 is z. */
export function corners(layer: LayerDescription, transform: Transform, box: Box | null): Vector[] {
  const { low, high } = extentOf(layer, box);
  return Array.from({ length: 8 }, (_, bits) =>
    placed(transform, [bits & 1 ? high[0] : low[0], bits & 2 ? high[1] : low[1], bits & 4 ? high[2] : low[2]]),
  );
}

export function faces(layer: LayerDescription, transform: Transform, box: Box | null): Face[] {
  const { low, high } = extentOf(layer, box);
  const middle = scale(add(low, high), 0.5);
  return [0, 1, 2].flatMap((axis) =>
    [false, true].map((isHigh) => ({
      axis,
      isHigh,
      centre: placed(transform, withAxis(middle, axis, (isHigh ? high : low)[axis] ?? 0)),
      direction: unit(directed(transform, withAxis([0, 0, 0], axis, 1))),
    })),
  );
}

/** The box with one face where the ray points; at least one voxel stays. */
export function dragged(layer: LayerDescription, transform: Transform, box: Box, face: Face, ray: Ray): Box {
  const way = alongLine(ray, face.centre, face.direction);
  if (way === null) return box;
  const order = 2 - face.axis;
  const step = (layer.spacing[order] ?? 1) * length(directed(transform, withAxis([0, 0, 0], face.axis, 1)));
  const voxels = Math.round(way / step);
  return withFace(layer, box, order, face.isHigh, ((face.isHigh ? box.stop : box.start)[order] ?? 0) + voxels);
}

/** The box with one end of one axis elsewhere. order: 0, 1, 2 for z, y, x. */
export function withFace(layer: LayerDescription, box: Box, order: number, isHigh: boolean, place: number): Box {
  const start: [number, number, number] = [...box.start];
  const stop: [number, number, number] = [...box.stop];
  if (isHigh) stop[order] = clamp(Math.round(place), (start[order] ?? 0) + 1, layer.shape[order] ?? 1);
  else start[order] = clamp(Math.round(place), 0, (stop[order] ?? 1) - 1);
  return { start, stop };
}
