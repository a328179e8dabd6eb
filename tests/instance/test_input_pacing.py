"""What one connection sends is handled in small pieces: others do not wait for all of it."""

import asyncio
import random
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pellucid.instance.input_pacing import (
    LONG_FRAME_BYTES,
    MAX_FRAMES,
    MAX_LINES,
    MIN_PIECE_BYTES,
    FrameScanner,
    PacedProtocol,
)
from pellucid.instance.server import HOST, Instance
from tests.instance.loopback import http, running
from tests.waiting import TIMEOUT_S

MASK = bytes([1, 2, 3, 4])
FLOOD = 40_000
FRAGMENT = bytes([0x00, 0x80]) + MASK
"""An empty one, of a message that goes on."""
PING = bytes([0x89, 0x80]) + MASK
HEAD = (
    b"GET /ws HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


class Inner(asyncio.Protocol):
    """Keeps what it receives. pause_after: how many pieces it wants."""

    def __init__(self, pause_after: int = 10**9) -> None:
        self.pieces: list[bytes] = []
        self.pause_after = pause_after
        self.transport: Any = None
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)
        if len(self.pieces) >= self.pause_after:
            self.transport.pause_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True


class Connection(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.is_paused = self.is_closed = False

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def is_closing(self) -> bool:
        return self.is_closed

    def abort(self) -> None:
        self.is_closed = True


def paced(scenario: Callable[[PacedProtocol, Inner, Connection], Awaitable[None]], inner: Inner) -> None:
    async def run() -> None:
        protocol, connection = PacedProtocol(inner), Connection()
        protocol.connection_made(connection)
        await scenario(protocol, inner, connection)

    asyncio.run(run())


async def others_have_turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def frame(length: int, is_masked: bool = True) -> bytes:
    mark = 0x80 if is_masked else 0
    header = bytes([0x82, mark | min(length, 126 if length < 2**16 else 127)]) if length > 125 else b""
    header = header + length.to_bytes(2 if length < 2**16 else 8, "big") if header else bytes([0x82, mark | length])
    return header + (MASK if is_masked else b"") + bytes(length)


@pytest.mark.parametrize("seed", range(5))
def test_frames_are_counted_however_they_come(seed: int) -> None:
    chance = random.Random(seed)
    lengths = [chance.choice([0, 1, 125, 126, 4095, 4096, 65535, 65536, 70000]) for _ in range(60)]
    data = b"".join(frame(length, chance.random() < 0.8) for length in lengths)
    scanner, at, counted = FrameScanner(), 0, 0
    while at < len(data):
        rest = memoryview(data)[at : at + chance.choice([1, 2, 3, 7, 100, 5000, 100_000])]
        length, count = scanner.scan(rest, 3)
        assert 0 < length <= len(rest) and count <= 3
        assert length == len(rest) or count == 3
        at, counted = at + length, counted + count
    assert counted == sum(length < LONG_FRAME_BYTES for length in lengths)


def test_a_body_in_tiny_chunks_is_handled_in_pieces() -> None:
    data = b"1\r\na\r\n" * FLOOD

    async def scenario(protocol: PacedProtocol, inner: Inner, connection: Connection) -> None:
        protocol.data_received(data)
        assert len(inner.pieces) == 1 and connection.is_paused
        pieces = len(data) // MIN_PIECE_BYTES + 1
        await others_have_turns(pieces // 2)
        assert len(inner.pieces) < pieces and connection.is_paused
        await others_have_turns(pieces)
        assert not connection.is_paused

    inner = Inner()
    paced(scenario, inner)
    assert b"".join(inner.pieces) == data
    assert max(map(len, inner.pieces)) == MIN_PIECE_BYTES


def test_lines_of_http_are_handled_in_pieces() -> None:
    data = (b"a" * 98 + b"\r\n") * 3 * MAX_LINES

    async def scenario(protocol: PacedProtocol, inner: Inner, connection: Connection) -> None:
        protocol.data_received(data)
        await others_have_turns(3)

    inner = Inner()
    paced(scenario, inner)
    assert inner.pieces == [data[: len(data) // 3]] * 3


def test_what_has_few_lines_is_passed_on_as_it_came() -> None:
    body = random.Random(1).randbytes(2**18)

    async def scenario(protocol: PacedProtocol, inner: Inner, connection: Connection) -> None:
        for data in (b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", body):
            protocol.data_received(data)
            assert inner.pieces[-1] is data and not connection.is_paused

    paced(scenario, Inner())


def test_long_frames_are_not_held_back() -> None:
    data = frame(LONG_FRAME_BYTES) * 2000  # As many would take seconds if they counted.
    pieces = [data[at : at + 2**20] for at in range(0, len(data), 2**20)]

    async def scenario(protocol: PacedProtocol, inner: Inner, connection: Connection) -> None:
        inner.transport.set_protocol(inner)
        for piece in pieces:
            protocol.data_received(piece)
            assert not connection.is_paused

    inner = Inner()
    paced(scenario, inner)
    assert inner.pieces == pieces


@pytest.mark.parametrize("at_once", [FLOOD, MAX_FRAMES, 1], ids=["at once", "in pieces", "one by one"])
def test_a_flood_of_frames_waits(at_once: int) -> None:
    async def scenario(protocol: PacedProtocol, inner: Inner, connection: Connection) -> None:
        inner.transport.set_protocol(inner)
        for _ in range(FLOOD // at_once):
            if connection.is_paused:
                break
            protocol.data_received(FRAGMENT * at_once)
        assert connection.is_paused
        await others_have_turns(500)
        assert 0 < len(b"".join(inner.pieces)) < FLOOD // 2 * len(FRAGMENT)
        assert max(map(len, inner.pieces)) <= MAX_FRAMES * len(FRAGMENT)

    paced(scenario, Inner())


def test_an_inner_protocol_that_pauses_receives_nothing_until_it_resumes() -> None:
    data = b"\r\n" * 10 * MIN_PIECE_BYTES

    async def scenario(protocol: PacedProtocol, inner: Inner, connection: Connection) -> None:
        protocol.data_received(data)
        await others_have_turns(20)
        assert len(inner.pieces) == 3 and connection.is_paused
        inner.pause_after = 10**9
        inner.transport.resume_reading()
        assert connection.is_paused  # The rest comes first.
        await others_have_turns(20)
        assert b"".join(inner.pieces) == data and not connection.is_paused

    paced(scenario, Inner(pause_after=3))


@pytest.mark.parametrize("how", ["abandoned", "lost", "closed"])
def test_the_rest_of_a_connection_that_ends_is_not_handled(how: str) -> None:
    async def scenario(protocol: PacedProtocol, inner: Inner, connection: Connection) -> None:
        protocol.data_received(b"\r\n" * 10 * MIN_PIECE_BYTES)
        if how == "abandoned":
            protocol.abandon()
        elif how == "lost":
            protocol.connection_lost(None)
        else:
            connection.is_closed = True
        await others_have_turns(20)
        assert len(inner.pieces) == 1
        assert connection.is_closed == (how != "lost") and inner.is_lost == (how == "lost")

    paced(scenario, Inner())


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    with running(None, tmp_path) as started:
        yield started


def test_the_owner_does_not_wait_for_a_flood_of_one_who_shows_no_access(instance: Instance) -> None:
    """The pings came first, and each is answered when it is handled: most of them are not yet."""
    with socket.create_connection((HOST, instance.port), timeout=TIMEOUT_S) as flood, http(instance) as owner:
        assert owner.get("/api/about").status_code == 200
        flood.sendall(HEAD)
        assert flood.recv(4096).startswith(b"HTTP/1.1 101")
        flood.sendall(PING * FLOOD)
        assert owner.get("/api/about").status_code == 200
        flood.setblocking(False)
        answered = 0
        while True:
            try:
                received = flood.recv(2**20)
            except BlockingIOError:
                break
            answered += len(received)
            if not received:  # It has not proved anything in time.
                break
        assert answered < FLOOD  # Of two bytes each.
