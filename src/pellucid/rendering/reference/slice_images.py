"""The definition of the image of a slice beside the scene, in plain NumPy.

Here: draw_slice_image: values at the places of its pixels, of several slices one value, through the colours.
Not here: where a slice lies (slice_image), speed (kernels.slice_images), planes in the 3D image (reference.slices).
"""

import warnings
from collections.abc import Callable, Sequence
from math import ceil

import numpy as np

from pellucid.formats.protocol import Spacing, Voxels
from pellucid.rendering.reference.labels import nearest
from pellucid.rendering.scene import VolumeLayer
from pellucid.rendering.slice_image import SliceImage
from pellucid.volume.interpolate import trilinear

MAX_SAMPLES = 4
"""Along each edge of a pixel that several voxels fall into."""
REDUCTIONS: dict[str, Callable[..., Voxels]] = {"mean": np.nanmean, "max": np.nanmax, "min": np.nanmin}


def samples_per_pixel(steps_in_voxels: Voxels) -> int:
    """Samples along each edge of a pixel. steps_in_voxels: (2, 3), from one pixel to the next, across and downwards."""
    return min(MAX_SAMPLES, max(1, ceil(float(np.linalg.norm(steps_in_voxels, axis=1).max()) - 0.01)))


def draw_slice_image(
    layers: Sequence[tuple[VolumeLayer, Voxels, Spacing]], image: SliceImage
) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    """(height, width, 3). layers: from the one below to the one on top; the first is opaque where its volume is."""
    shown = np.zeros((image.height, image.width, 3))
    for number, (layer, voxels, spacing) in enumerate(layers):
        color, opacity = _colors(layer, voxels, spacing, image)
        opacity = np.where(number == 0, opacity > 0, opacity)[..., None] if layer.labels is None else opacity[..., None]
        shown = color * opacity + shown * (1 - opacity)
    rounded: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] = (shown * 255 + 0.5).astype(np.uint8)
    return rounded


def _colors(layer: VolumeLayer, voxels: Voxels, spacing: Spacing, image: SliceImage) -> tuple[Voxels, Voxels]:
    """(height, width, 3) and (height, width): 0 outside the volume."""
    matrix, shift = layer.transform.world_to_voxel(spacing)
    first, across, down = image.steps()
    columns, rows = np.meshgrid(np.arange(image.width), np.arange(image.height))
    middle = first + columns[..., None] * across + rows[..., None] * down
    if layer.labels is not None:
        places = (middle @ matrix.T + shift)[..., ::-1]
        inside = _inside(places, voxels.shape)
        table = layer.labels.table(nearest(voxels, places.reshape(-1, 3)), 1.0).reshape(*places.shape[:2], 4)
        return table[..., :3], np.where(inside, table[..., 3], 0.0)
    count = samples_per_pixel(np.stack([matrix @ across, matrix @ down]))
    offsets = (np.arange(count) + 0.5) / count - 0.5
    slices = np.arange(image.thickness) - image.thickness // 2
    values = [
        _values(voxels, (middle + u * across + v * down + s * np.asarray(image.place.step)) @ matrix.T + shift, image)
        for s in slices
        for v in offsets
        for u in offsets
    ]
    stacked = np.array(values).reshape(len(slices), -1, *middle.shape[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # Where all of them are missing, so is the result.
        value = REDUCTIONS[image.projection](np.nanmean(stacked, axis=1), axis=0)
    inside = _inside((middle @ matrix.T + shift)[..., ::-1], voxels.shape)
    rows_of_table = layer.transfer.index(value)
    color = layer.transfer.table(1.0)[rows_of_table][..., :3].astype(float)
    return color, inside.astype(float)


def _values(voxels: Voxels, places: Voxels, image: SliceImage) -> Voxels:
    """At places (x, y, z) in voxels; NaN outside."""
    zyx = places[..., ::-1]
    at = np.floor(zyx + 0.5) if image.place.is_along_voxels else zyx
    values = trilinear(voxels, at.reshape(-1, 3)).reshape(places.shape[:2])
    return np.where(_inside(zyx, voxels.shape), values, np.nan)


def _inside(zyx: Voxels, shape: tuple[int, ...]) -> Voxels:
    return np.asarray(((zyx >= -0.5) & (zyx <= np.array(shape) - 0.5)).all(axis=-1))
