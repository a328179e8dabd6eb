"""Conversations through web servers: frames, refusals, TLS, and who may ask."""

import asyncio
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side, State
from websockets.server import ServerProtocol

from pellucid import progress
from pellucid.errors import InvalidInput, TokenRejected, TransferInterrupted, TransferProtocolError, Unreachable
from pellucid.transport.client import TransferOptions, send, stream
from pellucid.transport.lane_check import LaneTestHost, check_lanes
from pellucid.transport.server import Listener
from pellucid.transport.tunnel.frames import BINARY, CLOSE, PING, PONG, FrameReader, FrameWriter, small_frame
from pellucid.transport.tunnel.tunnel import connect_through, relay
from pellucid.transport.tunnel.upgrade import WebAddress
from tests.contracts.lanes import SMALL, TOKEN, WAIT_S
from tests.transport.certificates import make_certificate
from tests.transport.web import Front, web_front


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    with progress.use(progress.Silent()):
        yield


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    with web_front(TOKEN) as front:
        yield front


@contextmanager
def web_server(answer: bytes, context: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """Answers one request with these bytes, and remembers what it was asked; its port."""
    request: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            accepted, _ = server.accept()
            with accepted if context is None else context.wrap_socket(accepted, server_side=True) as connection:
                request.append(connection.recv(65536))
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], request
        thread.join(WAIT_S)


# Frames


@pytest.mark.parametrize("count", [0, 1, 5, 125, 126, 127, 65535, 65536, 100_001])
def test_a_server_understands_our_frames(count: int) -> None:
    content = os.urandom(count)
    writer = FrameWriter()
    writer.room[:count] = content
    read = _read_by_server(bytes(writer.frame(BINARY, count)))
    assert (read.opcode, bytes(read.data)) == (Opcode.BINARY, content)


def _read_by_server(encoded: bytes) -> Frame:
    server = Protocol(Side.SERVER, state=State.OPEN)
    server.receive_data(encoded)
    if server.parser_exc is not None:
        raise server.parser_exc
    (frame,) = server.events_received()
    assert isinstance(frame, Frame)
    return frame


def test_a_server_understands_our_answers() -> None:
    assert bytes(_read_by_server(small_frame(PONG, b"12345")).data) == b"12345"
    assert _read_by_server(small_frame(CLOSE)).opcode is Opcode.CLOSE


@pytest.mark.parametrize("step", [1, 2, 3, 7, 4096, 10**6])
def test_frames_of_a_server_may_be_cut_anywhere(step: int) -> None:
    contents = [os.urandom(count) for count in (3, 125, 126, 70_000)]
    frames = [Frame(Opcode.BINARY, content).serialize(mask=False) for content in contents]
    frames.insert(2, Frame(Opcode.PING, b"are you there").serialize(mask=False))
    frames.insert(3, Frame(Opcode.PONG, b"").serialize(mask=False))
    frames.append(Frame(Opcode.CLOSE, b"\x03\xe8").serialize(mask=False))
    sent, reader = memoryview(b"".join(frames)), FrameReader()
    heard = [each for start in range(0, len(sent), step) for each in reader.feed(sent[start : start + step])]
    assert b"".join(part for kind, part in heard if kind == BINARY) == b"".join(contents)
    notes = [(kind, bytes(part)) for kind, part in heard if kind != BINARY]
    assert notes == [(PING, b"are you there"), (PONG, b""), (CLOSE, b"\x03\xe8")]


@pytest.mark.parametrize(
    "frame", [b"\x82\x80", b"\x81\x01a", b"\x89\x7e\x00\x80"], ids=["masked", "text", "a long ping"]
)
def test_frames_that_are_none_of_ours(frame: bytes) -> None:
    with pytest.raises(TransferProtocolError, match="sent an invalid frame"):
        list(FrameReader().feed(memoryview(frame)))


# Asking for a connection


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://node7:8080/?token=secret", "http://node7:8080"),
        ("https://hub.example.org/user/ada/i/0123456789/", "https://hub.example.org/user/ada/i/0123456789"),
        (f"https://[::1]:8443/i/0#{'0' * 64}", f"https://[::1]:8443/i/0#{'0' * 64}"),
    ],
)
def test_web_addresses(text: str, shown: str) -> None:
    assert str(WebAddress.parse(text)) == shown


