"""One stored resolution of an HDF5 volume, whichever way it is stored.

Here: choosing how to read a dataset; ContiguousArray (one piece, or raw files beside it), LibraryArray.
Not here: chunks (chunks).
"""

from pathlib import Path
from typing import Any, Protocol

import h5py
import numpy as np

from pellucid.box import Box
from pellucid.errors import Corrupted
from pellucid.formats.byte_sources import ByteSource, FileBytes, JoinedBytes, Piece
from pellucid.formats.flat.placement import Placement, place, read_box
from pellucid.formats.hdf5.library_errors import reason
from pellucid.formats.hdf5.metadata import pipeline_of, stored_type
from pellucid.formats.hdf5.read.chunk_grid import Hdf5Axes
from pellucid.formats.hdf5.read.chunks import ChunkedArray
from pellucid.formats.hdf5.references import external_files, require_references
from pellucid.formats.hdf5.structure_check import check_chunk_index
from pellucid.formats.protocol import Voxels
from pellucid.formats.thread_pool import ThreadPool

# Large enough that starting a read costs nothing, small enough that threads end together.
_RUN_BYTES = 8 << 20


class Hdf5Array(Protocol):
    """Voxels of one level, readable from several threads at once."""

    def read(self, box: Box, out: Voxels, t: int, c: int) -> None: ...

    def close(self) -> None: ...


def stored_array(dataset: Any, path: str, axes: Hdf5Axes, threads: ThreadPool) -> Hdf5Array:
    """The fastest way to read a dataset."""
    require_references(dataset, path)
    stored = stored_type(dataset)
    if dataset.chunks:
        pipeline = pipeline_of(dataset, path)
        if pipeline.is_known and stored is not None:
            return ChunkedArray(dataset, axes, stored, pipeline, threads)
    elif stored is not None and dataset.external:
        source = JoinedBytes(_pieces(dataset, path))
        return ContiguousArray(source, place(axes.letters, axes.sizes, stored)[0], threads)
    elif stored is not None and not dataset.is_virtual and dataset.id.get_offset() is not None:
        placement = place(axes.letters, axes.sizes, stored, dataset.id.get_offset())[0]
        return ContiguousArray(FileBytes(Path(dataset.file.filename)), placement, threads)
    return LibraryArray(dataset, path, axes)


def _pieces(dataset: Any, path: str) -> list[Piece]:
    """The raw files that hold a dataset's voxels; the last may be said to be without end."""
    needed = dataset.size * dataset.dtype.itemsize
    pieces = []
    for file, offset, size in external_files(dataset, path):
        length = min(needed, size) if size < h5py.h5f.UNLIMITED else needed
        pieces.append(Piece(file, offset, length))
        needed -= length
    return pieces


class ContiguousArray:
    """A dataset stored in one piece."""

    def __init__(self, source: ByteSource, placement: Placement, threads: ThreadPool) -> None:
        self.source = source
        self.placement = placement
        self._threads = threads

    def read(self, box: Box, out: Voxels, t: int, c: int) -> None:
        placement = self.placement.at(t, c)
        slab = slab_of(box, placement.dtype.itemsize)

        def fill(part: Box) -> None:
            read_box(self.source, placement, part, out[part.relative_to(box.start).slices])

        self._threads.map(fill, list(box.tiles(slab)))

    def close(self) -> None:
        self.source.close()


def slab_of(box: Box, itemsize: int) -> tuple[int, int, int]:
    """Whole planes, or whole rows of large planes, of a few megabytes."""
    _, rows, columns = box.shape
    planes = max(1, _RUN_BYTES // max(1, rows * columns * itemsize))
    lines = box.stop[1] if planes > 1 else max(1, _RUN_BYTES // max(1, columns * itemsize))
    return (planes, max(1, lines), max(1, box.stop[2]))


class LibraryArray:
    """What only the HDF5 library can read: virtual and compact datasets, rare filters. One thread at a time."""

    def __init__(self, dataset: Any, path: str, axes: Hdf5Axes) -> None:
        check_chunk_index(dataset)
        self._dataset = dataset
        self._path = path
        self._axes = axes

    def read(self, box: Box, out: Voxels, t: int, c: int) -> None:
        wanted = dict(zip("zyx", box.slices, strict=True)) | {"t": t, "c": c}
        selection = tuple(wanted[letter] for letter in self._axes.letters)
        try:
            if self._axes.is_usual and out.flags.c_contiguous and self._dataset.dtype == out.dtype and not box.is_empty:
                self._dataset.read_direct(out, selection)
            else:
                out[...] = np.asarray(self._dataset[selection]).transpose(self._axes.order)
        except OSError as error:
            raise Corrupted(self._path, reason(error)) from error

    def close(self) -> None:
        """The file belongs to the reader."""
