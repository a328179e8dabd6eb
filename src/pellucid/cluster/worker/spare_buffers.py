"""Buffers that are used again: their pages are there already, and other processes have mapped them.

Here: SpareBuffers.
Not here: making buffers and giving them back (host_memory, cuda_memory).
"""

import threading
from typing import Any

MAX_SPARE = 64


class SpareBuffers:
    """max_bytes: how much is kept; page_bytes: what a buffer may be larger than needed, beside twice its size."""

    def __init__(self, max_bytes: int, page_bytes: int) -> None:
        self._max_bytes, self._page_bytes = max_bytes, page_bytes
        self._buffers: list[Any] = []
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> Any:
        """One of at least that size; None where there is none."""
        with self._lock:
            fitting = [one for one in self._buffers if nbytes <= one.nbytes <= 2 * nbytes + self._page_bytes]
            if not fitting:
                return None
            found = min(fitting, key=lambda one: one.nbytes)
            self._buffers.remove(found)
            return found

    def add(self, buffer: Any) -> list[Any]:
        """What is to be given back instead: this one, if another process holds it for good, or older ones."""
        gone: list[Any] = []
        with self._lock:
            (gone if buffer.is_shared else self._buffers).append(buffer)
            while len(self._buffers) > MAX_SPARE or sum(one.nbytes for one in self._buffers) > self._max_bytes:
                gone.append(self._buffers.pop(0))
        return gone
