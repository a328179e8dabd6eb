"""Chunks of volumes that windows share: decoded once while they are in use, in a bounded amount of memory.

Here: ChunkCache.
Not here: windows (window_grid), files (formats).
"""

import threading
from collections import OrderedDict
from math import prod

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume

Key = tuple[int, int, Shape]


class ChunkCache:
    """The chunks that were used last, of several volumes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._chunks: OrderedDict[Key, Voxels] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, volume: Volume, name: tuple[int, int], box: Box) -> Voxels:
        """A box of a volume, of which every read chunk is kept for a while. name: of the volume, among all."""
        if prod(volume.chunk) * volume.dtype.itemsize > self._max_bytes // 8:
            return volume.read(box)
        out = np.empty(box.shape, volume.dtype)
        for part in box.tiles(volume.chunk):
            whole = _chunk_around(part, volume)
            chunk = self._chunk(volume, (*name, whole.start), whole)
            out[part.relative_to(box.start).slices] = chunk[part.relative_to(whole.start).slices]
        return out

    def _chunk(self, volume: Volume, key: Key, box: Box) -> Voxels:
        with self._lock:
            if key in self._chunks:
                self._chunks.move_to_end(key)
                return self._chunks[key]
        chunk = volume.read(box)
        with self._lock:
            if key not in self._chunks:
                self._chunks[key] = chunk
                self._bytes += chunk.nbytes
            while self._bytes > self._max_bytes:
                self._bytes -= self._chunks.popitem(last=False)[1].nbytes
        return chunk


def _chunk_around(part: Box, volume: Volume) -> Box:
    """The chunk of a part that lies in one."""
    start = triple(a // n * n for a, n in zip(part.start, volume.chunk, strict=True))
    return Box(start, triple(a + n for a, n in zip(start, volume.chunk, strict=True))).intersect(volume.box)
