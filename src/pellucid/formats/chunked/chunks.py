"""Arrays of which every chunk is a file of its own, read and written by several threads.

Here: ChunkForm (how chunks are laid out and encoded) and FileChunks, for N5 and Zarr on a local disk.
Not here: several chunks in one file (shards), metadata (zarr_metadata, n5), remote stores and rare codecs
(tensorstore_backend).

tensorstore reads the same files, and does so where this path cannot. This path exists for reading straight into the
caller's array and for gzip, which libdeflate compresses faster than tensorstore's zlib. It names damaged files itself.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pellucid.errors import Corrupted
from pellucid.formats.chunked.axes import Index
from pellucid.formats.chunked.chunk_codec import ByteArray, ChunkCodec, CodecFault, room_for
from pellucid.formats.chunked.levels import StoredArray
from pellucid.formats.chunked.store import Bytes, reading, write_whole, writing
from pellucid.formats.local_files import open_local
from pellucid.formats.protocol import Voxels

Slices = tuple[slice, ...]
Item = TypeVar("Item")
Result = TypeVar("Result")

_FIRST_BYTES = 64


@dataclass(frozen=True)
class ChunkForm:
    """How an array is cut and stored. Axes are slowest first; dtype carries the stored byte order.

    key: a chunk's file name, from its place in the grid.
    is_framed: N5's blocks start with their own extent, and are cut at the border instead of padded.
    """

    shape: Index
    chunk: Index
    dtype: np.dtype[Any]
    codec: ChunkCodec
    key: Callable[[Index], str]
    fill: float = 0
    is_framed: bool = False

    def extent(self, cell: Index) -> Index:
        """Voxels of the chunk that lie in the array."""
        return tuple(min(n, s - i * n) for i, n, s in zip(cell, self.chunk, self.shape, strict=True))


class FileChunks:
    """An array with one file per chunk. ``fallback`` opens the same array by tensorstore, for partial chunks."""

    def __init__(self, folder: Path, form: ChunkForm, fallback: Callable[[], StoredArray]) -> None:
        self.folder = folder
        self.form = form
        self.shape = form.shape
        self.output_chunk = form.chunk
        self._fallback = fallback

    def read(self, start: Index, stop: Index, out: Voxels) -> None:
        cells = touched_cells(start, stop, self.form.chunk)
        in_threads(lambda cell: self._read_cell(cell, start, stop, out), cells)

    def write(self, start: Index, stop: Index, voxels: Voxels) -> None:
        if is_aligned(start, stop, self.output_chunk, self.shape):
            self._write_aligned(start, stop, voxels)
        else:
            self._fallback().write(start, stop, voxels)

    def _write_aligned(self, start: Index, stop: Index, voxels: Voxels) -> None:
        cells = touched_cells(start, stop, self.form.chunk)
        in_threads(lambda cell: self._write_cell(cell, start, voxels), cells)

    def _write_cell(self, cell: Index, start: Index, voxels: Voxels) -> None:
        path = self._path(cell)
        encoded = self._encode(cell, start, voxels)
        if encoded is None:
            with writing(path):
                path.unlink(missing_ok=True)
        else:
            write_whole(path, encoded)

    def _path(self, cell: Index) -> Path:
        return self.folder / self.form.key(cell)

    def _load(self, cell: Index) -> Bytes | None:
        return read_file(self._path(cell))

    def _read_cell(self, cell: Index, start: Index, stop: Index, out: Voxels) -> None:
        inner, outer = overlap(cell, self.form.chunk, start, stop)
        stored = self._load(cell)
        if stored is None:
            out[outer] = self.form.fill
            return
        try:
            decode_chunk(self.form, stored, inner, out[outer])
        except CodecFault as fault:
            raise Corrupted(str(self._path(cell)), str(fault)) from fault

    def _encode(self, cell: Index, start: Index, voxels: Voxels) -> list[Bytes] | None:
        """The bytes of a chunk, in this thread's memory; None where all of it is fill and needs no storing."""
        extent = self.form.extent(cell)
        first = tuple(i * n - a for i, n, a in zip(cell, self.form.chunk, start, strict=True))
        part = voxels[tuple(slice(a, a + n) for a, n in zip(first, extent, strict=True))]
        chunk = self._stored_form(part, extent)
        if self.form.fill == 0 and _is_blank(chunk):
            return None
        encoded = self.form.codec.encode(chunk, scratch("encoded", room_for(chunk.nbytes)))
        return [_frame(extent), encoded] if self.form.is_framed else [encoded]

    def _stored_form(self, part: Voxels, extent: Index) -> Voxels:
        """The voxels of one chunk, contiguous, in stored byte order, padded where the format pads."""
        form = self.form
        stored_extent = extent if form.is_framed else form.chunk
        if part.flags.c_contiguous and part.dtype == form.dtype and part.shape == stored_extent:
            return part
        chunk = scratch("voxels", prod(stored_extent) * form.dtype.itemsize).view(form.dtype).reshape(stored_extent)
        if stored_extent != extent:
            chunk[...] = form.fill
        chunk[tuple(slice(n) for n in extent)] = part
        return chunk


