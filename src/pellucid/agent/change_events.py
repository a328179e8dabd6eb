"""Waiting until something changes.

Here: ChangeNotifier, notified from any thread, awaited on the event loop.
Not here: what changed (supervisor).
"""

import asyncio
from collections.abc import Callable


class ChangeNotifier:
    """Made on the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: set[asyncio.Event] = set()

    def notify(self) -> None:
        """Something changed. From any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for event in self._waiting:
            event.set()

    async def wait_until_changed(self, is_so: Callable[[], bool], at_most_s: float) -> bool:
        """Until it is so, or the time is over; whether it is."""
        deadline = self._loop.time() + at_most_s
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            while not is_so() and (left_s := deadline - self._loop.time()) > 0:
                event.clear()
                try:
                    await asyncio.wait_for(event.wait(), left_s)
                except TimeoutError:
                    break
        finally:
            self._waiting.discard(event)
        return is_so()
