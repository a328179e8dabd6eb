"""Writing volumes and their levels into HDF5, compressed on all cores.

Here: the Writer, which cuts boxes into chunks, and what resuming a finished output means.
Not here: where chunks wait (chunk_stores), the file's structure (plan), compression (filters).
"""

from functools import partial
from pathlib import Path

import numpy as np

from pellucid.box import Box, Shape
from pellucid.errors import ChunkConflict, NotWritable, OutputExists
from pellucid.formats.byte_sources import local_path
from pellucid.formats.flat.placement import as_bytes
from pellucid.formats.hdf5.filters import Bytes, scratch
from pellucid.formats.hdf5.opening import staging_folder
from pellucid.formats.hdf5.read.chunk_grid import decoded
from pellucid.formats.hdf5.write.chunk_stores import ChunkStore, open_store
from pellucid.formats.hdf5.write.plan import OutputPlan, plan_output
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Voxels
from pellucid.formats.thread_pool import ThreadPool


def create_or_resume(location: Location, layout: Layout, *, resume: bool) -> "Hdf5Writer | FinishedOutput":
    """A writer for a new output, or for one begun before."""
    output = local_path(location)
    plan = plan_output(location, layout)
    if output.exists():
        if resume and not staging_folder(output).exists():
            return FinishedOutput(output, plan)
        if not resume:
            raise OutputExists(str(output))
    try:
        return Hdf5Writer(output, plan, open_store(output, plan, resume=resume))
    except OSError as error:
        raise NotWritable(str(output), error.strerror or str(error)) from error


class Hdf5Writer:
    """An output being filled. Whole chunks only; several processes may each fill their own."""

    is_shareable = True

    def __init__(self, output: Path, plan: OutputPlan, store: ChunkStore) -> None:
        self._output = output
        self._plan = plan
        self._store = store
        self._threads = ThreadPool()
        self.grains: tuple[Shape, ...] = tuple(level.chunk for level in plan.levels)

    def write(self, box: Box, voxels: Voxels, *, level: int = 0) -> None:
        self._refuse_parts(box, level)
        work = partial(self._write_chunk, box, voxels, level)
        self._threads.map(work, list(box.cells(self.grains[level])))

    def read(self, box: Box, out: Voxels, *, level: int = 0) -> None:
        work = partial(self._read_chunk, box, out, level)
        self._threads.map(work, list(box.cells(self.grains[level])))

    def finish(self) -> None:
        self._store.complete()

    def close(self) -> None:
        self._threads.close()
        self._store.close()

    def _refuse_parts(self, box: Box, level: int) -> None:
        edges = zip(box.start, box.stop, self.grains[level], self._plan.levels[level].shape, strict=True)
        if any(start % chunk or (stop % chunk and stop != length) for start, stop, chunk, length in edges):
            raise ChunkConflict(box.shape, self.grains[level])

    def _write_chunk(self, box: Box, voxels: Voxels, level: int, cell: Shape) -> None:
        whole = self._box_of(cell, level)
        part = whole.intersect(box)
        wanted = voxels[part.relative_to(box.start).slices]
        dtype = np.dtype(self._plan.dtype)
        # The same pages for every chunk of this thread: fresh ones cost more than the copy.
        chunk = scratch("chunk", whole.size * dtype.itemsize).view(dtype).reshape(whole.shape)
        if part.shape != whole.shape:  # chunks at the border are stored at full size
            chunk[...] = 0
        chunk[part.relative_to(whole.start).slices] = wanted
        self._store.put(level, cell, self._plan.pipeline(level).encode(np.frombuffer(as_bytes(chunk), np.uint8)))

    def _read_chunk(self, box: Box, out: Voxels, level: int, cell: Shape) -> None:
        whole = self._box_of(cell, level)
        part = whole.intersect(box)
        stored = self._store.get(level, cell)
        target = out[part.relative_to(box.start).slices]
        if stored is None:
            target[...] = 0
            return
        voxels: Bytes = decoded(self._plan.pipeline(level), stored, 0, str(self._output))
        target[...] = voxels.view(self._plan.dtype).reshape(whole.shape)[part.relative_to(whole.start).slices]

    def _box_of(self, cell: Shape, level: int) -> Box:
        z, y, x = (i * n for i, n in zip(cell, self.grains[level], strict=True))
        return Box.whole(self.grains[level]).shift((z, y, x))


class FinishedOutput:
    """An output that was completed before: it can be read back and finished again, and takes no more voxels."""

    is_shareable = True

    def __init__(self, output: Path, plan: OutputPlan) -> None:
        self._output = output
        self._plan = plan
        self.grains: tuple[Shape, ...] = tuple(level.chunk for level in plan.levels)

    def write(self, box: Box, voxels: Voxels, *, level: int = 0) -> None:
        raise OutputExists(str(self._output))

    def read(self, box: Box, out: Voxels, *, level: int = 0) -> None:
        from pellucid.formats.hdf5.format import Hdf5Reader  # imports this module

        reader = Hdf5Reader(Location(str(self._output), self._plan.levels[level].name))
        try:
            reader.read(box, out)
        finally:
            reader.close()

    def finish(self) -> None:
        """It is finished."""

    def close(self) -> None:
        """Nothing is held open."""
