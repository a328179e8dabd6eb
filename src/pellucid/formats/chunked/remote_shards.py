"""Zarr v3 shards in a bucket, also on servers that do not answer requests for a part of an object as they should.

Here: RemoteShards, which reads parts of shards, and whole shards where the server sends parts wrongly.
Not here: shards in files (shards), requests to the server (tensorstore_backend).

Some servers (rclone serve s3, for one) send the part that was asked for with the status of a whole object. tensorstore
then takes the part for the object and finds its bytes out of range, which never goes unnoticed.
"""

import numpy as np

from pellucid.errors import Corrupted
from pellucid.formats.chunked.axes import Index
from pellucid.formats.chunked.chunk_codec import CodecFault
from pellucid.formats.chunked.chunks import ChunkForm, decode_chunk, in_threads, overlap, touched_cells
from pellucid.formats.chunked.levels import StoredArray
from pellucid.formats.chunked.shards import MISSING, ShardLayout
from pellucid.formats.chunked.store import Store
from pellucid.formats.chunked.tensorstore_errors import is_out_of_range
from pellucid.formats.protocol import Voxels


class RemoteShards:
    """An array of shards below a remote store. parts: the same array by tensorstore, which reads parts of shards."""

    def __init__(self, store: Store, form: ChunkForm, layout: ShardLayout, parts: StoredArray) -> None:
        self.shape = form.shape
        self._store, self._form, self._layout, self._parts = store, form, layout, parts
        self._reads_parts = True

    def read(self, start: Index, stop: Index, out: Voxels) -> None:
        if self._reads_parts:
            try:
                return self._parts.read(start, stop, out)
            except Corrupted as error:
                if not is_out_of_range(error):
                    raise
        shards = touched_cells(start, stop, self._layout.shard)
        in_threads(lambda shard: self._read_shard(shard, start, stop, out), shards)
        self._reads_parts = False  # Only now: a damaged shard is no fault of the server.
        return None

    def write(self, start: Index, stop: Index, voxels: Voxels) -> None:
        self._parts.write(start, stop, voxels)

    def _read_shard(self, shard: Index, start: Index, stop: Index, out: Voxels) -> None:
        key = self._form.key(shard)
        content = self._store.read(key)
        name = f"{self._store.name}/{key}"
        index = None if content is None else self._layout.index_in(name, content)
        for cell in self._layout.cells(shard, self._form):
            inner, outer = overlap(cell, self._form.chunk, start, stop)
            if any(part.start >= part.stop for part in inner):
                continue
            offset, length = (MISSING, MISSING) if index is None else map(int, index[self._layout.place(cell)])
            if content is None or (offset, length) == (MISSING, MISSING):
                out[outer] = self._form.fill
                continue
            if offset + length > len(content):
                raise Corrupted(name, "its index points past its end")
            try:
                decode_chunk(self._form, np.frombuffer(content, np.uint8, length, offset).data, inner, out[outer])
            except CodecFault as fault:
                raise Corrupted(name, str(fault)) from fault
