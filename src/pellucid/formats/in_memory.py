"""Volumes that are already in memory, findable by a name such as ``memory:5f2a...`` within this process.

Here: a Reader over a NumPy array, so that an array is opened, cut and converted like a file.
Not here: arrays shared between processes (shared_memory).
"""

from uuid import uuid4
from weakref import WeakValueDictionary

import numpy as np

from pellucid.box import Box
from pellucid.errors import NotFound, NotWritable, UnsupportedType, WrongDimensions
from pellucid.formats.axis_guess import refuse_empty_axes
from pellucid.formats.location import Location
from pellucid.formats.orientation import Orientation
from pellucid.formats.protocol import VOXEL_TYPES, Header, Layout, Level, Spacing, Voxels, Writer

_open: "WeakValueDictionary[str, ArrayReader]" = WeakValueDictionary()


class ArrayReader:
    """Reads boxes of a (z, y, x) array; nothing is copied until a box is read. Findable by name while it lives.

    array: all of it, not to be written to.
    """

    def __init__(
        self,
        array: Voxels,
        spacing: Spacing = (1.0, 1.0, 1.0),
        unit: str = "",
        orientation: Orientation | None = None,
    ) -> None:
        if array.ndim != 3:
            raise WrongDimensions("The array", array.shape)
        refuse_empty_axes("The array", array.shape)
        array = array.view(np.uint8) if array.dtype == np.bool_ else array
        if array.dtype.name not in VOXEL_TYPES:
            raise UnsupportedType("A volume", array.dtype, VOXEL_TYPES)
        z, y, x = array.shape
        self.array = array
        along_z, along_y, along_x = map(float, spacing)  # Kernels cannot multiply NumPy's numbers.
        level, dtype = Level((z, y, x), (1, y, x), (along_z, along_y, along_x)), array.dtype.newbyteorder("=")
        self.header = Header((level,), dtype, unit, orientation=orientation)
        self.location = Location(f"memory:{uuid4().hex}")
        _open[self.location.path] = self

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        np.copyto(out, self.array[box.slices])

    def close(self) -> None:
        pass


def open_reader(location: Location) -> ArrayReader:
    reader = _open.get(location.path)
    if reader is None:
        raise NotFound(f"{location.path} in this process")
    return reader


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    raise NotWritable(location.path, "it is in memory")
