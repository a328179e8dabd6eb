"""Voxels that lie in a file one after the other, z slowest, at a known offset.

Here: reading and writing boxes of such an array without mapping or loading it whole.
Not here: headers (npy, raw, nrrd, nifti, metaimage, netcdf each have their own module).
"""

import os
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.box import Box, Shape
from pellucid.errors import Truncated
from pellucid.formats.protocol import Voxels


class FlatArray:
    """An array of (z, y, x) voxels at a byte offset. dtype carries the file's byte order."""

    def __init__(
        self, path: Path, shape: Shape, dtype: np.dtype[Any], offset: int = 0, *, writable: bool = False
    ) -> None:
        self.path = path
        self.shape = shape
        self.dtype = dtype
        self.offset = offset
        self._file = os.open(path, os.O_RDWR if writable else os.O_RDONLY)
        self._check_length()

    def _check_length(self) -> None:
        needs, has = self.offset + prod(self.shape) * self.dtype.itemsize, os.fstat(self._file).st_size
        if has < needs:
            self.close()
            raise Truncated(str(self.path), needs, has)

    def read(self, box: Box, out: Voxels) -> None:
        """Fill ``out`` with the voxels of the box, in native byte order."""
        if self._is_one_run(box) and out.flags.c_contiguous and out.dtype == self.dtype:
            self._read_run(self._position(box.start), out)
            return
        for plane in range(box.start[0], box.stop[0]):
            out[plane - box.start[0]] = self._read_rows(plane, box)

    def write(self, box: Box, voxels: Voxels) -> None:
        """Store voxels of the box. Whole rows go out as one write per plane."""
        stored = np.ascontiguousarray(voxels, dtype=self.dtype)
        if self._is_one_run(box):
            self._write_run(self._position(box.start), stored)
            return
        for plane in range(box.shape[0]):
            self._write_rows(box, plane, stored[plane])

    def close(self) -> None:
        os.close(self._file)

    def _is_one_run(self, box: Box) -> bool:
        """Whether the box is one unbroken stretch of the file."""
        _, rows, columns = self.shape
        return box.shape[2] == columns and (box.shape[1] == rows or box.shape[0] == 1)

    def _position(self, voxel: Shape) -> int:
        z, y, x = voxel
        _, rows, columns = self.shape
        return self.offset + ((z * rows + y) * columns + x) * self.dtype.itemsize

    def _read_rows(self, plane: int, box: Box) -> Voxels:
        (_, y0, x0), (_, y1, x1) = box.start, box.stop
        rows: Voxels = np.empty((y1 - y0, self.shape[2]), self.dtype)
        self._read_run(self._position((plane, y0, 0)), rows)
        return rows[:, x0:x1]

    def _write_rows(self, box: Box, plane: int, rows: Voxels) -> None:
        z, y, x = box.start
        if box.shape[2] == self.shape[2]:
            self._write_run(self._position((z + plane, y, 0)), rows)
            return
        for row in range(box.shape[1]):
            self._write_run(self._position((z + plane, y + row, x)), rows[row])

    def _read_run(self, position: int, out: Voxels) -> None:
        target = _bytes(out)
        done = 0
        while done < len(target):
            count = os.preadv(self._file, [target[done:]], position + done)
            if count == 0:
                raise Truncated(str(self.path), position + len(target), position + done)
            done += count

    def _write_run(self, position: int, voxels: Voxels) -> None:
        source = _bytes(voxels)
        done = 0
        while done < len(source):
            done += os.pwrite(self._file, source[done:], position + done)


def _bytes(voxels: Voxels) -> memoryview:
    # Viewed as bytes first: a memoryview cannot be cast from a foreign byte order.
    return voxels.reshape(-1).view(np.uint8).data


def allocate(path: Path, head: bytes, shape: Shape, dtype: np.dtype[Any]) -> None:
    """Make a file with its header and room for the voxels (sparse until they are written)."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + prod(shape) * dtype.itemsize)
