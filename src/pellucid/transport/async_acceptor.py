"""Accepting connections, also when no file descriptor is free.

Here: AsyncAcceptor, for servers on an event loop; LimitedLog, for what can happen thousands of times in a second.
Not here: which connections may stay (connections), what is said on them (the servers).

asyncio's own servers try again at once, many times, and log each failure.
"""

import asyncio
import logging
import resource
import socket
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from pellucid.transport.connections import ConnectionRegistry
from pellucid.transport.peer_user import Peer, peer_of

BACKLOG = 4096
AT_ONCE = 128
"""Connections that are accepted before anything else has its turn."""
DESCRIPTORS_PER_QUEUED = 4
"""Of those that this process may have, where they are few."""
RETRY_S = 0.05
LOG_EVERY_S = 60.0

Serve = Callable[[socket.socket, Any], Coroutine[Any, Any, None]]
"""Called with a connection and the address that it came from."""


class LimitedLog:
    """Warnings, of which one a minute is written.

    >>> LimitedLog(logging.getLogger("example"), clock=lambda: 0.0).warning("Too many open files")
    True
    """

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._clock, self._next_at = log, clock, float("-inf")

    def warning(self, text: str, *values: object) -> bool:
        """Whether it was written."""
        if self._clock() < self._next_at:
            return False
        self._next_at = self._clock() + LOG_EVERY_S
        self._log.warning(text, *values)
        return True


class AsyncAcceptor:
    """Accepts connections. Where that fails, the oldest that waits in the registry is closed.

    Users of this machine and other machines take turns: in each turn of the event loop, one connection of each is
    served. So none queues behind the many connections of another.
    """

    def __init__(
        self,
        connections: ConnectionRegistry,
        serve: Serve,
        log: logging.Logger,
        peer: Callable[[socket.socket], Peer] = peer_of,
    ) -> None:
        self._connections, self._serve, self._log, self._peer = connections, serve, LimitedLog(log), peer
        self._tasks: set[asyncio.Task[None]] = set()
        self._queues: dict[Peer, deque[tuple[socket.socket, Any]]] = {}
        self._serving: asyncio.Task[None] | None = None
        self._max_queued = _max_queued()

    def start(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        listener.listen(BACKLOG)
        self._begin(self._accept(listener))

    async def close(self) -> None:
        """The listeners are not closed."""
        for task in (tasks := list(self._tasks)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for queue in self._queues.values():
            for connection, _ in queue:
                connection.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept(self, listener: socket.socket) -> None:
        loop, count = asyncio.get_running_loop(), 0
        while True:
            try:
                connection, address = await loop.sock_accept(listener)
            except OSError as error:  # Most likely no descriptor is left.
                self._log.warning("A connection could not be accepted: %s", error)
                self._connections.close_oldest()
                await asyncio.sleep(RETRY_S)
                continue
            self._queue(connection, address)
            count += 1
            if count % AT_ONCE == 0:
                await asyncio.sleep(0)

    def _queue(self, connection: socket.socket, address: Any) -> None:
        queue = self._queues.setdefault(self._peer(connection), deque())
        if len(queue) >= self._max_queued:
            connection.close()
            return
        queue.append((connection, address))
        if self._serving is None or self._serving.done():
            self._serving = self._begin(self._serve_queued())

    async def _serve_queued(self) -> None:
        while self._queues:
            for peer, queue in list(self._queues.items()):
                self._begin(self._serve(*queue.popleft()))
                if not queue:
                    del self._queues[peer]
            # They are served before the next ones are: a flood of connections closes no others.
            await asyncio.sleep(0)


def _max_queued() -> int:
    """Of one peer; further connections are closed."""
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return BACKLOG if descriptors == resource.RLIM_INFINITY else min(BACKLOG, descriptors // DESCRIPTORS_PER_QUEUED)
