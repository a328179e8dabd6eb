"""The blocks of a Worker: cached until memory is short, or persistent until they are released.

Here: BlockStore: handles of blocks, room for new ones, what goes when there is none.
Not here: the bytes (device_buffers), what is done with blocks (chain_runner).
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from pellucid.box import Shape
from pellucid.cluster.handles import Handle, WorkerId
from pellucid.cluster.operations import NO_HALO, KeepMode
from pellucid.cluster.worker.device_buffers import BlockArray, DeviceMemory, array_bytes
from pellucid.errors import BlockLost, NotEnoughMemory
from pellucid.formats.shared_memory import SharedArray


@dataclass
class _Entry:
    """array: None while the block is spilled to the host. version: the latest; older ones differ from it in their
    halo only. pins: how many use it now. is_released: whether it goes when no one uses it any more."""

    array: BlockArray | None
    mode: KeepMode
    spilled: "tuple[SharedArray, BlockArray] | None" = None
    version: int = 0
    pins: int = 0
    outdated: list[BlockArray] = field(default_factory=list)
    is_released: bool = False


@dataclass(frozen=True)
class StoreUsage:
    """Bytes and counts, for people and for tests."""

    used_bytes: int
    budget_bytes: int
    spilled_bytes: int
    cached: int
    persistent: int
    evicted: int
    spilled: int


class BlockStore:
    """Methods may be called from any thread. host_bytes: how much may be spilled."""

    def __init__(self, worker: WorkerId, memory: DeviceMemory, host_bytes: int = 0) -> None:
        self.worker, self.memory = worker, memory
        self._host_bytes = host_bytes
        self._entries: OrderedDict[int, _Entry] = OrderedDict()  # The least recently used first.
        self._numbers = count(1)
        self._used_bytes = self._spilled_bytes = self._evicted = self._spilled = 0
        self._lock = threading.RLock()

    # Arrays

    def allocate(self, shape: Shape, dtype: np.dtype[Any], halo: Shape = NO_HALO) -> BlockArray:
        """Room for a block, which belongs to the caller until put() or discard()."""
        with self._lock:
            self._make_room(array_bytes(shape, dtype, halo))
            buffer = self.memory.allocate(array_bytes(shape, dtype, halo))
            self._used_bytes += buffer.nbytes
            return BlockArray(buffer, dtype, shape, halo)

    def adopt(self, shared: SharedArray, shape: Shape, dtype: np.dtype[Any], halo: Shape = NO_HALO) -> BlockArray:
        """A block in memory that another process has filled; it belongs to the store from now on."""
        with self._lock:
            try:
                self._make_room(shared.nbytes)
            except NotEnoughMemory:
                shared.close()
                raise
            buffer = self.memory.adopt(shared)
            self._used_bytes += buffer.nbytes
            return BlockArray(buffer, dtype, shape, halo)

    def discard(self, array: BlockArray) -> None:
        with self._lock:
            self._used_bytes -= array.buffer.nbytes
            self.memory.free(array.buffer)

    # Blocks

    def put(self, array: BlockArray, mode: KeepMode) -> Handle:
        """A new block."""
        with self._lock:
            number = next(self._numbers)
            self._entries[number] = _Entry(array, mode)
            return Handle(self.worker, number)

    def set_mode(self, handle: Handle, mode: KeepMode) -> None:
        with self._lock:
            self._found(handle).mode = mode

    def release(self, handle: Handle) -> None:
        """Forget a block; one that is gone already is no error. One in use is forgotten when that ends."""
        with self._lock:
            try:
                entry = self._found(handle)
            except BlockLost:
                return
            if entry.pins:
                entry.mode, entry.is_released = "cache", True
            else:
                self._remove(handle.block)

    @contextmanager
    def borrow(self, handle: Handle) -> Iterator[BlockArray]:
        """The array of a block, which stays where it is meanwhile. BlockLost where it is gone."""
        array = self.pin(handle)
        try:
            yield array
        finally:
            self.unpin(handle)

    def pin(self, handle: Handle) -> BlockArray:
        with self._lock:
            entry = self._found(handle)
            entry.pins += 1
            self._entries.move_to_end(handle.block)
            try:
                return entry.array or self._restored(entry)
            except BaseException:
                entry.pins -= 1
                raise

    def unpin(self, handle: Handle) -> None:
        with self._lock:
            entry = self._entries.get(handle.block)
            if entry is not None:
                entry.pins -= 1
                if not entry.pins:
                    self._drop_outdated(entry)
                if entry.is_released and not entry.pins:
                    self._remove(handle.block)

    def halo_changed(self, handle: Handle, array: BlockArray) -> Handle:
        """A pinned block has another halo now, in this array: its handle with the next version. Older handles still
        stand for their voxels, and the change can be made again: then the version stays."""
        with self._lock:
            entry = self._found(handle)
            if handle.version == entry.version:
                entry.version += 1
            if entry.array is not None and entry.array.buffer is not array.buffer:
                entry.outdated.append(entry.array)  # A peer may be pulling from it.
            entry.array = array
            return Handle(self.worker, handle.block, entry.version)

    @property
    def usage(self) -> StoreUsage:
        with self._lock:
            modes = [entry.mode for entry in self._entries.values()]
            counts = modes.count("cache"), modes.count("persist"), self._evicted, self._spilled
            return StoreUsage(self._used_bytes, self.memory.budget_bytes, self._spilled_bytes, *counts)

    # Inside

    def _found(self, handle: Handle) -> _Entry:
        entry = self._entries.get(handle.block)
        if handle.worker != self.worker:
            raise BlockLost(str(handle.worker), "its Worker was replaced by another one")
        if entry is None:
            raise BlockLost(str(handle.worker), "it was released, or removed from the cache")
        return entry

    def _drop_outdated(self, entry: _Entry) -> None:
        for array in entry.outdated:
            self.discard(array)
        entry.outdated.clear()

    def _remove(self, number: int) -> None:
        entry = self._entries.pop(number)
        if entry.array is not None:
            self.discard(entry.array)
        if entry.spilled is not None:
            self._spilled_bytes -= entry.spilled[0].nbytes
            entry.spilled[0].close()

    def _make_room(self, nbytes: int) -> None:
        """Evict cached blocks, then spill persistent ones, then refuse."""
        for number in [number for number, entry in self._entries.items() if entry.mode == "cache" and not entry.pins]:
            if self._left >= nbytes:
                return
            self._remove(number)
            self._evicted += 1
        for entry in [entry for entry in self._entries.values() if entry.array is not None and not entry.pins]:
            if self._left >= nbytes:
                return
            self._spill(entry)
        if self._left < nbytes:
            remedy = "Release persistent blocks, use smaller ones, or use more devices."
            raise NotEnoughMemory(needs=nbytes, has=max(0, self._left), remedy=remedy)

    @property
    def _left(self) -> int:
        return self.memory.budget_bytes - self._used_bytes

    def _spill(self, entry: _Entry) -> None:
        array = entry.array
        if array is None or self._spilled_bytes + array.buffer.nbytes > self._host_bytes:
            return
        self._used_bytes -= array.buffer.nbytes
        shared = self.memory.to_host(array.buffer)
        self._spilled_bytes += shared.nbytes
        self._spilled += 1
        entry.array, entry.spilled = None, (shared, array)

    def _restored(self, entry: _Entry) -> BlockArray:
        if entry.spilled is None:
            raise BlockLost(str(self.worker), "it is neither on the device nor on the host")
        shared, before = entry.spilled
        self._spilled_bytes -= shared.nbytes  # Its place on the host is free for what makes room on the device.
        try:
            self._make_room(shared.nbytes)
        except NotEnoughMemory:
            self._spilled_bytes += shared.nbytes
            raise
        buffer = self.memory.adopt(shared)
        self._used_bytes += buffer.nbytes
        entry.array, entry.spilled = BlockArray(buffer, before.dtype, before.shape, before.halo), None
        return entry.array
