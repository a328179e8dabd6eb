"""Interrupted transfers, kept until they are resumed.

Here: PartialTransfers.
Not here: the pieces themselves (pieces).
"""

import threading
import time

from pellucid.transport.wire.announcement import Announcement
from pellucid.transport.wire.pieces import PieceTarget


class PartialTransfers:
    """Targets that are not full yet, kept for a while. When they are more than limit_bytes, the oldest go first."""

    def __init__(self, keep_s: float, limit_bytes: int) -> None:
        self._keep_s = keep_s
        self._limit_bytes = limit_bytes
        self._kept: dict[str, tuple[float, PieceTarget]] = {}
        self._lock = threading.Lock()

    def keep(self, target: PieceTarget) -> None:
        with self._lock:
            self._kept[target.announcement.transfer] = (time.monotonic(), target)
            self._trim()
        timer = threading.Timer(self._keep_s, self._expire)
        timer.daemon = True
        timer.start()

    def take(self, announcement: Announcement) -> PieceTarget | None:
        """What is there of this very transfer; a number that comes back with another announcement starts anew."""
        with self._lock:
            _, target = self._kept.pop(announcement.transfer, (0.0, None))
        return target if target is not None and target.announcement == announcement else None

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()

    def _expire(self) -> None:
        with self._lock:
            self._trim()

    def _trim(self) -> None:
        now = time.monotonic()
        total = 0
        for transfer, (since, target) in reversed(list(self._kept.items())):
            total += target.announcement.nbytes
            if now - since >= self._keep_s or total > self._limit_bytes:
                del self._kept[transfer]
