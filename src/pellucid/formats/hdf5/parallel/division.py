"""How reading a box of an HDF5 dataset is divided among processes.

Here: WorkDivision (the work, what every worker must know, the pieces), made for each way a dataset can be stored.
Not here: the processes (piece_process), what they do with a piece (worker, worker_codecs).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from pellucid.box import Box
from pellucid.formats.byte_sources import FileBytes
from pellucid.formats.flat.placement import Placement
from pellucid.formats.hdf5.read.arrays import ContiguousArray, Hdf5Array, slab_of
from pellucid.formats.hdf5.read.chunk_grid import ABSENT, Overlap
from pellucid.formats.hdf5.read.chunks import ChunkedArray

_PIECE_BYTES = 8 << 20
_SLAB_BYTES = 32 << 20
# Below this, gathering rows by the kernel costs more per row than NumPy does.
_MIN_GATHERED_ROW = 256

Run = tuple[int, int, int]  # position in the file, position in memory, length


@dataclass(frozen=True)
class ReadRequest:
    """A box of one time and channel, and the type it is wanted in."""

    box: Box
    dtype: np.dtype[Any]
    t: int = 0
    c: int = 0


@dataclass(frozen=True)
class WorkDivision:
    """work: its name in the worker. file: the descriptor it reads from, where it does so itself."""

    work: str
    setup: dict[str, Any]
    pieces: list[Any]
    file: int | None = None


def divide(array: Hdf5Array, wanted: ReadRequest) -> WorkDivision | None:
    """Pieces that need no HDF5 library; None where the library has to read."""
    if (
        isinstance(array, ContiguousArray)
        and isinstance(array.source, FileBytes)
        and _is_dense(array.placement, wanted)
    ):
        return _divide_flat(array.placement.at(wanted.t, wanted.c), array.source, wanted.box)
    if isinstance(array, ChunkedArray):
        row = array.grid.chunk[-1] * array.stored.itemsize
        is_wide = row >= _MIN_GATHERED_ROW or array.grid.chunk[-1] == wanted.box.shape[2]
        if array.pipeline.is_plain and array.grid.axes.is_usual and array.stored == wanted.dtype and is_wide:
            return _divide_plain(array, wanted)
        return _divide_encoded(array, wanted)
    return None


def _is_dense(placement: Placement, wanted: ReadRequest) -> bool:
    return (
        placement.dtype == wanted.dtype and placement.strides == Placement.dense(placement.shape, wanted.dtype).strides
    )


def _divide_flat(placement: Placement, source: FileBytes, box: Box) -> WorkDivision:
    itemsize = placement.dtype.itemsize
    row, plane = box.shape[2] * itemsize, box.shape[1] * box.shape[2] * itemsize
    if box.shape[2] == placement.shape[2]:
        runs = [(placement.position((z, *box.start[1:])), i * plane, plane) for i, z in enumerate(_planes(box))]
        return WorkDivision("copy", {}, [("runs", group) for group in _grouped(runs)], source.descriptor)
    setup = {
        "chunk_row_bytes": placement.strides[1], "chunk_plane_bytes": placement.strides[0], "fill_row": b"",
        "left_bytes": box.start[2] * itemsize, "row_bytes": row, "plane_bytes": plane,
    }  # fmt: skip
    pieces = []
    for part in box.tiles(slab_of(box, itemsize)):
        z, y, _ = part.relative_to(box.start).start
        first = placement.position((part.start[0], part.start[1], 0))
        pieces.append(("tile", [first], part.shape[0], part.shape[1], z * plane + y * row))
    return WorkDivision("copy", setup, pieces, source.descriptor)


def _planes(box: Box) -> range:
    return range(box.start[0], box.stop[0])


def _grouped(runs: list[Run]) -> Iterator[list[Run]]:
    """Neighbours joined, and long runs cut, into lists of a few megabytes."""
    group: list[Run] = []
    size = 0
    for position, target, length in _joined(runs):
        for first in range(0, length, _PIECE_BYTES):
            part = min(_PIECE_BYTES, length - first)
            group.append((position + first, target + first, part))
            size += part
            if size >= _PIECE_BYTES:
                yield group
                group, size = [], 0
    if group:
        yield group


def _joined(runs: list[Run]) -> list[Run]:
    joined: list[Run] = []
    for position, target, length in runs:
        if joined and (sum(joined[-1][::2]), joined[-1][1] + joined[-1][2]) == (position, target):
            joined[-1] = (joined[-1][0], joined[-1][1], joined[-1][2] + length)
        else:
            joined.append((position, target, length))
    return joined


def _divide_plain(array: ChunkedArray, wanted: ReadRequest) -> WorkDivision:
    """Uncompressed chunks: rows of chunks along x, or plain runs where a chunk is as wide as the box."""
    box, itemsize = wanted.box, array.stored.itemsize
    _, chunk_rows, chunk_columns = array.grid.axes.spatial(array.grid.chunk)
    row, plane = box.shape[2] * itemsize, box.shape[1] * box.shape[2] * itemsize
    setup = {
        "chunk_row_bytes": chunk_columns * itemsize, "chunk_plane_bytes": chunk_rows * chunk_columns * itemsize,
        "left_bytes": box.start[2] % chunk_columns * itemsize, "row_bytes": row, "plane_bytes": plane,
        "fill_row": array.fill.tobytes() * chunk_columns,
    }  # fmt: skip
    tiles = []
    for (z, y), overlaps in groupby(array.grid.overlaps(box, wanted.t, wanted.c), key=lambda one: one.target.start[:2]):
        line = list(overlaps)
        positions = [_first_row(array, one) for one in line]
        tiles.append((positions, line[0].inside.shape[0], line[0].inside.shape[1], z * plane + y * row))
    is_run = chunk_columns == box.shape[2] and box.start[2] % chunk_columns == 0
    if is_run and all(positions[0] != ABSENT for positions, *_ in tiles):
        runs = [run for tile in tiles for run in _runs_of(tile, setup)]
        return WorkDivision("copy", setup, [("runs", group) for group in _grouped(runs)], array.source.descriptor)
    return WorkDivision("copy", setup, [("tile", *tile) for tile in tiles], array.source.descriptor)


def _runs_of(tile: tuple[list[int], int, int, int], setup: dict[str, Any]) -> Iterator[Run]:
    (position,), planes, rows, target = tile
    for plane in range(planes):
        start = position + plane * setup["chunk_plane_bytes"]
        yield (start, target + plane * setup["plane_bytes"], rows * setup["row_bytes"])


def _first_row(array: ChunkedArray, overlap: Overlap) -> int:
    """Where the first wanted row of a chunk begins, whole in x."""
    chunk = array.table[overlap.cell]
    if chunk.position == ABSENT:
        return ABSENT
    _, rows, columns = array.grid.axes.spatial(array.grid.chunk)
    before = array.planes_before(overlap) * rows + overlap.inside.start[1]
    return chunk.position + before * columns * array.stored.itemsize


def _divide_encoded(array: ChunkedArray, wanted: ReadRequest) -> WorkDivision:
    axes = array.grid.axes
    setup = {
        "filters": [(step.number, step.values) for step in array.pipeline.filters],
        "chunk_bytes": array.pipeline.chunk_bytes, "itemsize": array.pipeline.itemsize, "chunk": array.grid.chunk,
        "axes": axes.letters, "sizes": axes.sizes, "stored": array.stored.str, "fill": array.fill.tobytes(),
    }  # fmt: skip
    pieces = []
    for _, overlaps in groupby(
        array.grid.overlaps(wanted.box, wanted.t, wanted.c), key=lambda one: one.target.start[:2]
    ):
        line = list(overlaps)
        # A row of chunks across the box, cut where the buffer for it would get too large.
        count = max(1, _SLAB_BYTES // max(1, array.pipeline.chunk_bytes))
        pieces += [_piece_of(array, line[first : first + count]) for first in range(0, len(line), count)]
    return WorkDivision("decode", setup, pieces, array.source.descriptor)


def _piece_of(array: ChunkedArray, line: list[Overlap]) -> tuple[Any, ...]:
    chunks = []
    for one in line:
        found = array.table[one.cell]
        inside, target = (one.inside.start, one.inside.stop), (one.target.start, one.target.stop)
        chunks.append((found.position, found.size, found.mask, inside, target, one.picked))
    return (line[0].target.start, line[-1].target.stop, chunks)
