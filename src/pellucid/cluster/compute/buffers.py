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
from pellucid.errors import InvalidInput
from pellucid.formats.shared_memory import SharedArray

WORD = 8


class SharedBuffers:
    """By their numbers."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._buffers: dict[int, Any] = {}

    def add(self, shared: ShareBuffer, descriptor: int | None) -> None:
        if shared.link:
            self._buffers[shared.number] = self._opened(shared)
        elif descriptor is not None:
            self._buffers[shared.number] = SharedArray(descriptor, (shared.nbytes,), np.uint8)
        else:
            raise InvalidInput("A buffer came without its memory.", remedy="Start the Worker again.")

    def forget(self, numbers: tuple[int, ...]) -> None:
        for number in numbers:
            self._buffers.pop(number, None)

    def view(self, spec: ArraySpec) -> BlockView:
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
            outer = warp.array(ptr=buffer.ptr, dtype=kind, shape=shape, device=self._device.name)
        return BlockView(outer, dtype, spec.shape, spec.halo)

    def _opened(self, shared: ShareBuffer) -> Any:
        """Memory of a GPU that the Worker has allocated."""
        warp = runtime.start()
        with runtime.LOCK:
            words = shared.nbytes // WORD
            return warp.from_ipc_handle(bytes.fromhex(shared.link), warp.uint64, (words,), device=self._device.name)