def decode_chunk(form: ChunkForm, stored: Bytes, inner: Slices, target: Voxels) -> None:
    """Decode a chunk and put its inner part into the target; straight into it where it is one run of memory."""
    extent, stored = _unframe(stored, form.chunk) if form.is_framed else (form.chunk, stored)
    is_whole = target.shape == extent and not any(part.start for part in inner)
    if is_whole and target.flags.c_contiguous and target.dtype == form.dtype:
        form.codec.decode(stored, target.reshape(-1).view(np.uint8))
        return
    buffer = scratch("voxels", prod(extent) * form.dtype.itemsize)
    form.codec.decode(stored, buffer)
    _paste(buffer.view(form.dtype).reshape(extent), inner, target, form.fill)


def touched_cells(start: Index, stop: Index, chunk: Index) -> Iterator[Index]:
    """Places in the grid of chunks that a region touches."""
    yield from product(*(range(a // n, -(-b // n)) for a, b, n in zip(start, stop, chunk, strict=True)))


def overlap(cell: Index, chunk: Index, start: Index, stop: Index) -> tuple[Slices, Slices]:
    """The common part of a chunk and a region, counted in the chunk and in the region."""
    inner, outer = [], []
    for i, n, a, b in zip(cell, chunk, start, stop, strict=True):
        low, high = max(i * n, a), min(i * n + n, b)
        inner.append(slice(low - i * n, high - i * n))
        outer.append(slice(low - a, high - a))
    return tuple(inner), tuple(outer)


def is_aligned(start: Index, stop: Index, output_chunk: Index, shape: Index) -> bool:
    """Whether a region is made of whole grains, the last of which may be cut by the border."""
    return all(
        a % n == 0 and (b % n == 0 or b == length)
        for a, b, n, length in zip(start, stop, output_chunk, shape, strict=True)
    )


def read_file(path: Path) -> Bytes | None:
    """All of a file, in this thread's memory; None where there is none."""
    return read_open(path, lambda file: read_part(file, 0, os.fstat(file).st_size))


def read_open(path: Path, read: Callable[[int], Bytes | None]) -> Bytes | None:
    """What a function reads from the descriptor of a file; None where there is no file."""
    with reading(path):
        try:
            file = open_local(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            return read(file)
        finally:
            os.close(file)


def read_part(file: int, offset: int, length: int) -> Bytes:
    """Bytes of an open file, in this thread's memory; fewer where it ends before."""
    room = scratch("stored", length).data
    done = 0
    while done < length and (count := os.preadv(file, [room[done:]], offset + done)):
        done += count
    return room[:done]


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Do all items on the shared threads; the first error ends the rest."""
    listed = list(items)
    if len(listed) == 1:
        return [work(listed[0])]
    return list(chunk_threads().map(work, listed))


@cache
def chunk_threads() -> ThreadPoolExecutor:
    """One pool for all arrays: as many threads as this process may use cores, however many callers there are."""
    return ThreadPoolExecutor(core_count(), thread_name_prefix="chunk")


def core_count() -> int:
    return len(os.sched_getaffinity(0))


# A forked child has no threads behind the parent's pool and would wait for them forever.
os.register_at_fork(after_in_child=chunk_threads.cache_clear)

_scratch = threading.local()


def scratch(purpose: str, nbytes: int) -> ByteArray:
    """Memory of this thread, until it asks again: fresh pages for every chunk cost as much as a fast codec."""
    held: ByteArray | None = getattr(_scratch, purpose, None)
    if held is None or len(held) < nbytes:
        held = np.empty(nbytes, np.uint8)
        setattr(_scratch, purpose, held)
    return held[:nbytes]


def _is_blank(chunk: Voxels) -> bool:
    # By bytes: a negative zero is not the same voxel as a missing chunk.
    flat = chunk.reshape(-1).view(np.uint8)
    return not flat[:_FIRST_BYTES].any() and not flat.any()


def _paste(chunk: Voxels, inner: Slices, target: Voxels, fill: float) -> None:
    """Copy the inner part of a chunk; what the chunk was cut short of is fill."""
    part = chunk[inner]
    if part.shape != target.shape:
        target[...] = fill
        target = target[tuple(slice(n) for n in part.shape)]
    target[...] = part


def _frame(extent: Index) -> bytes:
    """The head of an N5 block: mode 0, the number of axes, and the extent, fastest axis first."""
    head = np.array([0, len(extent)], ">u2").tobytes()
    return head + np.array(extent[::-1], ">u4").tobytes()


def _unframe(stored: Bytes, chunk: Index) -> tuple[Index, Bytes]:
    length = 4 + 4 * len(chunk)
    mode, count = np.frombuffer(stored[:4], ">u2") if len(stored) >= length else (None, None)
    if mode != 0 or count != len(chunk):
        raise CodecFault("its block header is truncated or not that of a plain N5 block")
    extent = tuple(int(n) for n in np.frombuffer(stored[4:length], ">u4")[::-1])
    if any(not 0 < n <= most for n, most in zip(extent, chunk, strict=True)):
        raise CodecFault(f"its block header states {extent} voxels, but the maximum is {chunk}")
    return extent, memoryview(stored)[length:]
