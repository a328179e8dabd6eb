"""Arrays that keep several chunks in one file: Zarr v3 shards with their index.

Here: ShardedChunks; the index at the end (or start) of a shard, and its checksum.
Not here: files of one chunk (chunks), the sharding codec's metadata (zarr_metadata).
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.errors import Corrupted
from pellucid.formats.chunked.axes import Index
from pellucid.formats.chunked.chunks import ChunkForm, FileChunks, in_threads, read_open, read_part, touched_cells
from pellucid.formats.chunked.levels import StoredArray
from pellucid.formats.chunked.store import Bytes, write_whole, writing
from pellucid.formats.protocol import Voxels

ShardIndex = np.ndarray[Any, np.dtype[np.uint64]]

MISSING = 2**64 - 1
_CHECKSUM_BYTES = 4
_HELD_INDEXES = 256


@dataclass(frozen=True)
class ShardLayout:
    """How chunks lie in a shard. shard, chunk: voxels of each. is_index_last: at the end of a shard, or first."""

    shard: Index
    chunk: Index
    is_index_last: bool = True

    @property
    def counts(self) -> Index:
        """Chunks of a shard along every axis."""
        return tuple(s // n for s, n in zip(self.shard, self.chunk, strict=True))

    @property
    def index_bytes(self) -> int:
        return prod(self.counts) * 16 + _CHECKSUM_BYTES

    def place(self, cell: Index) -> int:
        """Where in its shard's index a chunk is."""
        within = tuple(i % n for i, n in zip(cell, self.counts, strict=True))
        return int(np.ravel_multi_index(within, self.counts))

    def cells(self, shard: Index, form: ChunkForm) -> list[Index]:
        """The chunks of a shard that lie in the array."""
        ranges = (
            range(i * k, min(i * k + k, -(-s // n)))
            for i, k, n, s in zip(shard, self.counts, form.chunk, form.shape, strict=True)
        )
        return list(product(*ranges))

    def index_in(self, name: str, content: bytes) -> ShardIndex:
        """The index of a whole shard."""
        if len(content) < self.index_bytes:
            raise _too_short(name, len(content), self.index_bytes)
        return parse_index(name, content[-self.index_bytes :] if self.is_index_last else content[: self.index_bytes])


def parse_index(name: str, stored: bytes) -> ShardIndex:
    """Position and length of every chunk of a shard, once the checksum is right."""
    entries, checksum = stored[:-_CHECKSUM_BYTES], stored[-_CHECKSUM_BYTES:]
    if crc32c(entries) != int.from_bytes(checksum, "little"):
        raise Corrupted(name, "the checksum of its index is wrong")
    return np.frombuffer(entries, "<u8").reshape(-1, 2)


def _too_short(name: str, size: int, needs: int) -> Corrupted:
    return Corrupted(name, f"it has {size:,} bytes, but its index alone needs {needs:,}")


class ShardedChunks(FileChunks):
    """An array with many chunks per file. form.key names a shard by its place in the grid of shards."""

    def __init__(
        self, folder: Path, form: ChunkForm, shard: Index, fallback: Callable[[], StoredArray], *, at_end: bool = True
    ) -> None:
        super().__init__(folder, form, fallback)
        self.output_chunk = shard
        self._layout = ShardLayout(shard, form.chunk, at_end)
        self._held: dict[Path, tuple[tuple[int, int, int], ShardIndex]] = {}

    def _path(self, cell: Index) -> Path:
        return self.folder / self.form.key(tuple(i // n for i, n in zip(cell, self._layout.counts, strict=True)))

    def _load(self, cell: Index) -> Bytes | None:
        path = self._path(cell)
        return read_open(path, lambda file: self._load_from(path, file, cell))

    def _load_from(self, path: Path, file: int, cell: Index) -> Bytes | None:
        offset, length = map(int, self._index(path, file)[self._layout.place(cell)])
        if offset == MISSING and length == MISSING:
            return None
        if offset + length > os.fstat(file).st_size:
            raise Corrupted(str(path), "its index points past its end")
        return read_part(file, offset, length)

    def _index(self, path: Path, file: int) -> ShardIndex:
        """A shard's index, kept as long as the file is the same one."""
        status = os.fstat(file)
        version = (status.st_ino, status.st_size, status.st_mtime_ns)
        held = self._held.get(path)
        if held is not None and held[0] == version:
            return held[1]
        index = self._read_index(path, file, status.st_size)
        if len(self._held) >= _HELD_INDEXES:
            self._held.clear()
        self._held[path] = (version, index)
        return index

    def _read_index(self, path: Path, file: int, size: int) -> ShardIndex:
        length = self._layout.index_bytes
        if size < length:
            raise _too_short(str(path), size, length)
        return parse_index(str(path), os.pread(file, length, size - length if self._layout.is_index_last else 0))

    def _write_aligned(self, start: Index, stop: Index, voxels: Voxels) -> None:
        if not self._layout.is_index_last:  # Where the index comes first, a shard cannot be written as it is encoded.
            self._fallback().write(start, stop, voxels)
            return
        in_threads(lambda shard: self._write_shard(shard, start, voxels), touched_cells(start, stop, self.output_chunk))

    def _write_shard(self, shard: Index, start: Index, voxels: Voxels) -> None:
        cells = self._layout.cells(shard, self.form)
        path = self._path(cells[0])
        index = np.full((prod(self._layout.counts), 2), MISSING, "<u8")
        write_whole(path, self._pieces(cells, start, voxels, index))
        if (index == MISSING).all():
            with writing(path):
                path.unlink(missing_ok=True)

    def _pieces(self, cells: list[Index], start: Index, voxels: Voxels, index: ShardIndex) -> Iterator[Bytes]:
        """The chunks of a shard, each encoded when it is asked for, and the index, which is filled on the way."""
        position = 0
        for cell in cells:
            encoded = self._encode(cell, start, voxels)
            if encoded is not None:
                index[self._layout.place(cell)] = (position, len(encoded[0]))
                position += len(encoded[0])
                yield encoded[0]
        entries = index.tobytes()
        yield entries + crc32c(entries).to_bytes(_CHECKSUM_BYTES, "little")


def _crc32c_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        remainder = byte
        for _ in range(8):
            remainder = (remainder >> 1) ^ (0x82F63B78 if remainder & 1 else 0)
        table.append(remainder)
    return tuple(table)


_TABLE = _crc32c_table()


def crc32c(content: bytes) -> int:
    """The Castagnoli checksum that guards a shard's index.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    # Plain Python does: an index is a kilobyte beside megabytes of voxels.
    remainder = 0xFFFFFFFF
    for byte in content:
        remainder = _TABLE[(remainder ^ byte) & 0xFF] ^ (remainder >> 8)
    return remainder ^ 0xFFFFFFFF
