"""The door: bytes go through whole in both directions, however slow an end is; what is no request goes nowhere."""

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pellucid.agent.jobs.certificate import make_certificate
from pellucid.agent.jobs.records import ViewerAddress
from pellucid.agent.proxy.request_head import RequestHead
from pellucid.agent.proxy.server import MAX_WAITING, ClientEnd, ReverseProxy, ViewerEnd
from pellucid.instance.access.loopback import listen_on_loopback
from pellucid.transport.connections import ConnectionRegistry, raise_descriptor_limit
from tests.waiting import TIMEOUT_S

ID = "0123456789"
HEAD = f"GET /i/{ID}/ws HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n".encode()
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A viewer that says what it heard: first the head, then everything."""
    writer.write(await reader.readuntil(b"\r\n\r\n"))
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


def through_the_door(talk: Talk, folder: Path, is_secured: bool = False, other: bool = False) -> None:
    """Talk to an echo behind a door. other: the door is told of another certificate than that of the echo."""

    async def meet() -> None:
        certificate = make_certificate(folder) if is_secured else None
        context = None if certificate is None else certificate.context()
        server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=context)
        pem = "" if certificate is None else certificate.certificate.read_text()
        pem = make_certificate(folder).certificate.read_text() if other else pem
        address = ViewerAddress("127.0.0.1", server.sockets[0].getsockname()[1], "", pem)

        async def find(id: str) -> ViewerAddress | None:
            return address if id == ID else None

        acceptor = ReverseProxy(str(folder / "nobody"), find)
        port = int(urlsplit(await acceptor.open(listen_on_loopback(0), "127.0.0.1")).port or 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.wait_for(talk(reader, writer), TIMEOUT_S)
        writer.close()
        await acceptor.close()
        server.close()

    asyncio.run(meet())


@pytest.mark.parametrize("is_secured", [False, True], ids=["plain", "tls"])
def test_many_bytes_come_back_as_they_went(is_secured: bool, tmp_path: Path) -> None:
    sent = os.urandom(8 * 2**20)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + sent[:1000])  # What comes with the head belongs to what follows it.
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /ws HTTP/1.1\r\nHost: here\r\n")
        writer.write(sent[1000:])
        # Nothing is taken until all of it is on its way: both ends have to be held back, and nothing may be lost.
        draining = asyncio.ensure_future(writer.drain())
        came = await reader.readexactly(len(sent))
        await draining
        assert hashlib.sha256(came).digest() == hashlib.sha256(sent).digest()

    through_the_door(talk, tmp_path, is_secured)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"GET /i/9999999999/ HTTP/1.1\r\n\r\n", b"404"),
        (b"GET / HTTP/1.1\r\n\r\n", b"502"),
        (b"\x16\x03\x01 hello \r\n\r\n", b"400"),
        (b"GET http://elsewhere/ HTTP/1.1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 70_000, b"431"),
    ],
)
def test_what_leads_nowhere_is_told_so(text: bytes, status: bytes, tmp_path: Path) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(text)
        assert (await reader.readline()).split()[1] == status

    through_the_door(talk, tmp_path)


def test_nobody_with_another_certificate_is_talked_to(tmp_path: Path) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        assert (await reader.readline()).split()[1] == b"502"

    through_the_door(talk, tmp_path, is_secured=True, other=True)


class Unread(asyncio.Transport):
    """A connection whose other end reads nothing."""

    is_aborted = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 1

    def resume_reading(self) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None:
        self.is_aborted = True


def test_answers_that_are_not_read_when_the_viewer_is_gone_are_limited() -> None:
    async def lead(entrance: ClientEnd, head: RequestHead, rest: bytes) -> None: ...

    async def meet() -> None:
        registry, unread = ConnectionRegistry(max_waiting=2), [Unread() for _ in range(5)]
        for transport in unread:
            entrance = ClientEnd(lead, registry)
            entrance.connection_made(transport)
            entrance.join(viewer := ViewerEnd(entrance))
            viewer.connection_lost(None)
        assert [one.is_aborted for one in unread] == [True, True, True, False, False]

    asyncio.run(meet())


def test_idle_connections_keep_nobody_out(tmp_path: Path) -> None:
    async def meet() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        address = ViewerAddress("127.0.0.1", server.sockets[0].getsockname()[1], "", "")

        async def find(id: str) -> ViewerAddress | None:
            return address

        acceptor = ReverseProxy(str(tmp_path / "nobody"), find)
        port = int(urlsplit(await acceptor.open(listen_on_loopback(0), "127.0.0.1")).port or 0)
        served_reader, served = await asyncio.open_connection("127.0.0.1", port)
        served.write(HEAD)
        await served_reader.readuntil(b"\r\n\r\n")
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MAX_WAITING + 200)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD + b"hello")
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(5) == b"hello"
        for closed, _ in idle[:200]:
            with suppress(ConnectionResetError):
                assert await closed.read() == b""
        served.write(b"still here")  # One that was led to a viewer stays.
        assert await served_reader.readexactly(10) == b"still here"
        for _, one in (*idle, (reader, writer), (served_reader, served)):
            one.transport.abort()
        await acceptor.close()
        server.close()

    raise_descriptor_limit()
    asyncio.run(asyncio.wait_for(meet(), TIMEOUT_S))
