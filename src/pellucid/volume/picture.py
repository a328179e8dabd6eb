"""A first look: the three middle slices as one grey picture.

Here: choosing the grey window, cutting the slices, laying them out side by side at one scale.
Not here: lit pictures of the whole volume (render), PNG files (cli).
"""

from dataclasses import dataclass

import numpy as np

from pellucid.box import Box, triple
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume

GAP = 8


@dataclass(frozen=True)
class Panel:
    """One slice of the picture: grey values 0 to 255, where its left edge lies, and what it shows."""

    pixels: Voxels
    left: int
    caption: str


def middle_slices(volume: Volume, height: int = 480) -> tuple[Voxels, list[Panel]]:
    """A picture (rows, columns) uint8 of the xy, xz and yz slices through the middle, and its panels.

    All panels have the same scale in the volume's unit; the tallest is ``height`` pixels.
    """
    coarse = volume.at_level(_level_for(volume, height))
    cuts = [(axis, coarse.read(_middle(coarse, axis)).squeeze(axis)) for axis in (0, 1, 2)]
    low, high = grey_window(np.concatenate([voxels.ravel() for _, voxels in cuts]))
    scale = height / max(_extent(coarse, axis)[0] for axis in (0, 1, 2))
    panels: list[Panel] = []
    left = 0
    for axis, voxels in cuts:
        size = triple((*(max(1, round(length * scale)) for length in _extent(coarse, axis)), 0))[:2]
        panels.append(Panel(_resize(_grey(voxels, low, high), size), left, _caption(volume, axis)))
        left += size[1] + GAP
    return _side_by_side(panels, height), panels


def grey_window(voxels: Voxels) -> tuple[float, float]:
    """The values that become black and white: the middle 99 per cent, the air that fills most scans left in."""
    finite = voxels[np.isfinite(voxels)] if voxels.dtype.kind == "f" else voxels
    if finite.size == 0:
        return 0.0, 1.0
    low, high = (float(v) for v in np.percentile(finite, (0.5, 99.5)))
    return (low, high) if high > low else (float(finite.min()), float(finite.max()) + 1e-9)


def _level_for(volume: Volume, height: int) -> int:
    """The coarsest level that still has a voxel for every pixel."""
    enough = [n for n, level in enumerate(volume.levels) if n >= volume.level and max(level.shape) >= height]
    return enough[-1] if enough else volume.level


def _middle(volume: Volume, axis: int) -> Box:
    middle = volume.shape[axis] // 2
    start = triple(middle if i == axis else 0 for i in range(3))
    return Box(start, triple(middle + 1 if i == axis else n for i, n in enumerate(volume.shape)))


def _extent(volume: Volume, axis: int) -> list[float]:
    """Height and width of the slice across an axis, in the volume's unit."""
    return [volume.shape[i] * volume.spacing[i] for i in range(3) if i != axis]


def _caption(volume: Volume, axis: int) -> str:
    plane, name = (("xy", "z"), ("xz", "y"), ("yz", "x"))[axis]
    return f"{plane} at {name} = {volume.shape[axis] // 2}"


def _grey(voxels: Voxels, low: float, high: float) -> Voxels:
    scaled: Voxels = np.nan_to_num((voxels.astype(np.float32) - low) * (255 / (high - low)))
    return scaled.clip(0, 255).astype(np.uint8)


def _resize(pixels: Voxels, size: tuple[int, ...]) -> Voxels:
    """Nearest voxel for every pixel: a first look shows the voxels as they are."""
    rows, columns = (
        np.minimum((np.arange(n) + 0.5) * m / n, m - 1).astype(int) for n, m in zip(size, pixels.shape, strict=True)
    )
    return pixels[np.ix_(rows, columns)]


def _side_by_side(panels: list[Panel], height: int) -> Voxels:
    width = panels[-1].left + panels[-1].pixels.shape[1]
    picture: Voxels = np.full((height, width), 24, np.uint8)
    for panel in panels:
        rows, columns = panel.pixels.shape
        picture[:rows, panel.left : panel.left + columns] = panel.pixels
    return picture
