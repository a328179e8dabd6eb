"""Aligning labels with the volume that they describe.

Here: place_labels.
Not here: colours of labels (labels), drawing them (kernels).
"""

from dataclasses import replace
from typing import Protocol

import numpy as np

from pellucid.rendering.scene import Transform, VolumeLayer

Triple = tuple[int, int, int]


class VoxelGrid(Protocol):
    """A Volume, or what is known of one: voxels along (z, y, x), and how far apart they are."""

    @property
    def shape(self) -> Triple: ...

    @property
    def spacing(self) -> tuple[float, float, float]: ...

    @property
    def unit(self) -> str: ...


def place_labels(labels: VolumeLayer, grid: VoxelGrid, over: VolumeLayer, volume: VoxelGrid) -> VolumeLayer | None:
    """The labels where the volume stands, whatever their spacing; None where they do not belong to the volume.

    Labels of as many voxels belong to it. So do labels that were made at a half or a third of its resolution, and so
    on, if they have no spacing of their own.
    """
    factors = _factors(grid, volume)
    if factors is None:
        return None
    spacing = np.array(volume.spacing[::-1])
    ratio = factors * spacing / np.array(grid.spacing[::-1])
    # A voxel stands where its middle is: that of a larger one is not that of the first small one inside it.
    shift = over.transform.matrix() @ ((factors - 1) / 2 * spacing)
    scale, translation = ratio * over.transform.scale, shift + over.transform.translation
    transform = Transform(_vector(scale), over.transform.rotation_deg, _vector(translation))
    return replace(labels, transform=transform)


def _factors(grid: VoxelGrid, volume: VoxelGrid) -> "np.ndarray[tuple[int], np.dtype[np.float64]] | None":
    """How many voxels of the volume lie along one of the labels, along (x, y, z)."""
    if grid.shape == volume.shape:
        return np.ones(3)
    if grid.spacing != (1.0, 1.0, 1.0) or grid.unit:
        return None
    factors = [max(1, round(n / m)) for n, m in zip(volume.shape, grid.shape, strict=True)]
    pairs = zip(volume.shape, grid.shape, factors, strict=True)
    if not all(m in (n // factor, -(-n // factor)) for n, m, factor in pairs):
        return None
    return np.array(factors[::-1], float)


def _vector(numbers: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> tuple[float, float, float]:
    x, y, z = numbers.tolist()
    return (x, y, z)
