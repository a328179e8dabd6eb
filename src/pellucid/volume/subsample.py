"""Subsampling a large volume quickly, to choose the settings of an image.

Here: subsampled.
Not here: levels of detail, which average (levels), exact statistics (statistics).
"""

import threading
from math import ceil, prod
from weakref import WeakKeyDictionary

import numpy as np

from pellucid.box import Box
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume

MAX_VOXELS = 2**21
"""Percentiles of so many voxels, and boxes around what they show, are those of all to within a pixel."""

MAX_COMPUTED = 2**18
"""Of voxels that are computed when they are read."""

MIN_FILE_BYTES = 2**26
"""Smaller files are read whole: their settings are chosen from all voxels."""

_of_files: "WeakKeyDictionary[Volume, Volume]" = WeakKeyDictionary()
_lock = threading.Lock()


def subsampled(volume: Volume) -> Volume:
    """Every n-th voxel along each axis of an array in memory, or of a large file that is read plane by plane; a coarse
    level of a file whose voxels are computed. Small ones, and other files, as they are.

    >>> subsampled(Volume.from_array(np.zeros((400, 200, 200), np.uint8))).shape
    (200, 100, 100)
    """
    if volume.header.is_computed:
        return _coarse_level(volume)
    array = volume.array
    if array is None:
        return _of_file(volume) if _has_cheap_planes(volume) else volume
    if array.size <= MAX_VOXELS:
        return volume
    n = _stride(volume)
    return _with_voxels(volume, np.ascontiguousarray(array[::n, ::n, ::n]), n)


def _has_cheap_planes(volume: Volume) -> bool:
    """Whether one plane can be read without those around it."""
    plane = (1, *volume.shape[1:])
    return volume.nbytes > MIN_FILE_BYTES and volume.chunk == plane and len(volume.levels) == 1


def _of_file(volume: Volume) -> Volume:
    """Read once: histogram, colours and camera are chosen from the same voxels."""
    with _lock:
        if volume not in _of_files:
            n = _stride(volume)
            boxes = (Box((z, 0, 0), (z + 1, *volume.shape[1:])) for z in range(0, volume.shape[0], n))
            _of_files[volume] = _with_voxels(
                volume, np.concatenate([volume.read(box)[:, ::n, ::n] for box in boxes]), n
            )
        return _of_files[volume]


def _stride(volume: Volume) -> int:
    return ceil(float((prod(volume.shape) / MAX_VOXELS) ** (1 / 3)))


def _with_voxels(volume: Volume, voxels: Voxels, n: int) -> Volume:
    """A volume of every n-th voxel of another."""
    z, y, x = volume.spacing
    return Volume.from_array(voxels, (z * n, y * n, x * n), volume.unit, volume.orientation)


def _coarse_level(volume: Volume) -> Volume:
    levels = range(volume.level, len(volume.levels))
    small = next((n for n in levels if prod(volume.levels[n].shape) <= MAX_COMPUTED), levels[-1])
    return volume if small == volume.level else volume.at_level(small)
