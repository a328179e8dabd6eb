"""Reusable shared memory for images.

Here: FrameSlots, on the side that draws.
Not here: the other side (process), arrays that stay (formats.shared_memory).

A fresh piece of memory for every image would cost more in page faults than the image takes to copy.
"""

import threading

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray

COUNT = 4


class FrameSlots:
    """A few pieces of shared memory, each free or taken."""

    def __init__(self, count: int = COUNT) -> None:
        self._memory: list[SharedArray | None] = [None] * count
        self._free = set(range(count))
        self._changed = threading.Condition()

    def acquire(self, timeout_s: float | None = None) -> int | None:
        """A free slot, waited for; None when none came free in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._free, timeout_s):
                return None
            return self._free.pop()

    def release(self, slot: int) -> None:
        with self._changed:
            self._free.add(slot)
            self._changed.notify()

    def put(self, slot: int, pixels: Voxels) -> tuple[int, int | None]:
        """Copy pixels in. The bytes that the slot has, and its descriptor if it had to be made anew."""
        memory, is_new = self._memory[slot], False
        if memory is None or memory.nbytes < pixels.nbytes:
            # Half as much again: a window that is being enlarged does not need new memory at every step.
            memory, is_new = SharedArray.create((pixels.nbytes * 3 // 2,), np.uint8), True
            self._memory[slot] = memory
        np.copyto(memory.array[: pixels.nbytes].reshape(pixels.shape), pixels)
        return memory.nbytes, memory.descriptor if is_new else None
