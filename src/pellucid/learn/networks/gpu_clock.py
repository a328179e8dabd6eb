"""How long a GPU has worked on something, without waiting for it.

Here: GpuClock.
Not here: what depends on it (runtime).
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import torch


class GpuClock:
    """Adds up the time between the beginnings and the ends of what it measures, as these become known."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._pending: deque[tuple[torch.cuda.Event, torch.cuda.Event]] = deque()

    @property
    def seconds(self) -> float:
        """Of what is finished."""
        while self._pending and self._pending[0][1].query():
            begin, end = self._pending.popleft()
            self._seconds += begin.elapsed_time(end) / 1000
        return self._seconds

    @contextmanager
    def measuring(self, *, is_gpu: bool) -> Iterator[None]:
        """On a CPU nothing is measured."""
        if not is_gpu:
            yield
            return
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        yield
        end.record()
        self._pending.append((begin, end))
