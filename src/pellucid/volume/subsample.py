"""Subsampling a large volume quickly, to choose the settings of an image.

Here: subsampled.
Not here: levels of detail, which average (levels), exact statistics (statistics).
"""

from math import ceil, prod

import numpy as np

from pellucid.volume.volume import Volume

MAX_VOXELS = 2**21
"""Percentiles of so many voxels, and boxes around what they show, are those of all to within a pixel."""

MAX_COMPUTED = 2**18
"""Of voxels that are computed when they are read."""


def subsampled(volume: Volume) -> Volume:
    """Every n-th voxel along each axis of an array in memory, or a coarse level of a file whose voxels are computed.
    Small ones, and other files, as they are.

    >>> subsampled(Volume.from_array(np.zeros((400, 200, 200), np.uint8))).shape
    (200, 100, 100)
    """
    if volume.header.is_computed:
        return _coarse_level(volume)
    array = volume.array
    if array is None or array.size <= MAX_VOXELS:
        return volume
    n = ceil((array.size / MAX_VOXELS) ** (1 / 3))
    z, y, x = volume.spacing
    spacing = (z * n, y * n, x * n)
    return Volume.from_array(np.ascontiguousarray(array[::n, ::n, ::n]), spacing, volume.unit, volume.orientation)


def _coarse_level(volume: Volume) -> Volume:
    levels = range(volume.level, len(volume.levels))
    small = next((n for n in levels if prod(volume.levels[n].shape) <= MAX_COMPUTED), levels[-1])
    return volume if small == volume.level else volume.at_level(small)
