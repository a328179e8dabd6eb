"""The memory of a CPU as that of a device: shared memory, which other processes map.

Here: HostBuffer, HostMemory.
Not here: memory of GPUs (cuda_memory), which blocks are in it (block_store).
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.box import Box
from pellucid.cluster.worker.device_buffers import PAGE_BYTES, BlockArray
from pellucid.cluster.worker.spare_buffers import SpareBuffers
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray

_numbers = itertools.count(1)


class HostBuffer:
    """Bytes in shared memory."""

    def __init__(self, shared: SharedArray) -> None:
        self.number, self.shared, self.is_shared = next(_numbers), shared, False

    @property
    def nbytes(self) -> int:
        return int(self.shared.nbytes)


class HostMemory:
    """spare_bytes: how much is kept of what was given back."""

    device = "cpu"
    is_host = True

    def __init__(self, budget_bytes: int, spare_bytes: int | None = None) -> None:
        self.budget_bytes = budget_bytes
        self.on_gone: Callable[[Any], None] = lambda buffer: None
        self._spare = SpareBuffers(budget_bytes // 4 if spare_bytes is None else spare_bytes, PAGE_BYTES)

    def allocate(self, nbytes: int) -> HostBuffer:
        found: HostBuffer | None = self._spare.take(nbytes)
        if found is not None:
            return found
        return HostBuffer(SharedArray.create((-(-nbytes // PAGE_BYTES) * PAGE_BYTES,), np.uint8))

    def free(self, buffer: HostBuffer) -> None:
        for one in self._spare.add(buffer):
            one.shared.close()
            self.on_gone(one)

    def adopt(self, shared: SharedArray) -> HostBuffer:
        return HostBuffer(shared)

    def to_host(self, buffer: HostBuffer) -> SharedArray:
        return buffer.shared

    def read(self, array: BlockArray, box: Box) -> Voxels:
        return self._view(array)[box.slices]

    def write(self, array: BlockArray, box: Box, voxels: Voxels) -> None:
        np.copyto(self._view(array)[box.slices], voxels)

    def copy(self, source: BlockArray, box: Box, target: BlockArray, place: Box) -> None:
        np.copyto(self._view(target)[place.slices], self._view(source)[box.slices], casting="equiv")

    def clear(self, array: BlockArray) -> None:
        self._view(array)[...] = 0

    def window(self, array: BlockArray, box: Box) -> Voxels | None:
        return self._view(array)[box.slices]

    def host_view(self, array: BlockArray) -> tuple[SharedArray, Voxels] | None:
        return array.buffer.shared, self._view(array)

    def handover(self, buffer: HostBuffer) -> tuple[int | None, str]:
        return buffer.shared.descriptor, ""

    def _view(self, array: BlockArray) -> Voxels:
        content = array.buffer.shared.array
        view: Voxels = np.ndarray(array.outer_shape, array.dtype, content.data)
        return view
