"""Which connections of a listener are closed when there are too many.

Here: ConnectionRegistry, for servers of every kind; raise_descriptor_limit.
Not here: accepting connections (acceptor), proving who it is (handshake).

A connection waits until it has shown who it is, and again between two requests. Only so many may wait, and only for so
long; the oldest that has never shown anything goes first. Connections of guests are limited too. Those of the owner are
not: however many others there are, the owner gets in.
"""

import resource
import threading
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass

from pellucid.transport.peer_user import Peer

UNKNOWN = Peer(None)
MAX_WAITING = 128
MAX_GUESTS = 128
WAITING_TIMEOUT_S = 10.0
MAX_DESCRIPTORS = 65536


@dataclass
class _Connection:
    """close: from any thread. is_closed: whether it is gone, however that came. peer: who opened it.
    is_known: it has shown access."""

    close: Callable[[], None]
    is_closed: Callable[[], bool]
    since: float
    peer: Peer = UNKNOWN
    is_known: bool = False


class ConnectionRegistry:
    """By a key that the server chooses. All methods may be called from any thread, with keys that are not there too.

    >>> registry, closed = ConnectionRegistry(max_waiting=1), []
    >>> registry.add("first", lambda: closed.append("first"))
    >>> registry.add("second", lambda: closed.append("second"))
    >>> closed
    ['first']
    """

    def __init__(
        self,
        max_waiting: int = MAX_WAITING,
        max_guests: int = MAX_GUESTS,
        timeout_s: float = WAITING_TIMEOUT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_waiting, self._max_guests, self._timeout_s, self._clock = max_waiting, max_guests, timeout_s, clock
        self._waiting: dict[Hashable, _Connection] = {}  # The oldest first.
        self._serving: dict[Hashable, _Connection] = {}
        self._guests: set[Hashable] = set()
        self._lock = threading.Lock()

    def add(
        self,
        key: Hashable,
        close: Callable[[], None],
        is_closed: Callable[[], bool] = lambda: False,
        peer: Peer = UNKNOWN,
    ) -> None:
        """A new connection, which waits. Where too many do, the oldest of them is closed; those of this user's
        programs after those of others."""
        with self._lock:
            self._forget(key)
            if len(self._waiting) >= self._max_waiting:
                self._prune()
            if len(self._waiting) >= self._max_waiting:
                self._evict()
            self._waiting[key] = _Connection(close, is_closed, self._clock(), peer)

    def begin(self, key: Hashable, is_owner: bool) -> bool:
        """It has shown who it is. Whether it may go on: guests may not where there are too many of them."""
        with self._lock:
            if not is_owner and len(self._guests) >= self._max_guests:
                self._prune()
                if len(self._guests) >= self._max_guests:
                    return False
            connection = self._waiting.pop(key, None)
            if connection is not None:
                connection.is_known = True
                self._serving[key] = connection
            if not is_owner:
                self._guests.add(key)
            return True

    def peer(self, key: Hashable) -> Peer:
        """Who opened it."""
        with self._lock:
            connection = self._waiting.get(key) or self._serving.get(key)
            return UNKNOWN if connection is None else connection.peer

    def prolong(self, key: Hashable, seconds: float) -> None:
        """Let it wait so much longer: something is being sent to it. It is still closed for a newer one."""
        with self._lock:
            if key in self._waiting:
                self._waiting[key].since = self._clock() + seconds

    def end(self, key: Hashable) -> None:
        """Its request is answered: it waits again, for another one."""
        with self._lock:
            self._guests.discard(key)
            connection = self._serving.pop(key, None)
            if connection is not None and not connection.is_closed():
                connection.since = self._clock()
                self._waiting[key] = connection

    def remove(self, key: Hashable) -> None:
        """It is gone."""
        with self._lock:
            self._forget(key)

    def close_expired(self) -> None:
        """Close those that have waited too long. To be called every second or so."""
        with self._lock:
            self._prune()
            oldest_allowed = self._clock() - self._timeout_s
            for key in [key for key, one in self._waiting.items() if one.since <= oldest_allowed]:
                self._waiting.pop(key).close()

    def close_oldest(self) -> None:
        """Make room for one: there are no descriptors left."""
        with self._lock:
            self._evict()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def guests(self) -> int:
        return len(self._guests)

    def _evict(self) -> None:
        if self._waiting:
            self._waiting.pop(self._first_to_go()).close()

    def _first_to_go(self) -> Hashable:
        """The oldest of other users that has never shown anything; then the oldest of this user."""
        own: Hashable | None = None
        for key, one in self._waiting.items():
            if not one.is_known and not one.peer.is_this_user:
                return key
            own = key if own is None and not one.is_known else own
        return next(iter(self._waiting)) if own is None else own

    def _forget(self, key: Hashable) -> None:
        self._waiting.pop(key, None)
        self._serving.pop(key, None)
        self._guests.discard(key)

    def _prune(self) -> None:
        for connections in (self._waiting, self._serving):
            for key in [key for key, one in connections.items() if one.is_closed()]:
                self._forget(key)


def raise_descriptor_limit() -> None:
    """Let this process open as many files and connections as it may: the usual 1,024 are few for a server."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # What the system does not allow is left as it is.
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
