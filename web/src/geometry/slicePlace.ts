// Where slices lie in the world. Here: between places of a slice, the world, and voxels; pure functions.
// Not here: which part of a slice is in sight (sliceView.ts).

import type { LayerDescription, SliceAxis, SliceRectangle, Transform } from "../protocol";
import { directed } from "./transform";
import { add, cross, dot, length, rotate, scale, subtract, unit, type Vector } from "./vector";
import type { Size } from "./sliceView";

export type Voxel = readonly [number, number, number];

export const NAMES = ["z", "y", "x"] as const;
const ORDERS: Record<string, number> = { z: 0, y: 1, x: 2 };

/** The world position at a place of a slice, given as fractions. */
export const inWorld = (place: SliceRectangle, u: number, v: number): Vector => add(place.origin, add(scale(place.right, u), scale(place.down, v)));

/** Where a world position is on a slice, as fractions, and how many slices it is in front of it or behind. */
export function onSlice(place: SliceRectangle, position: Vector): { u: number; v: number; away: number } {
  const from = subtract(position, place.origin);
  const normal = unit(cross(place.right, place.down));
  const along = (direction: Vector): number => dot(from, direction) / dot(direction, direction);
  const step = Math.abs(dot(place.step, normal)) || 1;
  return { u: along(place.right), v: along(place.down), away: dot(from, normal) / step };
}

/** The voxel (z, y, x) of a layer that a world position lies in; inside the layer. */
export function voxelAt(layer: LayerDescription, transform: Transform, position: Vector): Voxel {
  const [x, y, z] = fromWorld(transform, position);
  return [index(z, layer, 0), index(y, layer, 1), index(x, layer, 2)];
}

const index = (place: number, { spacing, shape }: LayerDescription, axis: number): number => {
  const last = (shape[axis] ?? 1) - 1;
  return Math.max(0, Math.min(last, Math.round(place / (spacing[axis] ?? 1))));
};

/** A world position in the layer's own units: moved back, turned back, unscaled. */
export function fromWorld(transform: Transform, position: Vector): Vector {
  const [a = 0, b = 0, c = 0] = transform.rotation_deg;
  let moved = subtract(position, transform.translation);
  moved = rotate(moved, [0, 0, 1], back(c));
  moved = rotate(moved, [0, 1, 0], back(b));
  moved = rotate(moved, [1, 0, 0], back(a));
  return [moved[0] / transform.scale[0], moved[1] / transform.scale[1], moved[2] / transform.scale[2]];
}

const back = (degrees: number): number => (-degrees * Math.PI) / 180;

/** The centre of a voxel in the world. */
export function voxelInWorld(layer: LayerDescription, transform: Transform, voxel: Voxel): Vector {
  const [dz, dy, dx] = layer.spacing;
  return add(directed(transform, [voxel[2] * dx, voxel[1] * dy, voxel[0] * dz]), transform.translation);
}

/** Width and height of a slice in the world. */
export function extentOfSlice(axis: SliceAxis, layer: LayerDescription, transform: Transform): Size {
  if (axis === "oblique") return { width: 1, height: 1 };
  const plane = layer.planes[ORDERS[axis] ?? 0];
  const along = (name: string): number => {
    const order = ORDERS[name.slice(-1)] ?? 0;
    return (layer.shape[order] ?? 1) * (layer.spacing[order] ?? 1) * Math.abs(transform.scale[2 - order] ?? 1);
  };
  return { width: along(plane?.right ?? "x"), height: along(plane?.down ?? "y") };
}

/** The middle voxel. */
export const middle = (shape: Voxel): Voxel => [shape[0] >> 1, shape[1] >> 1, shape[2] >> 1];

/** Some slices further across an axis. */
export function stepped(axis: "z" | "y" | "x", voxel: Voxel, steps: number, shape: Voxel): Voxel {
  const order = ORDERS[axis] ?? 0;
  const next: [number, number, number] = [voxel[0], voxel[1], voxel[2]];
  next[order] = Math.max(0, Math.min((shape[order] ?? 1) - 1, (voxel[order] ?? 0) + steps));
  return next;
}

/** The corners of a slice, and its middle. */
export function cornersOf(place: SliceRectangle): { corners: Vector[]; centre: Vector; normal: Vector; edge: number } {
  const corners = ([[0, 0], [1, 0], [1, 1], [0, 1]] as const).map(([u, v]) => inWorld(place, u, v));
  return { corners, centre: inWorld(place, 0.5, 0.5), normal: unit(cross(place.right, place.down)), edge: Math.max(length(place.right), length(place.down)) };
}
