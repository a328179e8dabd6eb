"""Compressed chunks stored next to an unfinished HDF5 file.

Here: Segments, append-only files of chunks, one per writer, that survive a kill at any moment.
Not here: what is in a chunk (filters), putting them into the HDF5 file (chunk_stores).

HDF5 keeps its index in memory until the file is closed, so a killed writer would lose every chunk. A record here is a
head (level, cell, size) and the chunk. Records are appended one at a time: only the last can be cut short, and a cut
one does not count. A new writer begins a new segment.
"""

import os
import struct
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.box import Shape
from pellucid.formats.byte_sources import disk_full_errors, fill_from
from pellucid.formats.hdf5.filters import Bytes

Key = tuple[int, Shape]  # level, and the chunk's place in that level's grid of chunks

_HEAD = struct.Struct("<4sIqqqq")
_MAGIC = b"PLCH"
_SUFFIX = ".segment"


@dataclass(frozen=True)
class _Place:
    descriptor: int
    position: int
    size: int


class Segments:
    """All segments in a folder; this writer's own is created when the first chunk is appended."""

    def __init__(self, folder: Path, output: Path) -> None:
        self._folder = folder
        self._output = output
        self._lock = threading.Lock()
        self._places: dict[Key, _Place] = {}
        self._opened: dict[str, int] = {}
        self._scanned: dict[str, int] = {}
        self._own = f"{uuid.uuid4().hex}{_SUFFIX}"

    def append(self, key: Key, stored: Any) -> None:
        """Keep a chunk; one stored before under the same key no longer counts."""
        level, cell = key
        head = _HEAD.pack(_MAGIC, level, *cell, len(stored))
        with self._lock:
            descriptor = self._descriptor(self._own)
            end = self._scanned.get(self._own, 0)
            with disk_full_errors(self._output):
                self._write(descriptor, end, head, memoryview(stored))
            self._places[key] = _Place(descriptor, end + _HEAD.size, len(stored))
            self._scanned[self._own] = end + _HEAD.size + len(stored)

    def _write(self, descriptor: int, end: int, head: bytes, stored: memoryview) -> None:
        try:
            done = os.pwrite(descriptor, head, end)
            while done < len(head) + len(stored):
                done += os.pwrite(descriptor, stored[done - len(head) :], end + done)
        except BaseException:
            os.ftruncate(descriptor, end)  # half a record would hide those after it
            raise

    def get(self, key: Key) -> Bytes | None:
        """A chunk that this or any other writer has stored."""
        with self._lock:
            if key not in self._places:
                self._scan()
            place = self._places.get(key)
        return None if place is None else _read(place, str(self._folder))

    def __iter__(self) -> Iterator[tuple[Key, Bytes]]:
        """Every chunk, in the order of the output."""
        with self._lock:
            self._scan()
            places = sorted(self._places.items())
        for key, place in places:
            yield key, _read(place, str(self._folder))

    def close(self) -> None:
        with self._lock:
            for descriptor in self._opened.values():
                os.close(descriptor)
            self._opened.clear()
            self._places.clear()
            self._scanned.clear()

    def _descriptor(self, name: str) -> int:
        if name not in self._opened:
            flags = os.O_RDWR | os.O_CREAT if name == self._own else os.O_RDONLY
            with disk_full_errors(self._output):
                self._opened[name] = os.open(self._folder / name, flags | os.O_CLOEXEC, 0o666)
        return self._opened[name]

    def _scan(self) -> None:
        """Take in what has been appended since the last look."""
        paths = sorted(self._folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
        for path in paths:
            if path.name != self._own:
                self._scan_one(path.name)

    def _scan_one(self, name: str) -> None:
        descriptor = self._descriptor(name)
        position, length = self._scanned.get(name, 0), os.fstat(descriptor).st_size
        while position + _HEAD.size <= length:
            magic, level, z, y, x, size = _HEAD.unpack(os.pread(descriptor, _HEAD.size, position))
            if magic != _MAGIC or position + _HEAD.size + size > length:
                break
            self._places[level, (z, y, x)] = _Place(descriptor, position + _HEAD.size, size)
            position += _HEAD.size + size
        self._scanned[name] = position


def _read(place: _Place, name: str) -> Bytes:
    stored: Bytes = np.empty(place.size, np.uint8)
    fill_from(place.descriptor, place.position, stored.data, name)
    return stored
