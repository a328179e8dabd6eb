"""Volumes that are computed where they are read: of any size, and never in memory whole."""

from collections.abc import Callable
from uuid import uuid4

import numpy as np

from pellucid.box import Box, Shape
from pellucid.formats.location import Location
from pellucid.formats.protocol import Header, Level, Voxels
from pellucid.volume.closable_reader import ClosableReader
from pellucid.volume.volume import Volume


class ComputedReader:
    """A Reader whose voxels are a function of the box. voxels_read: how many were asked for."""

    def __init__(self, shape: Shape, compute: Callable[[Box], Voxels], dtype: str = "uint8", chunk: int = 64) -> None:
        self.header = Header((Level(shape, (chunk, chunk, chunk)),), np.dtype(dtype))
        self._compute = compute
        self.voxels_read = 0

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        self.voxels_read += box.size
        out[...] = self._compute(box)

    def close(self) -> None:
        pass


class PlanesReader(ComputedReader):
    """A Reader of an array whose chunks are whole planes. largest_read: the most voxels that were read at once."""

    def __init__(self, voxels: Voxels) -> None:
        z, y, x = voxels.shape
        super().__init__((z, y, x), lambda box: voxels[box.slices])
        self.header = Header((Level((z, y, x), (1, y, x)),), voxels.dtype)
        self.largest_read = 0

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        self.largest_read = max(self.largest_read, box.size)
        super().read(box, out, level=level, t=t, c=c)


def lazy_volume(shape: Shape, compute: Callable[[Box], Voxels]) -> Volume:
    return Volume(ClosableReader(ComputedReader(shape, compute)), Location(f"memory:{uuid4().hex}"))


def repeated(pattern: Voxels) -> Callable[[Box], Voxels]:
    """The pattern over and over along all axes."""
    nz, ny, nx = pattern.shape
    rows = np.tile(pattern, (1, 1, 4096 // nx + 2))  # Rows are then copied whole.

    def compute(box: Box) -> Voxels:
        z, y = np.arange(box.start[0], box.stop[0]) % nz, np.arange(box.start[1], box.stop[1]) % ny
        x = box.start[2] % nx
        found: Voxels = rows[z[:, None], y[None, :], x : x + box.shape[2]]
        return found

    return compute
