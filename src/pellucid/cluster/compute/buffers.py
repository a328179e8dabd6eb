"""The Worker's buffers, seen from its child.

Here: SharedBuffers: memory that was handed over, and blocks in it as arrays.
Not here: whose memory it is (worker.memory).
"""

from typing import Any

import numpy as np

from pellucid.box import triple
from pellucid.cluster.compute.protocol import ArraySpec, ShareBuffer
from pellucid.cluster.compute.registry import BlockView
from pellucid.device import Device
from pellucid.errors import InvalidInput
from pellucid.formats.shared_memory import SharedArray


class SharedBuffers:
    """By their numbers."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._buffers: dict[int, Any] = {}

    def add(self, shared: ShareBuffer, descriptor: int | None) -> None:
        if descriptor is None:
            raise InvalidInput("A buffer came without its memory.", remedy="Start the Worker again.")
        self._buffers[shared.number] = SharedArray(descriptor, (shared.nbytes,), np.uint8)

    def forget(self, numbers: tuple[int, ...]) -> None:
        for number in numbers:
            self._buffers.pop(number, None)

    def view(self, spec: ArraySpec) -> BlockView:
        if spec.buffer not in self._buffers:
            raise InvalidInput(f"The buffer {spec.buffer} is not known.", remedy="Start the Worker again.")
        shape = triple(n + 2 * h for n, h in zip(spec.shape, spec.halo, strict=True))
        dtype = np.dtype(spec.dtype)
        outer: Any = np.ndarray(shape, dtype, self._buffers[spec.buffer].array.data)
        return BlockView(outer, dtype, spec.shape, spec.halo)
