"""What the web server logs of errors that anyone can cause.

Here: limit_server_log.
Not here: errors of routes as answers (routes.error_handlers), errors while accepting (transport.async_acceptor).
"""

import logging
import time
from collections.abc import Callable

MAX_PER_MINUTE = 10
SERVER_LOG = "uvicorn.error"
ANSWERED_TOO_LATE = "LocalProtocolError"
"""Of h11, which uvicorn uses: the rest of a request was malformed, and was refused while its head was answered."""


class ServerLogFilter(logging.Filter):
    """Discards errors of connections that ended while they were answered, and more than so many others per minute:
    each has a traceback of 6 kB, and another user of the machine can cause hundreds in a second.

    >>> log_filter = ServerLogFilter(max_per_minute=1, clock=lambda: 0.0)
    >>> record = logging.makeLogRecord({"msg": "An error"})
    >>> log_filter.filter(record), log_filter.filter(record)
    (True, False)
    """

    def __init__(self, max_per_minute: int = MAX_PER_MINUTE, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._max_per_minute, self._clock = max_per_minute, clock
        self._minute, self._count = -1, 0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and type(record.exc_info[1]).__name__ == ANSWERED_TOO_LATE:
            return False
        minute = int(self._clock() // 60)
        self._count = self._count + 1 if minute == self._minute else 1
        self._minute = minute
        return self._count <= self._max_per_minute


_FILTER = ServerLogFilter()


def limit_server_log() -> None:
    """Of all web servers of this process, which share a log."""
    logging.getLogger(SERVER_LOG).addFilter(_FILTER)
