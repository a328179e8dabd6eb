"""What worker processes do with pieces that need NumPy: decode chunks, read through a format, compress.

Here: ChunkDecoder, FormatReader, Encoder, each made from the setup that the owner sends.
Not here: the worker's loop and plain copies (worker).
"""

import mmap
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.box import Box
from pellucid.formats.byte_sources import fill_from
from pellucid.formats.flat.placement import as_bytes
from pellucid.formats.hdf5.filters import Filter, Pipeline, scratch
from pellucid.formats.hdf5.read.chunk_grid import ABSENT, ChunkGrid, Hdf5Axes, decoded
from pellucid.formats.protocol import Voxels


def _pipeline(setup: dict[str, Any]) -> Pipeline:
    filters = tuple(Filter(number, tuple(values)) for number, values in setup["filters"])
    return Pipeline(filters, setup["chunk_bytes"], setup["itemsize"])


def _output(setup: dict[str, Any]) -> Voxels:
    mapped = mmap.mmap(setup["memory"], 0)
    dtype = np.dtype(setup["dtype"])
    return np.frombuffer(mapped, dtype, int(np.prod(setup["shape"]))).reshape(setup["shape"])


class ChunkDecoder:
    """Chunks read, decoded and put into place.

    A piece is a row of chunks along x and the box that they fill. It is put together in a buffer and written into the
    memory's descriptor plane by plane: through a mapping, every process would stop at every fresh page.
    """

    def __init__(self, setup: dict[str, Any]) -> None:
        self.file: int = setup["file"]
        self.memory: int = setup["memory"]
        self.path: str = setup["name"]
        self.pipeline = _pipeline(setup)
        self.grid = ChunkGrid(Hdf5Axes(setup["axes"], tuple(setup["sizes"])), tuple(setup["chunk"]))
        self.stored = np.dtype(setup["stored"])
        self.fill = np.frombuffer(setup["fill"], self.stored)[0]
        self.shape: tuple[int, int, int] = tuple(setup["shape"])
        self.dtype = np.dtype(setup["dtype"])

    def __call__(self, piece: tuple[Any, Any, list[tuple[Any, ...]]]) -> None:
        start, stop, chunks = piece
        box = Box(start, stop)
        slab = scratch("slab", box.size * self.dtype.itemsize).view(self.dtype).reshape(box.shape)
        for position, size, mask, inside, target, picked in chunks:
            part = slab[Box(*target).relative_to(start).slices]
            if position == ABSENT:
                part[...] = self.fill
                continue
            stored = scratch("stored", size)
            fill_from(self.file, position, stored.data, self.path)
            voxels = decoded(self.pipeline, stored, mask, self.path).view(self.stored).reshape(self.grid.chunk)
            part[...] = self.grid.volume(voxels, picked)[Box(*inside).slices]
        self._put(box, slab)

    def _put(self, box: Box, slab: Voxels) -> None:
        """Runs of whole rows where the slab is as wide as the output, else row by row."""
        _, rows, columns = self.shape
        is_wide = box.shape[2] == columns
        for plane in range(box.shape[0]):
            runs = [slab[plane]] if is_wide else list(slab[plane])
            for row, run in enumerate(runs):
                voxel = ((box.start[0] + plane) * rows + box.start[1] + row) * columns + box.start[2]
                _write_all(self.memory, as_bytes(run), voxel * self.dtype.itemsize)


def _write_all(memory: int, run: memoryview, position: int) -> None:
    done = 0
    while done < len(run):
        done += os.pwrite(memory, run[done:], position + done)


class FormatReader:
    """Boxes read through whatever format the file is in; every process has its own library and its own lock."""

    def __init__(self, setup: dict[str, Any]) -> None:
        from pellucid import settings
        from pellucid.formats import registry
        from pellucid.formats.location import Location

        # One thread each: the processes are the parallelism here.
        with settings.use(settings.load(threads=1)):
            self.reader = registry.open_reader(Location.parse(setup["location"]))
        self.out = _output(setup)
        self.start = tuple(setup["start"])
        self.selection: dict[str, int] = setup["selection"]

    def __call__(self, piece: tuple[Any, Any]) -> None:
        box = Box(*piece)
        z, y, x = self.start
        self.reader.read(box, self.out[box.relative_to((z, y, x)).slices], **self.selection)


class Encoder:
    """Chunks compressed from one part of a slot of shared memory into the other."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.pipeline = _pipeline(setup)
        self.slot_bytes: int = setup["slot_bytes"]
        self.memory = np.frombuffer(mmap.mmap(setup["memory"], 0), np.uint8)

    def __call__(self, slot: int) -> int:
        area = self.memory[slot * self.slot_bytes : (slot + 1) * self.slot_bytes]
        raw, room = area[: self.pipeline.chunk_bytes], area[self.pipeline.chunk_bytes :]
        stored = np.frombuffer(self.pipeline.encode(raw), np.uint8)
        room[: stored.size] = stored
        return int(stored.size)


WORKS: dict[str, Callable[[dict[str, Any]], Callable[[Any], Any]]] = {
    "decode": ChunkDecoder, "read": FormatReader, "encode": Encoder,
}  # fmt: skip
