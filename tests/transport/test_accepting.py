"""A server without free descriptors goes on, and says so once a minute."""

import asyncio
import errno
import logging
import os
import socket
from typing import Any

import pytest

from pellucid.transport import async_acceptor
from pellucid.transport.async_acceptor import LOG_EVERY_S, AsyncAcceptor, LimitedLog
from pellucid.transport.connections import ConnectionRegistry
from tests.waiting import TIMEOUT_S

FAILURES = 200


class WithoutDescriptors(socket.socket):
    """A listener that cannot accept anything at first."""

    failures = 0

    def accept(self) -> tuple[socket.socket, Any]:
        if self.failures < FAILURES:
            self.failures += 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().accept()


def test_a_server_without_descriptors_logs_once_closes_the_oldest_and_goes_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(async_acceptor, "RETRY_S", 0.0)
    registry, closed = ConnectionRegistry(), list[str]()
    registry.add("idle", lambda: closed.append("idle"))

    async def meet() -> None:
        served = asyncio.Event()

        async def serve(connection: socket.socket, _: Any) -> None:
            connection.close()
            served.set()

        with WithoutDescriptors() as listener, socket.socket() as client:
            listener.bind(("127.0.0.1", 0))
            acceptor = AsyncAcceptor(registry, serve, logging.getLogger("test"))
            acceptor.start(listener)
            client.connect(listener.getsockname())
            await asyncio.wait_for(served.wait(), TIMEOUT_S)
            await acceptor.close()
            assert listener.failures == FAILURES

    asyncio.run(meet())
    assert closed == ["idle"]
    assert [record.getMessage() for record in caplog.records if record.name == "test"] == [
        "A connection could not be accepted: [Errno 24] Too many open files"
    ]


def test_a_warning_is_written_again_after_a_minute() -> None:
    now = [0.0]
    log = LimitedLog(logging.getLogger("test"), clock=lambda: now[0])
    written = []
    for now[0] in (0.0, 1.0, LOG_EVERY_S - 1, LOG_EVERY_S, LOG_EVERY_S + 1):
        written.append(log.warning("Too many open files"))
    assert written == [True, False, False, True, False]
