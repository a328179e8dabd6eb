"""Subsampling a large array quickly, to choose the settings of an image.

Here: thinned.
Not here: levels of detail, which average (levels), exact statistics (statistics).
"""

from math import ceil

import numpy as np

from pellucid.volume.volume import Volume

MAX_VOXELS = 2**21
"""Percentiles of so many voxels, and boxes around what they show, are those of all to within a pixel."""


def subsampled(volume: Volume) -> Volume:
    """Every n-th voxel along each axis of an array in memory; small ones, and files, as they are.

    >>> subsampled(Volume.from_array(np.zeros((400, 200, 200), np.uint8))).shape
    (200, 100, 100)
    """
    array = volume.array
    if array is None or array.size <= MAX_VOXELS:
        return volume
    n = ceil((array.size / MAX_VOXELS) ** (1 / 3))
    z, y, x = volume.spacing
    spacing = (z * n, y * n, x * n)
    return Volume.from_array(np.ascontiguousarray(array[::n, ::n, ::n]), spacing, volume.unit, volume.orientation)
