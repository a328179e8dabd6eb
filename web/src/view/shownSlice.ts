// What one slice shows. Here: one value for its image and its controls. Not here: how they look (SliceImage.tsx, SliceControls.tsx).

import { directionsOf, NAMES, type Directions, type Voxel } from "../geometry/slices";
import { windowOf, type GreyWindow } from "../geometry/greyWindow";
import type { Axis, LayerDescription, SliceOptions, VolumeLayer } from "../protocol";

export interface ShownSlice {
  axis: Axis;
  directions: Directions;
  /** Of the slice, and the last one there is. */
  index: number;
  last: number;
  voxel: Voxel;
  /** Which of the scene's volumes. */
  layer: number;
  volume: VolumeLayer;
  description: LayerDescription;
  options: SliceOptions;
  window: GreyWindow;
  /** Of the values that matter in the volume. */
  range: GreyWindow;
}

export function shownSlice(axis: Axis, voxel: Voxel, layer: number, volume: VolumeLayer, description: LayerDescription): ShownSlice {
  const order = NAMES.indexOf(axis);
  const options = volume.slice_options[order] ?? volume.slice_options[0];
  const directions = directionsOf(description.planes[order] ?? description.planes[0]);
  return {
    axis,
    directions,
    index: voxel[directions.across] ?? 0,
    last: (description.shape[directions.across] ?? 1) - 1,
    voxel,
    layer,
    volume,
    description,
    options,
    window: windowOf(options, volume, description),
    range: windowOf({ ...options, window: null }, volume, description),
  };
}
