"""Volumes whose levels are arrays of a chunk store: one Reader and one Writer for all such formats.

Here: StoredArray (what a level must be able to do), LevelReader, LevelWriter, and the checks that they share.
Not here: how an array is stored (chunks, shards, tensorstore_backend), what metadata says (zarr, n5, precomputed).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np

from pellucid.box import Box, Shape
from pellucid.errors import InvalidInput, UnknownCodec, UnsupportedType
from pellucid.formats.axis_guess import refuse_empty_axes
from pellucid.formats.chunked.axes import Axes, Index
from pellucid.formats.orientation import Orientation
from pellucid.formats.protocol import VOXEL_TYPES, Header, Layout, Level, Spacing, Voxels, check_selection

CODECS = ("none", "gzip", "zstd", "lz4", "blosc")
DEFAULT_CODEC = "blosc"
DEFAULT_CHUNK: Shape = (64, 64, 64)
DEFAULT_SHARD_CHUNKS = 4
SHARD_BYTES = 64 * 2**20


class StoredArray(Protocol):
    """An array in a store; axes as stored, slowest first; voxels in native byte order."""

    shape: Index

    def read(self, start: Index, stop: Index, out: Voxels) -> None: ...

    def write(self, start: Index, stop: Index, voxels: Voxels) -> None: ...


@dataclass(frozen=True)
class StoredLevel:
    """One resolution: its array, what its axes mean, and what the metadata says of it."""

    array: StoredArray
    axes: Axes
    chunk: Index
    dtype: np.dtype[Any]
    codec: str = ""

    def describe(self, spacing: Spacing) -> Level:
        chunk = tuple(min(n, s) for n, s in zip(self.chunk, self.array.shape, strict=True))
        return Level(self.axes.spatial(self.array.shape), self.axes.spatial(chunk), spacing)


class LevelReader:
    """A Reader over stored levels, full resolution first."""

    def __init__(
        self,
        name: str,
        levels: Sequence[StoredLevel],
        spacings: Sequence[Spacing],
        unit: str,
        orientation: Orientation | None = None,
    ) -> None:
        full = levels[0]
        for level in levels:
            refuse_empty_axes(name, level.array.shape)
        self._name = name
        self._levels = tuple(levels)
        self.header = Header(
            levels=tuple(level.describe(spacing) for level, spacing in zip(levels, spacings, strict=True)),
            dtype=checked_dtype(name, full.dtype),
            unit=unit,
            times=full.axes.length(full.array.shape, "t"),
            channels=full.axes.length(full.array.shape, "c"),
            codec=full.codec,
            orientation=orientation,
        )

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        check_selection(self._name, self.header, level=level, t=t, c=c)
        stored = self._levels[level]
        start, stop = stored.axes.corners(box, t, c)
        stored.array.read(start, stop, stored.axes.stored(out))

    def close(self) -> None:
        """Nothing stays open between reads."""


class LevelWriter:
    """A Writer over stored (z, y, x) levels. ``complete`` writes the metadata that makes them a volume."""

    is_shareable = True

    def __init__(self, arrays: Sequence[StoredArray], grains: Sequence[Shape], complete: Callable[[], None]) -> None:
        self._arrays = tuple(arrays)
        self.grains = tuple(grains)
        self._complete = complete

    def write(self, box: Box, voxels: Voxels, *, level: int = 0) -> None:
        self._arrays[level].write(box.start, box.stop, voxels)

    def read(self, box: Box, out: Voxels, *, level: int = 0) -> None:
        self._arrays[level].read(box.start, box.stop, out)

    def finish(self) -> None:
        self._complete()

    def close(self) -> None:
        """Nothing stays open between writes."""


def checked_dtype(where: str, dtype: np.dtype[Any], known: Sequence[str] = VOXEL_TYPES) -> np.dtype[Any]:
    """The type in native byte order, if it is one that volumes (or the format) have."""
    native = np.dtype(dtype).newbyteorder("=")
    if native.name not in known:
        raise UnsupportedType(where, native, known)
    return native


def checked_codec(path: str, layout: Layout) -> str:
    """The codec to write with."""
    codec = layout.codec or DEFAULT_CODEC
    if codec not in CODECS:
        raise UnknownCodec(path, codec, CODECS)
    return codec


def level_chunk(level: Level) -> Shape:
    """The requested chunk, no larger than the level."""
    requested = level.chunk if min(level.chunk) > 0 else DEFAULT_CHUNK
    z, y, x = (max(1, min(n, s)) for n, s in zip(requested, level.shape, strict=True))
    return (z, y, x)


def level_shard(level: Level, layout: Layout) -> Shape:
    """Whole chunks, no more than cover the level: as requested, or as many as stay below 64 MiB.

    A shard is what one thread holds in memory and one file holds on disk.
    """
    chunk = level_chunk(level)
    counts = _requested_counts(layout) if layout.shard else [DEFAULT_SHARD_CHUNKS] * 3
    counts = [min(k, -(-s // n)) for k, s, n in zip(counts, level.shape, chunk, strict=True)]
    if not layout.shard:
        while max(counts) > 1 and prod(counts) * prod(chunk) * layout.dtype.itemsize > SHARD_BYTES:
            widest = counts.index(max(counts))
            counts[widest] = -(-counts[widest] // 2)
    z, y, x = (k * n for k, n in zip(counts, chunk, strict=True))
    return (z, y, x)


def _requested_counts(layout: Layout) -> list[int]:
    """How many chunks of the full resolution the requested shard has along each axis."""
    shard, chunk = layout.shard or DEFAULT_CHUNK, layout.levels[0].chunk
    if any(s <= 0 or n <= 0 or s % n for s, n in zip(shard, chunk, strict=True)):
        raise InvalidInput(
            f"Shards of {tuple(shard)} voxels (z, y, x) do not consist of whole chunks of {tuple(chunk)}.",
            remedy="Make every edge of the shard a multiple of the chunk's edge.",
        )
    return [s // n for s, n in zip(shard, chunk, strict=True)]