@pytest.mark.parametrize(
    "text", ["http://", "https://a:99999/", "https://a/b c", "https://a/\r\nHost: b", "http://:80/"]
)
def test_what_is_no_web_address(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a valid web address"):
        send(text, SMALL, token=TOKEN)


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", TokenRejected, "rejected the token"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", Unreachable, "status 502"),
        (b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: no\r\n\r\n", Unreachable, "status 101"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", Unreachable, "status 0"),
        (b"", Unreachable, "web server did not respond"),
    ],
)
def test_a_web_server_that_does_not_hand_through(answer: bytes, error: type[Exception], says: str) -> None:
    with web_server(answer) as (port, request), pytest.raises(error, match=says):
        send(
            f"http://127.0.0.1:{port}/i/0",
            SMALL,
            token=TOKEN,
            options=TransferOptions(bearer="the Hub's own", has_proof=False),
        )
    assert request[0].startswith(b"GET /i/0/transfer HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nAuthorization: Bearer the Hub's own\r\n" in request[0] and TOKEN.encode() not in request[0]


@pytest.mark.parametrize(
    ("proof", "error"), [("0123", Unreachable), ("", TokenRejected)], ids=["another program", "another viewer"]
)
def test_a_web_server_gets_no_token_before_it_has_proved_that_it_holds_it(proof: str, error: type[Exception]) -> None:
    body = b'{"proof": "%s"}' % proof.encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with web_server(answer) as (port, received), pytest.raises(error):
        send(f"http://127.0.0.1:{port}/i/0", SMALL, token=TOKEN, options=TransferOptions(attempts=1))
    assert received[0].startswith(b"POST /i/0/api/prove HTTP/1.1\r\n") and TOKEN.encode() not in received[0]


def test_only_the_pinned_certificate_is_believed(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    refusal = b"HTTP/1.1 403 Forbidden\r\n\r\n"
    with web_server(refusal, certificate.context()) as (port, _), pytest.raises(TokenRejected):
        send(f"https://127.0.0.1:{port}/#{certificate.pin}", SMALL, token=TOKEN)


def test_a_certificate_that_nobody_vouches_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            accepted, _ = server.accept()
            with accepted, pytest.raises(ssl.SSLError):
                make_certificate(tmp_path).context().wrap_socket(accepted, server_side=True)

        thread = threading.Thread(target=refuse)
        thread.start()
        with pytest.raises(Unreachable, match="TLS failed"):
            send(f"https://127.0.0.1:{server.getsockname()[1]}/", SMALL, token=TOKEN)
        thread.join(WAIT_S)


# Moving bytes


def test_a_ping_is_answered_while_nothing_else_is_said() -> None:
    server = ServerProtocol()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = WebAddress.parse(f"http://127.0.0.1:{listening.getsockname()[1]}")
        near: list[socket.socket] = []
        calling = threading.Thread(target=lambda: near.append(connect_through(address, TOKEN, WAIT_S, has_proof=False)))
        calling.start()
        connection, _ = listening.accept()
        with connection:
            connection.settimeout(WAIT_S)
            server.receive_data(connection.recv(65536))
            server.send_response(server.accept(server.events_received()[0]))  # type: ignore[arg-type]
            server.send_ping(b"are you there")
            for part in server.data_to_send():
                connection.sendall(part)
            server.receive_data(connection.recv(65536))
            (pong,) = server.events_received()
            calling.join(WAIT_S)
            near[0].close()
            assert isinstance(pong, Frame) and (pong.opcode, bytes(pong.data)) == (Opcode.PONG, b"are you there")
            server.receive_data(connection.recv(65536))
            (end,) = server.events_received()
            assert isinstance(end, Frame) and end.opcode is Opcode.CLOSE


def test_what_was_said_last_still_arrives() -> None:
    """A listener that refuses and closes, while the caller goes on sending."""
    heard: list[bytes] = []

    async def run() -> None:
        near, far = socket.socketpair()
        far.sendall(b"refused")
        far.close()
        calls = iter([b"more"] * 3)

        async def receive() -> bytes | None:
            return next(calls, None) or await asyncio.get_running_loop().create_future()

        async def keep(content: bytes) -> None:
            heard.append(content)

        await asyncio.wait_for(relay(near, receive, keep), WAIT_S)

    asyncio.run(run())
    assert heard == [b"refused"]


def test_a_stream_through_a_web_server(front: Front) -> None:
    made = np.arange(6 * 200 * 300, dtype=np.uint32).reshape(6, 200, 300)
    with Listener(token=TOKEN) as front.listener:
        with stream(front.address, made.shape, made.dtype, token=TOKEN) as writer:
            for slice_ in made:
                writer.append(slice_)
        assert writer.lane == "proxy"
        assert (front.listener.receive(WAIT_S).array == made).all()


def test_lanes_do_not_lead_where_they_do_not(front: Front) -> None:
    with Listener(token=TOKEN) as front.listener:
        with pytest.raises(InvalidInput, match=r"The lane tcp is not available to http.*Use one of: proxy"):
            send(front.address, SMALL, token=TOKEN, options=TransferOptions("tcp"))
        with pytest.raises(InvalidInput, match="The lane proxy is not available to 127"):
            send(str(front.listener.address), SMALL, token=TOKEN, options=TransferOptions("proxy"))


def test_its_rate_is_measured(front: Front) -> None:
    with Listener(token=TOKEN, host=LaneTestHost(2**20)) as front.listener:
        (found,) = check_lanes(front.address, TOKEN, 2**20)
    assert (found.lane, found.fault) == ("proxy", "")
    assert found.send_rate > 0 and found.retrieve_rate > 0


def test_a_web_server_whose_listener_has_ended(front: Front) -> None:
    with Listener(token=TOKEN) as front.listener:
        pass
    with pytest.raises(TransferInterrupted, match="closed the connection"):
        send(front.address, SMALL, token=TOKEN, options=TransferOptions(attempts=1))
