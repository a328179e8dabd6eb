"""Taking turns on a device: one at a time, and who began first goes first.

Here: Turns.
Not here: what is done in a turn (slabs).
"""

import threading
from bisect import insort
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Of several who work on slabs, the one that began first is served first, so that slabs are finished one by one and
    not all at the end.

    >>> turns = Turns()
    >>> number = turns.begin()
    >>> with turns.taken(number):
    ...     pass
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._begun = 0
        self._waiting: list[int] = []
        self._is_taken = False

    def begin(self) -> int:
        """A number for all turns of one piece of work."""
        with self._changed:
            self._begun += 1
            return self._begun

    @contextmanager
    def taken(self, number: int) -> Iterator[None]:
        with self._changed:
            insort(self._waiting, number)
            self._changed.wait_for(lambda: not self._is_taken and self._waiting[0] == number)
            self._waiting.remove(number)
            self._is_taken = True
        try:
            yield
        finally:
            with self._changed:
                self._is_taken = False
                self._changed.notify_all()
