"""Voxels of other blocks: of this Worker, and of others.

Here: BlockExchange: whole blocks of other Workers, and parts of blocks copied into a block and its halo.
Not here: connections (transport.peers), which block needs what (cluster.halos).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.box import Box, triple
from pellucid.cluster.handles import Handle, WorkerId
from pellucid.cluster.operations import BlockPart
from pellucid.cluster.worker.block_store import BlockStore
from pellucid.cluster.worker.device_buffers import BlockArray
from pellucid.errors import BlockLost, InvalidInput, Unreachable
from pellucid.formats.protocol import Voxels
from pellucid.transport.address import Address
from pellucid.transport.peers.client import PeerClient
from pellucid.transport.peers.connection import MappedBlock
from pellucid.transport.peers.requests import PullRequest


@dataclass(frozen=True)
class _Target:
    """Where voxels of another Worker go: a box of an array with its halo; by way of the host where that is needed."""

    array: BlockArray
    box: Box
    window: Voxels
    is_direct: bool


class BlockExchange:
    """Of one Worker."""

    def __init__(self, store: BlockStore, peers: PeerClient) -> None:
        self._store, self._peers, self._memory = store, peers, store.memory

    def fetch(self, handle: Handle) -> BlockArray:
        """A block of another Worker, which belongs to the caller. Where memory is shared it is not copied."""
        address, key = handle.worker.address, handle.pack()
        try:
            mapped = self._peers.map(address, [key])
            if mapped is not None:
                return self._adopted(mapped[0])
            ((shape, dtype),) = self._peers.describe(address, [key])
        except Unreachable as error:
            raise BlockLost(str(handle.worker), "it does not respond") from error
        array = self._store.allocate(shape, dtype)
        try:
            self._pull({handle.worker: [(key, Box.whole(shape), self._target(array, Box.whole(shape)))]})
        except BaseException:
            self._store.discard(array)
            raise
        return array

    def fill(self, target: BlockArray, parts: Sequence[BlockPart]) -> None:
        """Copy boxes of blocks to their places in the core of a block, or around it."""
        remote: dict[WorkerId, list[tuple[bytes, Box, _Target]]] = defaultdict(list)
        for part in parts:
            handle = Handle.parse(part.source)
            box = _place(part, target)
            if handle.worker == self._store.worker:
                with self._store.borrow(handle) as source:
                    self._memory.copy(source, part.box.shift(source.halo), target, box)
            else:
                remote[handle.worker].append((handle.pack(), part.box, self._target(target, box)))
        self._pull(remote)

    def grow(self, array: BlockArray, halo: tuple[int, int, int]) -> BlockArray:
        """The same core with room for a halo around it, which is 0; it belongs to the caller."""
        grown = self._store.allocate(array.shape, array.dtype, halo)
        self._memory.clear(grown)
        self._memory.copy(array, array.core_in_outer, grown, grown.core_in_outer)
        return grown

    def _adopted(self, mapped: MappedBlock) -> BlockArray:
        shape, dtype = triple(mapped.array.shape), mapped.array.dtype
        is_whole = mapped.array.flags.c_contiguous and mapped.array.ctypes.data == mapped.shared.array.ctypes.data
        if is_whole and self._memory.is_host:
            array = self._store.adopt(mapped.shared, shape, dtype)
            array.buffer.is_shared = True
            return array
        array = self._store.allocate(shape, dtype)
        self._memory.write(array, Box.whole(shape), mapped.array)
        mapped.shared.close()
        return array

    def _target(self, array: BlockArray, box: Box) -> _Target:
        window = self._memory.window(array, box)
        if window is not None:
            return _Target(array, box, window, is_direct=True)
        return _Target(array, box, np.empty(box.shape, array.dtype), is_direct=False)

    def _pull(self, remote: dict[WorkerId, list[tuple[bytes, Box, _Target]]]) -> None:
        plan: dict[Address, list[PullRequest]] = {
            worker.address: [PullRequest(key, box, target.window) for key, box, target in pulls]
            for worker, pulls in remote.items()
        }
        try:
            self._peers.pull(plan)
        except Unreachable as error:
            raise BlockLost(", ".join(map(str, remote)), "a Worker does not respond") from error
        for target in (target for pulls in remote.values() for _, _, target in pulls):
            if not target.is_direct:
                self._memory.write(target.array, target.box, target.window)


def _place(part: BlockPart, target: BlockArray) -> Box:
    """Where a part goes, in the array with its halo."""
    start = triple(a + n * is_end for a, n, is_end in zip(part.at, target.shape, part.from_end, strict=True))
    place = Box(start, triple(a + n for a, n in zip(start, part.box.shape, strict=True)))
    box = place.shift(target.halo)
    if not Box.whole(target.outer_shape).contains(box):
        what = f"The voxels {place} do not fit into a block of {target.shape} with a halo of {target.halo} (z, y, x)."
        raise InvalidInput(what, remedy="Make room with a larger halo.")
    return box
