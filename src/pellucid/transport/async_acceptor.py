"""Accepting connections, also when no file descriptor is free.

Here: AsyncAcceptor, for servers on an event loop; LimitedLog, for what can happen thousands of times in a second.
Not here: which connections may stay (connections), what is said on them (the servers).

asyncio's own servers try again at once, many times, and log each failure.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Coroutine
from typing import Any

from pellucid.transport.connections import ConnectionRegistry

BACKLOG = 2048
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
    """Accepts connections one by one. Where that fails, the oldest that waits in the registry is closed."""

    def __init__(self, connections: ConnectionRegistry, serve: Serve, log: logging.Logger) -> None:
        self._connections, self._serve, self._log = connections, serve, LimitedLog(log)
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        listener.listen(BACKLOG)
        self._begin(self._accept(listener))

    async def close(self) -> None:
        """The listeners are not closed."""
        for task in (tasks := list(self._tasks)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(listener)
            except OSError as error:  # Most likely no descriptor is left.
                self._log.warning("A connection could not be accepted: %s", error)
                self._connections.close_oldest()
                await asyncio.sleep(RETRY_S)
                continue
            self._begin(self._serve(connection, address))
            # Those that were accepted are served before the next one is: a flood of connections closes no others.
            await asyncio.sleep(0)
