// Voxels of a layer and positions in the world. Here: corners, centres, boxes of voxels.

import type { Box, LayerDescription } from "../protocol";
import { add, type Vector } from "./vector";

interface Extent {
  low: Vector;
  high: Vector;
}

/** World corners of a region of voxels of an unmoved layer; a voxel fills half a spacing to each side of its centre. */
export function extentOf(layer: LayerDescription, box: Box | null): Extent {
  const start = box?.start ?? [0, 0, 0];
  const stop = box?.stop ?? layer.shape;
  const [dz, dy, dx] = layer.spacing;
  return {
    low: [(start[2] - 0.5) * dx, (start[1] - 0.5) * dy, (start[0] - 0.5) * dz],
    high: [(stop[2] - 0.5) * dx, (stop[1] - 0.5) * dy, (stop[0] - 0.5) * dz],
  };
}

/** The centres of the first and the last voxel of an unmoved layer. */
export function centresOf(layer: LayerDescription): Extent {
  const [dz, dy, dx] = layer.spacing;
  const [nz, ny, nx] = layer.shape;
  return { low: [0, 0, 0], high: [(nx - 1) * dx, (ny - 1) * dy, (nz - 1) * dz] };
}

export const centreOf = ({ low, high }: Extent): Vector => {
  const [x, y, z] = add(low, high);
  return [x / 2, y / 2, z / 2];
};

/** A clipping box as large as the volume does not clip. */
export function boxOrNone(layer: LayerDescription, box: Box): Box | null {
  const isWhole = box.start.every((one) => one === 0) && box.stop.every((one, axis) => one === layer.shape[axis]);
  return isWhole ? null : box;
}

export const wholeOf = (layer: LayerDescription): Box => ({ start: [0, 0, 0], stop: [...layer.shape] });
