// What one slice shows. Here: one value for its image, its overlay and its controls. Not here: how they look.

import { NAMES, type Voxel } from "../geometry/slicePlace";
import { windowOf, type GreyWindow } from "../geometry/greyWindow";
import type { Axis, LayerDescription, Scene, SliceAxis, SliceOptions, VolumeLayer } from "../protocol";

export interface ShownSlice {
  axis: SliceAxis;
  /** Of the slice, and the last one there is; an oblique one has none. */
  index: number;
  last: number;
  voxel: Voxel;
  /** Which of the scene's volumes; -1 of an oblique slice. */
  layer: number;
  volume: VolumeLayer;
  description: LayerDescription;
  options: SliceOptions;
  window: GreyWindow;
  /** Of the values that matter in the volume. */
  range: GreyWindow;
}

export function shownSlice(axis: SliceAxis, voxel: Voxel, layer: number, scene: Scene, description: LayerDescription): ShownSlice | null {
  const volume = axis === "oblique" ? obliqueVolume(scene) : scene.volumes[layer];
  if (!volume) return null;
  const order = NAMES.indexOf(axis as Axis);
  const options = axis === "oblique" ? scene.slices[0]?.slice_options : (volume.slice_options[order] ?? volume.slice_options[0]);
  if (!options) return null;
  return {
    axis,
    index: axis === "oblique" ? -1 : (voxel[order] ?? 0),
    last: axis === "oblique" ? -1 : (description.shape[order] ?? 1) - 1,
    voxel,
    layer: axis === "oblique" ? -1 : layer,
    volume,
    description,
    options,
    window: windowOf(options, volume, description),
    range: windowOf({ ...options, window: null }, volume, description),
  };
}

/** What the first oblique slice cuts: the volume of the same source, coloured as the slice is. */
function obliqueVolume(scene: Scene): VolumeLayer | null {
  const slice = scene.slices[0];
  const volume = scene.volumes.find((one) => one.source === slice?.source);
  return slice && volume ? { ...volume, transfer: slice.transfer, labels: slice.labels, transform: slice.transform } : null;
}
