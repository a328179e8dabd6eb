"""The memory of a GPU, which the child of the Worker opens by CUDA's inter-process handles.

Here: CudaBuffer, CudaMemory.
Not here: memory of the host (host_memory), which blocks are in it (block_store).

The Worker only copies. It waits for every copy, because the child works on a stream of its own.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.box import Box
from pellucid.cluster.worker.device_buffers import BlockArray
from pellucid.cluster.worker.spare_buffers import SpareBuffers
from pellucid.device import choose, runtime, synchronize
from pellucid.device.shared_allocations import export_memory
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray

PAGE_BYTES = 2 * 2**20
"""CUDA puts smaller allocations together, and a handle would open all of them."""
WORD = 8
SHARE_OF_DEVICE = 0.8
UNSIGNED = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
"""Copies look at the size of a voxel, not at its type."""
_numbers = itertools.count(1)


class CudaBuffer:
    """words: a Warp array of 64-bit words, because Warp counts in 32 bits along an axis."""

    def __init__(self, words: Any) -> None:
        self.number, self.words, self.is_shared = next(_numbers), words, False
        self.nbytes = int(words.size) * WORD


class CudaMemory:
    """device: such as "cuda:0". budget_bytes: 0 is most of what is free."""

    is_host = False

    def __init__(self, device: str, budget_bytes: int = 0) -> None:
        self._device = choose(device)
        self.device = self._device.name
        self.budget_bytes = budget_bytes or int(SHARE_OF_DEVICE * self._device.free_bytes())
        self.on_gone: Callable[[Any], None] = lambda buffer: None
        self._spare = SpareBuffers(self.budget_bytes // 8, PAGE_BYTES)

    def allocate(self, nbytes: int) -> CudaBuffer:
        found: CudaBuffer | None = self._spare.take(nbytes)
        if found is not None:
            return found
        warp, words = runtime.start(), -(-nbytes // PAGE_BYTES) * PAGE_BYTES // WORD
        with runtime.LOCK, warp.ScopedMempool(self.device, False):  # Pooled memory has no handle.
            return CudaBuffer(warp.empty(words, dtype=warp.uint64, device=self.device))

    def free(self, buffer: CudaBuffer) -> None:
        for one in self._spare.add(buffer):
            self.on_gone(one)

    def adopt(self, shared: SharedArray) -> CudaBuffer:
        buffer, content = self.allocate(shared.nbytes), shared.array.reshape(-1).view(np.uint8)
        words = content.size // WORD
        with runtime.LOCK:
            warp = runtime.start()
            if words:
                whole = warp.array(content[: words * WORD].view(np.uint64), device="cpu", copy=False)
                warp.copy(buffer.words, whole, count=words)
            if words * WORD < content.size:
                last = np.zeros(1, np.uint64)
                last.view(np.uint8)[: content.size - words * WORD] = content[words * WORD :]
                warp.copy(buffer.words, warp.array(last, device=self.device), dest_offset=words, count=1)
        synchronize(self._device)
        shared.close()
        return buffer

    def to_host(self, buffer: CudaBuffer) -> SharedArray:
        shared = SharedArray.create((buffer.nbytes,), np.uint8)
        with runtime.LOCK:
            warp = runtime.start()
            warp.copy(warp.array(shared.array.view(np.uint64), device="cpu", copy=False), buffer.words)
        synchronize(self._device)
        self.free(buffer)
        return shared

    def read(self, array: BlockArray, box: Box) -> Voxels:
        with runtime.LOCK:
            found: Voxels = runtime.start().clone(self._view(array, box)).numpy()
        return found.view(array.dtype)

    def write(self, array: BlockArray, box: Box, voxels: Voxels) -> None:
        content = np.ascontiguousarray(voxels, array.dtype).view(UNSIGNED[array.dtype.itemsize])
        with runtime.LOCK:
            warp = runtime.start()
            warp.copy(self._view(array, box), warp.array(content, device=self.device))
        synchronize(self._device)

    def copy(self, source: BlockArray, box: Box, target: BlockArray, place: Box) -> None:
        with runtime.LOCK:
            runtime.start().copy(self._view(target, place), self._view(source, box))
        synchronize(self._device)

    def clear(self, array: BlockArray) -> None:
        with runtime.LOCK:
            self._view(array, Box.whole(array.outer_shape)).zero_()
        synchronize(self._device)

    def window(self, array: BlockArray, box: Box) -> Voxels | None:
        return None

    def host_view(self, array: BlockArray) -> tuple[SharedArray, Voxels] | None:
        return None

    def handover(self, buffer: CudaBuffer) -> tuple[int | None, str]:
        return None, export_memory(self.device, int(buffer.words.ptr))

    def _view(self, array: BlockArray, box: Box) -> Any:
        warp = runtime.start()
        kind = getattr(warp, UNSIGNED[array.dtype.itemsize])
        outer = warp.array(ptr=array.buffer.words.ptr, dtype=kind, shape=array.outer_shape, device=self.device)
        return outer[box.slices]
