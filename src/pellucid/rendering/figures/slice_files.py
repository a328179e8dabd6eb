"""Slices as TIFF files with 16 bits for each voxel.

Here: one slice across an axis, as values or stretched over a range.
Not here: images of slices in colours (slice_image), whole volumes as TIFF (conversion).
"""

from pathlib import Path
from typing import Literal

import numpy as np

from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.formats.local_files import written_whole
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume

MAX_LEVEL = 65535


def save_slice(
    volume: Volume,
    axis: Literal["x", "y", "z"],
    number: int,
    path: Path,
    value_range: tuple[float, float] | None = None,
) -> tuple[float, float] | None:
    """Write a slice as a grey TIFF of uint16. value_range: values that become 0 and 65535; None: whole numbers from 0
    to 65535 stay as they are, and others are stretched over the volume's range. Returns the range, if there is one."""
    index = "zyx".index(axis)
    if not 0 <= number < volume.shape[index]:
        what = f"The volume has no slice {axis}={number}."
        raise InvalidInput(what, remedy=f"Choose {axis} from 0 to {volume.shape[index] - 1}.")
    if path.suffix.lower() not in (".tif", ".tiff"):
        raise InvalidInput(f"{path} is not a TIFF.", remedy="Use a name that ends in .tif.")
    start, stop = list(volume.box.start), list(volume.box.stop)
    start[index], stop[index] = number, number + 1
    voxels = volume.read(Box((start[0], start[1], start[2]), (stop[0], stop[1], stop[2]))).squeeze(axis=index)
    if value_range is None and volume.dtype.kind == "u" and volume.dtype.itemsize <= 2:
        levels: Voxels = voxels.astype(np.uint16)
    else:
        value_range = value_range or volume.value_range
        levels = _stretched(voxels, *value_range)
    from PIL import Image

    with written_whole(path) as file:
        Image.fromarray(levels).save(file, "TIFF", compression="tiff_deflate")
    return value_range


def _stretched(voxels: Voxels, low: float, high: float) -> Voxels:
    if not low < high:
        raise InvalidInput(f"Invalid value range: {low} to {high}.", remedy="Use a low end below the high end.")
    share = np.nan_to_num((voxels.astype(np.float64) - low) / (high - low), nan=0.0)
    levels: Voxels = (share.clip(0, 1) * MAX_LEVEL + 0.5).astype(np.uint16)
    return levels
