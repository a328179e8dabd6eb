"""The Worker's buffers, seen from its child.

Here: SharedBuffers: memory that was handed over, and blocks in it as arrays.
Not here: whose memory it is (worker.device_buffers).
"""

from typing import Any

import numpy as np

from pellucid.box import triple
from pellucid.cluster.compute.protocol import ArraySpec, ShareBuffer
from pellucid.cluster.compute.registry import BlockView
from pellucid.device import Device, runtime
from pellucid.device.shared_allocations import MappedMemory
from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.shared_memory import SharedArray


class SharedBuffers:
    """By their numbers."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._buffers: dict[int, SharedArray | MappedMemory] = {}
        self._refused: dict[int, PellucidError] = {}

    def add(self, shared: ShareBuffer, descriptor: int | None) -> None:
        """Where that fails, view() says why: this has no reply."""
        try:
            self._buffers[shared.number] = self._opened(shared, descriptor)
        except PellucidError as error:
            self._refused[shared.number] = error

    def forget(self, numbers: tuple[int, ...]) -> None:
        for number in numbers:
            self._refused.pop(number, None)
            buffer = self._buffers.pop(number, None)
            if isinstance(buffer, MappedMemory):
                buffer.close()

    def view(self, spec: ArraySpec) -> BlockView:
        if spec.buffer in self._refused:
            raise self._refused[spec.buffer]
        if spec.buffer not in self._buffers:
            raise InvalidInput(f"The buffer {spec.buffer} is not known.", remedy="Start the Worker again.")
        shape = triple(n + 2 * h for n, h in zip(spec.shape, spec.halo, strict=True))
        dtype = np.dtype(spec.dtype)
        buffer = self._buffers[spec.buffer]
        outer: Any
        if isinstance(buffer, SharedArray):
            outer = np.ndarray(shape, dtype, buffer.array.data)
        else:
            warp = runtime.start()
            kind = warp.dtype_from_numpy(dtype)
            outer = warp.array(ptr=buffer.address, dtype=kind, shape=shape, device=self._device.name)
        return BlockView(outer, dtype, spec.shape, spec.halo)

    def _opened(self, shared: ShareBuffer, descriptor: int | None) -> SharedArray | MappedMemory:
        if shared.link:
            return MappedMemory(self._device.name, shared.link)
        if descriptor is None:
            raise InvalidInput("A buffer came without its memory.", remedy="Start the Worker again.")
        return SharedArray(descriptor, (shared.nbytes,), np.uint8)
