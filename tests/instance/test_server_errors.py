"""What another user of the machine can have the web server write into a log."""

import logging
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pellucid.instance.server_errors import MAX_PER_MINUTE, SERVER_LOG, ServerLogFilter
from tests.instance.loopback import running
from tests.waiting import TIMEOUT_S

PIPELINED = b"GET /api/about HTTP/1.1\r\nHost: viewer\r\nConnection: close\r\n\r\n" * 300
"""Only the first is answered."""


class Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record)


@pytest.fixture
def written() -> Iterator[list[logging.LogRecord]]:
    """What the web server logs."""
    records = Records()
    logging.getLogger(SERVER_LOG).addHandler(records)
    yield records.found
    logging.getLogger(SERVER_LOG).removeHandler(records)


def test_requests_after_the_last_one_write_nothing(tmp_path: Path, written: list[logging.LogRecord]) -> None:
    with running(None, tmp_path) as instance:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", instance.port), timeout=TIMEOUT_S) as connection:
                connection.sendall(PIPELINED)
                assert connection.recv(4096).startswith(b"HTTP/1.1 4")
                with suppress(ConnectionResetError):
                    while connection.recv(4096):
                        pass
    assert [record.getMessage() for record in written] == []


def test_of_other_errors_so_many_per_minute_are_logged() -> None:
    now = 30.0
    log_filter = ServerLogFilter(clock=lambda: now)
    record = logging.makeLogRecord({"msg": "An error"})
    assert sum(log_filter.filter(record) for _ in range(1000)) == MAX_PER_MINUTE
    now += 60
    assert sum(log_filter.filter(record) for _ in range(1000)) == MAX_PER_MINUTE
