"""The blocks of a Worker, for its peers.

Here: StoredBlock, PeerBlocks.
Not here: the store, how blocks travel (transport.peers).
"""

from typing import Any

import numpy as np

from pellucid.box import Box, Shape
from pellucid.cluster.handles import Handle
from pellucid.cluster.worker.block_store import BlockStore
from pellucid.cluster.worker.device_buffers import BlockArray
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray


class StoredBlock:
    """The core of a block, pinned until it is closed."""

    def __init__(self, store: BlockStore, handle: Handle) -> None:
        self._store, self._handle = store, handle
        self._array: BlockArray = store.pin(handle)

    @property
    def shape(self) -> Shape:
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._array.dtype

    @property
    def memory(self) -> tuple[SharedArray, Voxels] | None:
        found = self._store.memory.host_view(self._array)
        return None if found is None else (found[0], found[1][self._array.core_in_outer.slices])

    def read(self, box: Box) -> Voxels:
        return self._store.memory.read(self._array, box.shift(self._array.halo))

    def share(self) -> None:
        self._array.buffer.is_shared = True

    def close(self) -> None:
        self._store.unpin(self._handle)


class PeerBlocks:
    """What peers may pull: keys are handles."""

    def __init__(self, store: BlockStore) -> None:
        self._store = store

    def open_block(self, key: bytes) -> StoredBlock:
        return StoredBlock(self._store, Handle.unpack(key))
