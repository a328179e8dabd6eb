"""The C API against ends that mean ill: each is refused in words, and nothing is touched that is not ours."""

import json
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from pellucid.jobs.process_identity import ProcessId
from pellucid.transport.wire.handshake import authenticate_server
from pellucid.transport.wire.messages import Channel, Message, Timeout
from tests.clients.programs import run
from tests.contracts.lanes import TOKEN

HUGE = 2**63 - 1
OK = b"HTTP/1.1 200 OK\r\n"
ABOUT = b'{"version": 4, "transfer": "", "socket": ""}'
ANSWERS = {
    "nothing": b"",
    "no HTTP": b"\x00" * 4096,
    "no end of the head": OK + b"X: y\r\n" * 50,
    "a head without end": OK + b"X: y\r\n" * 5000,
    "a line without end": OK + b"X" * 100_000,
    "a length that is none": OK + b"Content-Length: 12ab\r\n\r\n",
    "more than there is": OK + b"Content-Length: %d\r\n\r\n{}" % HUGE,
    "less than it says": OK + b"Content-Length: 100\r\n\r\n" + ABOUT,
    "chunks of no size": OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a chunk that is too large": OK + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\nabc",
    "chunks without end": OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
    "no JSON": OK + b"\r\n" + b"[" * 10_000,
    "half a text": OK + b'\r\n{"version": 4, "transfer": "\\u12',
    "another version": OK + b'\r\n{"version": 7}',
    "a long address": OK
    + b'\r\n{"version": 99, "transfer": "'
    + b"a" * 10_000
    + b'", "socket": "'
    + b"b" * 10_000
    + b'"}',
    "a refusal that is none": b'HTTP/1.1 403 No\r\n\r\n{"what": {"what": 1}, "remedy": []}',
    "a long refusal": b'HTTP/1.1 400 No\r\n\r\n{"kind": "InvalidInput", "what": "'
    + b"a" * 5000
    + b'", "remedy": "\\ud800"}',
    "somewhere else": b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
}


@contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port, at which every connection is served so."""
    acceptor = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = acceptor.accept()
                with connection, suppress(Exception):
                    serve(connection)

    thread = Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield acceptor.getsockname()[1]
    finally:
        acceptor.shutdown(socket.SHUT_RDWR)
        acceptor.close()
        thread.join()


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=list(ANSWERS))
def test_somebody_who_is_no_viewer(answer: bytes, build: Path) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)

    with listening(serve) as port:
        words = run(build / "viewer-sanitized", f"http://127.0.0.1:{port}/#share={TOKEN.replace(' ', '-')}", "-")
    assert words[0] == "connect:" and words[1] != "ok" and len(" ".join(words)) > 30


def ready(**fields: object) -> Callable[[Channel], None]:
    """A receiving end that answers an announcement so, whatever it was."""

    def serve(channel: Channel) -> None:
        authenticate_server(channel, [TOKEN], {"lanes": "shm tcp ucx", "machine": "", "local": ""})
        channel.expect("announce", "request")
        channel.write(Message("ready", {key: str(value) for key, value in fields.items()}))
        channel.expect("refused")

    return serve


def announced(**fields: object) -> Callable[[Channel], None]:
    """A sending end that announces so what it was asked for."""
    whole = {
        "lane": "tcp",
        "dtype": "<u4",
        "checksum": "xxh3",
        "mode": "whole",
        "shape": "4",
        "spacing": "",
        "name": "",
    }

    def serve(channel: Channel) -> None:
        authenticate_server(channel, [TOKEN], {"lanes": "shm tcp", "machine": "", "local": ""})
        request = channel.expect("request")
        text = {**whole, "transfer": request.get("transfer"), **{key: str(value) for key, value in fields.items()}}
        channel.write(Message("announce", text))
        channel.expect("ready", "refused")

    return serve


RECEIVERS = {
    "pieces of nothing": ready(piece=0, missing="0-0", streams=1),
    "pieces of a byte": ready(piece=1, missing="0-0", streams=1),
    "pieces that are too large": ready(piece=2**40, missing="0-0", streams=1),
    "pieces that do not exist": ready(piece=2**22, missing="0-99", streams=1),
    "pieces twice": ready(piece=2**22, missing="0-3 0-3", streams=1),
    "a number without end": ready(piece="9" * 1000, missing="0-0", streams=1),
    "no connection": ready(piece=2**22, missing="0-0", streams=0),
    "nothing at all": ready(),
}
SENDERS = {
    "more than is taken": announced(shape="1000000 1000000 1000000"),
    "more than can be counted": announced(shape=f"{HUGE} {HUGE}"),
    "too many axes": announced(shape="1 1 1 1 1 1 1 1 1"),
    "a type that is none": announced(dtype="|O"),
    "no shape": announced(shape="four"),
    "another transfer": announced(transfer="0" * 32),
}


def behind_the_door(serve: Callable[[Channel], None]) -> Callable[[socket.socket], None]:
    return lambda connection: serve(Channel(connection, Timeout(5.0)))


@pytest.mark.parametrize("serve", RECEIVERS.values(), ids=list(RECEIVERS))
def test_a_receiving_end_that_wants_nonsense(serve: Callable[[Channel], None], build: Path) -> None:
    with listening(behind_the_door(serve)) as port:
        assert run(build / "peer-sanitized", "send", f"127.0.0.1:{port}", TOKEN, "tcp")[:2] == ["failed", "protocol"]


@pytest.mark.parametrize("serve", SENDERS.values(), ids=list(SENDERS))
def test_a_sending_end_that_announces_nonsense(serve: Callable[[Channel], None], build: Path) -> None:
    with listening(behind_the_door(serve)) as port:
        words = run(build / "peer-sanitized", "retrieve", f"127.0.0.1:{port}", TOKEN, "tcp")
    assert words[0] == "failed" and words[1] in ("protocol", "too")


WEB = {
    "nothing": b"",
    "no HTTP": b"\x00" * 4096,
    "another answer": b"HTTP/1.1 200 OK\r\n\r\n",
    "a line without end": b"HTTP/1.1 101 " + b"x" * 100_000,
    "a head without end": b"HTTP/1.1 101 Go\r\n" + b"X: y\r\n" * 1000,
    "no frames": b"HTTP/1.1 101 Go\r\n\r\n" + b"\xff" * 4096,
    "no messages": b"HTTP/1.1 101 Go\r\n\r\n" + b"\x82\x7e\x10\x00" + b"x" * 4096,
    "the end": b"HTTP/1.1 101 Go\r\n\r\n\x88\x00",
}


@pytest.mark.parametrize("answer", WEB.values(), ids=list(WEB))
def test_a_web_server_that_hands_nothing_through(answer: bytes, build: Path) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)

    with listening(serve) as port:
        words = run(build / "peer-sanitized", "send", f"http://127.0.0.1:{port}/a", TOKEN.replace(" ", "-"), "proxy")
    assert words[0] == "failed" and words[1] in ("broken", "protocol", "unreachable")


def test_a_message_that_is_too_long(build: Path) -> None:
    def serve(connection: socket.socket) -> None:
        connection.sendall(struct.pack("<4sII", b"PLT1", 2**32 - 1, 2**32 - 1))
        connection.recv(1)

    with listening(serve) as port:
        words = run(build / "peer-sanitized", "send", f"127.0.0.1:{port}", TOKEN, "tcp")
    assert words[:2] == ["failed", "protocol"]


def test_somebody_who_took_over_the_port(build: Path) -> None:
    """He learns nothing that opens anything, and gets no voxel."""
    heard: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        channel = Channel(connection, Timeout(5.0))
        authenticate_server(channel, ["another token that is long"], {"lanes": "tcp", "machine": "", "local": ""})
        heard.append(connection.recv(65536))

    with listening(serve) as port:
        words = run(build / "peer-sanitized", "send", f"127.0.0.1:{port}", TOKEN, "tcp")
    assert words[:2] == ["failed", "token"] and heard == []


WRONG_PROOFS = {
    "no proof": OK + b"Content-Length: 2\r\n\r\n{}",
    "an empty proof": OK + b'Content-Length: 13\r\n\r\n{"proof": ""}',
    "a wrong proof": OK + b'Content-Length: 77\r\n\r\n{"proof": "' + b"0" * 64 + b'"}',
    "a long proof": OK + b'\r\n{"proof": "' + b"0" * 10_000 + b'"}',
    "another page": b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    "the description of a viewer": OK + b"Content-Length: %d\r\n\r\n" % len(ABOUT) + ABOUT,
}
SECRET = TOKEN.replace(" ", "-")


@contextmanager
def recording(answer: bytes) -> Iterator[tuple[int, bytearray]]:
    """A server that answers every request so, and everything that it received."""
    received = bytearray()

    def serve(connection: socket.socket) -> None:
        while content := connection.recv(65536):
            received.extend(content)
            connection.sendall(answer)

    with listening(serve) as port:
        yield port, received


@pytest.mark.parametrize("answer", WRONG_PROOFS.values(), ids=list(WRONG_PROOFS))
@pytest.mark.parametrize("link", [f"share={SECRET}", f"code=public.{SECRET}"])
def test_a_server_that_took_over_the_port_gets_no_link(link: str, answer: bytes, build: Path) -> None:
    with recording(answer) as (port, received):
        words = run(build / "viewer-sanitized", f"http://127.0.0.1:{port}/#{link}", "-")
    assert words[0] == "connect:" and words[1] != "ok"
    assert received.startswith(b"POST /api/prove ") and SECRET.encode() not in received


@pytest.mark.parametrize("answer", WRONG_PROOFS.values(), ids=list(WRONG_PROOFS))
def test_a_web_server_that_took_over_the_port_gets_no_token(answer: bytes, build: Path) -> None:
    with recording(answer) as (port, received):
        words = run(build / "peer-sanitized", "send", f"http://127.0.0.1:{port}/a", SECRET, "proxy")
    assert words[0] == "failed"
    assert received.startswith(b"POST /a/api/prove ") and SECRET.encode() not in received


def test_a_server_that_took_over_the_port_of_the_agent_gets_no_token(
    build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PELLUCID_STATE_FOLDER", str(tmp_path))
    record = tmp_path / "agent" / "agent.json"
    record.parent.mkdir()
    with recording(WRONG_PROOFS["a wrong proof"]) as (port, received):
        text = {"process": str(ProcessId.this()), "url": f"http://127.0.0.1:{port}/", "token": SECRET}
        record.write_text(json.dumps(text))
        words = run(build / "viewer-sanitized", "start", "-", "/nowhere/python")
    assert words[0] == "start:" and "another program responds at this address" in " ".join(words)
    assert received.startswith(b"POST /api/prove ") and SECRET.encode() not in received
