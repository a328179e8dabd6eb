"""A server without free descriptors goes on, and says so once a minute."""

import asyncio
import errno
import logging
import os
import socket
from contextlib import ExitStack
from typing import Any

import pytest

from pellucid.transport import async_acceptor
from pellucid.transport.async_acceptor import LOG_EVERY_S, AsyncAcceptor, LimitedLog
from pellucid.transport.connections import ConnectionRegistry
from pellucid.transport.peer_user import Peer
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


MANY = 300


def test_a_connection_does_not_queue_behind_those_of_another_user() -> None:
    served: list[int] = []

    async def meet() -> None:
        is_served = asyncio.Event()

        async def serve(connection: socket.socket, address: Any) -> None:
            with connection:
                served.append(address[1])
            if address[1] == last:
                is_served.set()

        with ExitStack() as opened:
            listener = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=2 * MANY))
            clients = [opened.enter_context(socket.create_connection(listener.getsockname())) for _ in range(MANY)]
            last = clients[-1].getsockname()[1]
            peer = lambda connection: Peer(int(connection.getpeername()[1] == last))  # noqa: E731
            acceptor = AsyncAcceptor(ConnectionRegistry(), serve, logging.getLogger("test"), peer)
            acceptor.start(listener)
            await asyncio.wait_for(is_served.wait(), TIMEOUT_S)
            await acceptor.close()

    asyncio.run(meet())
    assert len(served) < MANY / 10


def test_connections_of_one_user_beyond_a_limit_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(async_acceptor, "BACKLOG", 5)

    async def meet() -> None:
        async def serve(connection: socket.socket, _: Any) -> None:
            connection.close()

        acceptor = AsyncAcceptor(ConnectionRegistry(), serve, logging.getLogger("test"))
        pairs = [socket.socketpair() for _ in range(8)]
        for index, (ours, _) in enumerate(pairs):
            acceptor._queue(ours, index)
        assert [ours.fileno() < 0 for ours, _ in pairs] == [False] * 5 + [True] * 3
        await acceptor.close()
        assert all(ours.fileno() < 0 for ours, _ in pairs)
        for _, theirs in pairs:
            theirs.close()

    asyncio.run(meet())


def test_a_warning_is_written_again_after_a_minute() -> None:
    now = [0.0]
    log = LimitedLog(logging.getLogger("test"), clock=lambda: now[0])
    written = []
    for now[0] in (0.0, 1.0, LOG_EVERY_S - 1, LOG_EVERY_S, LOG_EVERY_S + 1):
        written.append(log.warning("Too many open files"))
    assert written == [True, False, False, True, False]
