"""Turns on the device: one thread computes at a time, or a few, while others read, copy and write.

Here: TicketLock, and DEVICE_TURNS, the lock that every slab of this process takes.
Not here: what is computed during a turn (slabs), how many slices are computed in one (memory_model).
"""

import threading
from bisect import insort
from collections.abc import Iterator
from contextlib import contextmanager


class TicketLock:
    """A lock for threads that work on slabs: the thread that started first is served first, so that slabs are finished
    one by one and not all at the end.

    >>> turns = TicketLock()
    >>> number = turns.ticket()
    >>> with turns.hold(number):
    ...     pass
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._begun = 0
        self._waiting: list[int] = []
        self._holders = 0

    def ticket(self) -> int:
        """A number for all turns of one piece of work."""
        with self._changed:
            self._begun += 1
            return self._begun

    @contextmanager
    def hold(self, number: int, together: int = 1) -> Iterator[None]:
        """together: how many may hold a turn at once."""
        with self._changed:
            insort(self._waiting, number)
            self._changed.wait_for(lambda: self._holders < together and self._waiting[0] == number)
            self._waiting.remove(number)
            self._holders += 1
            self._changed.notify_all()  # The next one may hold a turn as well.
        try:
            yield
        finally:
            with self._changed:
                self._holders -= 1
                self._changed.notify_all()


DEVICE_TURNS = TicketLock()
"""Held while computing on the device; meanwhile other threads read, copy to and from the device, and write. On a card
two hold a turn where its memory allows it: one queues kernels while the card works on those of the other."""
