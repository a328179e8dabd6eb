"""The idle timeout of an instance.

Here: IdleTimer: the idle timeout, the warning before its end, and what holds it off.
Not here: ending the instance (server), what counts as input (session).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pellucid.instance.protocol.server_messages import IdleStatus

IDLE_TIMEOUT_S = 3600.0
WARNING_S = 300.0


class IdleTimer:
    """Counts down from the last use. An open page without input does not count as use; running tasks do.

    >>> now = [0.0]
    >>> idleness = IdleTimer(600.0, 60.0, clock=lambda: now[0])
    >>> now[0] = 550.0
    >>> idleness.message().is_warning, idleness.is_expired
    (True, False)
    """

    def __init__(
        self,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
        warning_s: float = WARNING_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._idle_timeout_s, self._warning_s, self._clock = idle_timeout_s, min(warning_s, idle_timeout_s / 2), clock
        self._used_at = clock()
        self._held = 0
        self._was_warning = False

    def touch(self) -> bool:
        """It was used just now. Whether that took a warning back."""
        was_warning, self._was_warning = self._was_warning, False
        self._used_at = self._clock()
        return was_warning

    @contextmanager
    def held_off(self) -> Iterator[None]:
        """Not idle until the block ends."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            self.touch()

    @property
    def unused_s(self) -> float:
        """Seconds since the last use by a client."""
        return self._clock() - self._used_at

    @property
    def idle_s(self) -> float:
        return 0.0 if self._held else self.unused_s

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._idle_timeout_s - self.idle_s)

    @property
    def is_expired(self) -> bool:
        return self.seconds_left == 0

    def message(self) -> IdleStatus:
        return IdleStatus(self.seconds_left, self._idle_timeout_s, self.seconds_left <= self._warning_s)

    def pending_warning(self) -> IdleStatus | None:
        """The warning, once, when it is due."""
        message = self.message()
        if message.is_warning and not self._was_warning:
            self._was_warning = True
            return message
        return None
