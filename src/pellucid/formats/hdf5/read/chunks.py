"""Chunks of an HDF5 dataset, read at their place in the file without the HDF5 library.

Here: ChunkTable (where every chunk lies) and ChunkedArray (boxes read and decoded chunk by chunk on threads).
Not here: which chunks a box touches (chunk_grid), undoing filters (filters), arrays in one piece and those that only
the library can read (arrays).
"""

import threading
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.box import Box
from pellucid.formats.byte_sources import FileBytes, open_bytes
from pellucid.formats.flat.placement import as_bytes
from pellucid.formats.hdf5.filters import Pipeline, scratch
from pellucid.formats.hdf5.read.chunk_grid import ABSENT, ChunkGrid, Hdf5Axes, Overlap, decoded
from pellucid.formats.hdf5.structure_check import check_chunk_index
from pellucid.formats.protocol import Voxels
from pellucid.formats.thread_pool import ThreadPool

# Of an uncompressed chunk so many bytes at a time: they are still in the core's own cache when they are put in place.
_PORTION_BYTES = 2 * 2**20  # 64 KiB: 0.24 s a GiB, 512 KiB: 0.143, 2 MiB: 0.135


@dataclass(frozen=True)
class StoredChunk:
    """Where one chunk lies: position in the file (ABSENT if it was never written), bytes stored, filters left out."""

    position: int
    size: int
    mask: int


class ChunkTable:
    """Where the chunks of a dataset are. Asked of the library once, when the first chunk is wanted."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._grid = tuple(-(-n // c) for n, c in zip(dataset.shape, dataset.chunks, strict=True))
        self._lock = threading.Lock()
        self._rows: np.ndarray[Any, np.dtype[np.int64]] | None = None

    def __getitem__(self, cell: tuple[int, ...]) -> StoredChunk:
        with self._lock:
            if self._rows is None:
                self._rows = self._load()
        position, size, mask = (int(number) for number in self._rows[cell])
        return StoredChunk(position, size, mask)

    def _load(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        # One pass over the index: asking for a single chunk searches the index from its beginning every time.
        check_chunk_index(self._dataset)
        found: list[Any] = []
        self._dataset.id.chunk_iter(found.append)
        rows = np.full((*self._grid, 3), (ABSENT, 0, 0), np.int64)
        if found:
            cells = np.array([chunk.chunk_offset for chunk in found]) // np.array(self._dataset.chunks)
            rows[tuple(cells.T)] = [(chunk.byte_offset, chunk.size, chunk.filter_mask) for chunk in found]
            rows[..., 0] += np.where(rows[..., 0] == ABSENT, 0, self._shift(found[0]))
        return rows

    def _shift(self, chunk: Any) -> int:
        """What to add to positions: some versions of the library leave the user block out, others count it."""
        block = int(self._dataset.file.userblock_size)
        if block == 0:
            return 0
        _, expected = self._dataset.id.read_direct_chunk(chunk.chunk_offset)
        with open_bytes(Path(self._dataset.file.filename)) as file:
            file.seek(chunk.byte_offset)
            return 0 if file.read(chunk.size) == bytes(expected) else block


class ChunkedArray:
    """A chunked dataset whose filters are all known here."""

    def __init__(
        self, dataset: Any, axes: Hdf5Axes, stored: np.dtype[Any], pipeline: Pipeline, threads: ThreadPool
    ) -> None:
        self.grid = ChunkGrid(axes, tuple(dataset.chunks))
        self.table = ChunkTable(dataset)
        self.pipeline = pipeline
        self.stored = stored
        self.source = FileBytes(Path(dataset.file.filename))
        self.fill = np.asarray(dataset.fillvalue).astype(stored)
        self._threads = threads

    def read(self, box: Box, out: Voxels, t: int, c: int) -> None:
        is_plain = self.pipeline.is_plain and self.grid.axes.is_usual
        work = partial(self._copy if is_plain else self._decode, out)
        self._threads.map(work, list(self.grid.overlaps(box, t, c)))

    def close(self) -> None:
        self.source.close()

    def _decode(self, out: Voxels, overlap: Overlap) -> None:
        chunk = self.table[overlap.cell]
        if chunk.position == ABSENT:
            out[overlap.target.slices] = self.fill
            return
        stored = scratch("stored", chunk.size)
        self.source.fill(chunk.position, stored.data)
        voxels = decoded(self.pipeline, stored, chunk.mask, str(self.source.path))
        volume = self.grid.volume(voxels.view(self.stored).reshape(self.grid.chunk), overlap.picked)
        out[overlap.target.slices] = volume[overlap.inside.slices]

    def _copy(self, out: Voxels, overlap: Overlap) -> None:
        """An uncompressed chunk: only the planes that are wanted, straight into place where they fit."""
        chunk = self.table[overlap.cell]
        target = out[overlap.target.slices]
        if chunk.position == ABSENT:
            target[...] = self.fill
            return
        edges = self.grid.axes.spatial(self.grid.chunk)
        plane_bytes = edges[1] * edges[2] * self.stored.itemsize
        position = chunk.position + self.planes_before(overlap) * plane_bytes
        is_whole = overlap.inside.shape[1:] == edges[1:]
        if is_whole and target.flags.c_contiguous and target.dtype == self.stored:
            self.source.fill(position, as_bytes(target))
            return
        self._copy_portions(target, overlap.inside, position, (edges[1], edges[2]))

    def planes_before(self, overlap: Overlap) -> int:
        """Planes of the chunk that lie before the first one wanted, those of other times and channels included."""
        leading = self.grid.chunk[:-3]
        before = int(np.ravel_multi_index(overlap.picked, leading)) if leading else 0
        return before * self.grid.chunk[-3] + overlap.inside.start[0]

    def _copy_portions(self, target: Voxels, inside: Box, position: int, plane: tuple[int, int]) -> None:
        plane_bytes = prod(plane) * self.stored.itemsize
        count = max(1, _PORTION_BYTES // plane_bytes)
        shape = (min(count, target.shape[0]), *plane)
        buffer = scratch("portion", prod(shape) * self.stored.itemsize).view(self.stored).reshape(shape)
        _, rows, columns = inside.slices
        for first in range(0, target.shape[0], count):
            portion = buffer[: min(count, target.shape[0] - first)]
            self.source.fill(position + first * plane_bytes, as_bytes(portion))
            target[first : first + count] = portion[:, rows, columns]
