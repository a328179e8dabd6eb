"""Voxels at regular distances in a file: where they lie, and reading and writing boxes of them.

Here: Placement (offset and strides in bytes), reading a box of it from any ByteSource, and FlatArray for plain files.
Not here: headers (npy, raw, nrrd, nifti, metaimage, netcdf, tiff), Reader and Writer over them (reader_writer).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.box import Box, Shape
from pellucid.formats.byte_sources import ByteSource, FileBytes, new_file
from pellucid.formats.protocol import Voxels

# Between the rows of a box lie voxels that are not wanted: reading over so many bytes is cheaper than another call.
_GAP_BYTES = 32 * 1024


@dataclass(frozen=True)
class Placement:
    """Where voxels lie: byte position of the first one and byte distance to the next along (z, y, x).

    dtype carries the file's byte order. time and channel: byte distances to the next of those.
    """

    shape: Shape
    dtype: np.dtype[Any]
    offset: int
    strides: Shape
    time: int = 0
    channel: int = 0

    @classmethod
    def dense(cls, shape: Shape, dtype: np.dtype[Any], offset: int = 0) -> "Placement":
        """One voxel after the other, x fastest."""
        _, rows, columns = shape
        return cls(shape, dtype, offset, (rows * columns * dtype.itemsize, columns * dtype.itemsize, dtype.itemsize))

    def position(self, voxel: Shape) -> int:
        return self.offset + sum(i * stride for i, stride in zip(voxel, self.strides, strict=True))

    def at(self, t: int, c: int) -> "Placement":
        """The volume of one time and channel."""
        return Placement(self.shape, self.dtype, self.offset + t * self.time + c * self.channel, self.strides)

    def end(self, times: int = 1, channels: int = 1) -> int:
        """The byte after the last voxel."""
        z, y, x = self.shape
        last = self.at(times - 1, channels - 1)
        return last.position((z - 1, y - 1, x - 1)) + self.dtype.itemsize


def place(axes: str, sizes: Sequence[int], dtype: np.dtype[Any], offset: int = 0) -> tuple[Placement, int, int]:
    """Where the voxels of a dense array lie whose axes are named by letters of "tczyx", slowest first.

    Gives the placement, the number of times and the number of channels. An axis z that is missing has one plane.
    """
    strides, step = {}, dtype.itemsize
    for axis, size in zip(reversed(axes), reversed(sizes), strict=True):
        strides[axis] = step
        step *= size
    lengths = dict(zip(axes, sizes, strict=True))
    shape = (lengths.get("z", 1), lengths["y"], lengths["x"])
    inside = (strides.get("z", step), strides["y"], strides["x"])
    placement = Placement(shape, dtype, offset, inside, strides.get("t", 0), strides.get("c", 0))
    return placement, lengths.get("t", 1), lengths.get("c", 1)


def read_box(source: ByteSource, placement: Placement, box: Box, out: Voxels) -> None:
    """Fill ``out`` with the voxels of the box, in native byte order, holding one plane at a time."""
    if box.is_empty:
        return
    if _is_run(placement, box.shape, (0, 1, 2)) and _takes_bytes(placement, out):
        source.fill(placement.position(box.start), as_bytes(out))
        return
    order = tuple(int(axis) for axis in np.argsort([-stride for stride in placement.strides], kind="stable"))
    planes = out.transpose(order)
    position = placement.position(box.start)
    for index in range(planes.shape[0]):
        _read_plane(source, placement, (order[1], order[2]), position, planes[index])
        position += placement.strides[order[0]]


def _read_plane(source: ByteSource, placement: Placement, axes: tuple[int, int], position: int, out: Voxels) -> None:
    """One plane: straight into ``out`` where it is one run, row by row across wide gaps, else by way of a buffer."""
    row, column = (placement.strides[axis] for axis in axes)
    span = (out.shape[1] - 1) * column + placement.dtype.itemsize
    if _is_run(placement, out.shape, axes) and _takes_bytes(placement, out):
        source.fill(position, as_bytes(out))
    elif out.shape[0] > 1 and row - span > _GAP_BYTES:
        for index in range(out.shape[0]):
            _read_plane(source, placement, axes, position + index * row, out[index : index + 1])
    else:
        buffer = np.empty((out.shape[0] - 1) * row + span, np.uint8)
        source.fill(position, buffer.data)
        out[...] = np.ndarray(out.shape, placement.dtype, buffer, strides=(row, column))


def _is_run(placement: Placement, shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Whether a box of that shape is one unbroken stretch of the file, in this order of axes."""
    expected = placement.dtype.itemsize
    for axis, length in zip(reversed(axes), reversed(shape), strict=True):
        if length > 1 and placement.strides[axis] != expected:
            return False
        expected *= length
    return True


def _takes_bytes(placement: Placement, out: Voxels) -> bool:
    return out.flags.c_contiguous and out.dtype == placement.dtype


def as_bytes(voxels: Voxels) -> memoryview:
    # Viewed as bytes first: a memoryview cannot be cast from a foreign byte order.
    return voxels.reshape(-1).view(np.uint8).data


class FlatArray:
    """An array of (z, y, x) voxels one after the other in a file. dtype carries the file's byte order."""

    def __init__(
        self, path: Path, shape: Shape, dtype: np.dtype[Any], offset: int = 0, *, writable: bool = False
    ) -> None:
        self.path = path
        self.placement = Placement.dense(shape, dtype, offset)
        self._file = FileBytes(path, writable=writable)
        try:
            self._file.require(offset + prod(shape) * dtype.itemsize)
        except BaseException:
            self.close()
            raise

    @property
    def shape(self) -> Shape:
        return self.placement.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.placement.dtype

    def read(self, box: Box, out: Voxels) -> None:
        """Fill ``out`` with the voxels of the box, in native byte order."""
        read_box(self._file, self.placement, box, out)

    def write(self, box: Box, voxels: Voxels) -> None:
        """Store voxels of the box, in as few writes as its shape allows."""
        if box.is_empty:
            return
        stored = np.ascontiguousarray(voxels, dtype=self.dtype)
        if _is_run(self.placement, box.shape, (0, 1, 2)):
            self._file.store(self.placement.position(box.start), as_bytes(stored))
            return
        for plane in range(box.shape[0]):
            self._write_plane(box, plane, stored[plane])

    def store_bytes(self, position: int, content: bytes) -> None:
        """Replace bytes outside the voxels, such as a header."""
        self._file.store(position, memoryview(content))

    def close(self) -> None:
        self._file.close()

    def _write_plane(self, box: Box, plane: int, rows: Voxels) -> None:
        z, y, x = box.start
        if box.shape[2] == self.shape[2]:
            self._file.store(self.placement.position((z + plane, y, 0)), as_bytes(rows))
            return
        for row in range(box.shape[1]):
            self._file.store(self.placement.position((z + plane, y + row, x)), as_bytes(rows[row]))


def allocate(path: Path, head: bytes, shape: Shape, dtype: np.dtype[Any]) -> None:
    """Make a file with its header and room for the voxels (sparse until they are written)."""
    new_file(path, len(head) + prod(shape) * dtype.itemsize)
    with path.open("r+b") as file:
        file.write(head)
