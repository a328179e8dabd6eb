// Voxels (z, y, x) and places in the images of slices, as fractions from the top left.
// The instance states for each layer which axis runs down and which to the right (planes).

import type { Axis, SlicePlane } from "../protocol";
import { clamp } from "./vector";

export type Voxel = readonly [number, number, number];

export interface Directions {
  /** Index into (z, y, x) of the axis cut across, of the one to the right, of the one along the image's height. */
  across: number;
  right: number;
  upright: number;
  isUpwards: boolean;
}

export function directionsOf({ across, down, right }: SlicePlane): Directions {
  return { across: order(across), right: order(right), upright: order(down), isUpwards: down.startsWith("-") };
}

const order = (axis: string): number => "zyx".indexOf(axis.slice(-1));

export const NAMES: readonly Axis[] = ["z", "y", "x"];

/** The voxel under a place of a slice's image. */
export function voxelAt({ right, upright, isUpwards }: Directions, u: number, v: number, voxel: Voxel, shape: Voxel): Voxel {
  const next: [number, number, number] = [voxel[0], voxel[1], voxel[2]];
  next[right] = index(u, shape[right] ?? 1);
  next[upright] = index(isUpwards ? 1 - v : v, shape[upright] ?? 1);
  return next;
}

/** The middle of a voxel in a slice's image. */
export function placeOf({ right, upright, isUpwards }: Directions, voxel: Voxel, shape: Voxel): { u: number; v: number } {
  const v = ((voxel[upright] ?? 0) + 0.5) / (shape[upright] ?? 1);
  return { u: ((voxel[right] ?? 0) + 0.5) / (shape[right] ?? 1), v: isUpwards ? 1 - v : v };
}

/** Some slices further. */
export function stepped({ across }: Directions, voxel: Voxel, steps: number, shape: Voxel): Voxel {
  const next: [number, number, number] = [voxel[0], voxel[1], voxel[2]];
  next[across] = clamp((voxel[across] ?? 0) + steps, 0, (shape[across] ?? 1) - 1);
  return next;
}

export const middle = (shape: Voxel): Voxel => [shape[0] >> 1, shape[1] >> 1, shape[2] >> 1];

const index = (share: number, count: number): number => clamp(Math.floor(share * count), 0, count - 1);
