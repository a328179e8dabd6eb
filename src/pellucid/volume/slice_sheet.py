"""The three middle slices as one grey image.

Here: the grey window and grey levels of any slice, laying slices out side by side at one scale.
Not here: cutting them (slice_planes), lit images of the whole volume (rendering), PNG files (cli).
"""

from dataclasses import dataclass

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.volume.slice_planes import AXES, SlicePlane, cut_slice, planes_of
from pellucid.volume.volume import Volume

GAP = 8


@dataclass(frozen=True)
class Panel:
    """One slice of the image: grey values 0 to 255, where its left edge lies, and what it shows."""

    pixels: Voxels
    left: int
    caption: str


def middle_slices(volume: Volume, height: int = 480) -> tuple[Voxels, list[Panel]]:
    """An image (rows, columns) uint8 of the xy, xz and yz slices through the middle, and its panels.

    All panels have the same scale in the volume's unit; the tallest is ``height`` pixels.
    """
    planes = planes_of(volume)
    scale = height / max(plane.extent(volume)[0] for plane in planes)
    cuts = [_cut(volume, plane, scale) for plane in planes]
    low, high = grey_window(np.concatenate([voxels.ravel() for voxels in cuts]))
    panels: list[Panel] = []
    left = 0
    for plane, voxels in zip(planes, cuts, strict=True):
        panels.append(Panel(grey_levels(voxels, low, high), left, _caption(volume, plane)))
        left += voxels.shape[1] + GAP
    return _side_by_side(panels, height), panels


def grey_window(voxels: Voxels) -> tuple[float, float]:
    """The values that become black and white: the middle 99 per cent, the air that fills most scans left in."""
    finite = voxels[np.isfinite(voxels)] if voxels.dtype.kind == "f" else voxels
    if finite.size == 0:
        return 0.0, 1.0
    low, high = (float(v) for v in np.percentile(finite, (0.5, 99.5)))
    return (low, high) if high > low else (float(finite.min()), float(finite.max()) + 1e-9)


def grey_levels(voxels: Voxels, low: float, high: float) -> Voxels:
    """uint8 of the same shape: black at ``low`` and below, white at ``high`` and above; NaN is black.

    Equal values are black. Numbers that float32 would round, such as large integers, are scaled as float64.

    >>> grey_levels(np.array([-1.0, 0.0, 0.5, 1.0, np.inf, np.nan]), 0.0, 1.0).tolist()
    [0, 0, 128, 255, 255, 0]
    """
    numbers = voxels.astype(np.result_type(voxels, np.float32))
    scaled: Voxels = np.nan_to_num((numbers - low) * (255 / ((high - low) or 1.0)))
    return (scaled.clip(0, 255) + 0.5).astype(np.uint8)


def _cut(volume: Volume, plane: SlicePlane, scale: float) -> Voxels:
    """The middle slice. scale: pixels along one unit of length."""
    height, width = (max(1, round(length * scale)) for length in plane.extent(volume))
    return cut_slice(volume, plane, _middle(volume, plane), (height, width))


def _middle(volume: Volume, plane: SlicePlane) -> int:
    return volume.shape[AXES.index(plane.across)] // 2


def _caption(volume: Volume, plane: SlicePlane) -> str:
    inside = "".join(sorted(plane.down[-1] + plane.right[-1]))
    return f"{inside} at {plane.across} = {_middle(volume, plane)}"


def _side_by_side(panels: list[Panel], height: int) -> Voxels:
    width = panels[-1].left + panels[-1].pixels.shape[1]
    image: Voxels = np.full((height, width), 24, np.uint8)
    for panel in panels:
        rows, columns = panel.pixels.shape
        image[:rows, panel.left : panel.left + columns] = panel.pixels
    return image
