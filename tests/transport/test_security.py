"""Nobody comes in without the token, and nothing that strangers say does harm."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import pytest

from pellucid import progress
from pellucid.errors import InvalidInput, TokenRejected, TransferProtocolError, Unreachable, UnsupportedType
from pellucid.transport import acceptor
from pellucid.transport.address import Address, Certificate
from pellucid.transport.client import TransferOptions, send
from pellucid.transport.server import Listener
from pellucid.transport.wire.announcement import Announcement, ArrayInfo, announce
from pellucid.transport.wire.handshake import authenticate_client, prove
from pellucid.transport.wire.messages import Channel, Message, Timeout
from pellucid.transport.wire.pieces import parse_ranges
from tests.contracts.lanes import TOKEN, WAIT_S
from tests.transport.certificates import make_certificate

SMALL = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    with progress.use(progress.Silent()):
        yield


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener(token=TOKEN) as listener:
        yield listener


def test_over_tls(certificate: Certificate) -> None:
    with Listener(token=TOKEN, certificate=certificate) as listener:
        assert str(listener.address).startswith("tls://127.0.0.1:")
        array = np.arange(3 * 2**20, dtype=np.uint32)
        assert send(str(listener.address), array, token=TOKEN, options=TransferOptions("tcp")).lane == "tcp"
        assert (listener.receive(WAIT_S).array == array).all()


def test_another_certificate_is_not_talked_to(certificate: Certificate) -> None:
    with Listener(token=TOKEN, certificate=certificate) as listener:
        other = Address("127.0.0.1", listener.address.port, "0" * 64)
        with pytest.raises(Unreachable, match="certificate is not the pinned one"):
            send(str(other), SMALL, token=TOKEN, options=TransferOptions("tcp"))


def test_plain_text_to_tls_and_back(certificate: Certificate, listener: Listener) -> None:
    with pytest.raises(Unreachable, match="TLS failed"):
        send(f"tls://127.0.0.1:{listener.address.port}#{'0' * 64}", SMALL, token=TOKEN)


def test_the_token_is_never_on_the_wire(listener: Listener) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thief = Address("127.0.0.1", server.getsockname()[1])
        heard: list[bytes] = []

        def listen() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(Message("pellucid-transfer", {"version": "1", "nonce": "00"}).encoded())
                heard.append(connection.recv(65536))
                connection.sendall(Message("welcome", {"proof": "0" * 64, "lanes": "tcp"}).encoded())
                connection.recv(1)

        thread = threading.Thread(target=listen)
        thread.start()
        with pytest.raises(TokenRejected, match="rejected the token"):
            send(str(thief), SMALL, token=TOKEN)
        thread.join(WAIT_S)
    assert TOKEN.encode() not in heard[0]
    assert prove(TOKEN, "listen", ("00", "11")) != prove(TOKEN, "connect", ("00", "11"))


@pytest.mark.parametrize("kind", ["announce", "request"])
def test_a_token_that_is_revoked_while_a_connection_waits_gives_nothing(kind: str) -> None:
    """A connection that had shown it could still take voxels, or send some, up to a minute later."""
    tokens = [TOKEN]
    with (
        Listener(token=lambda: tokens) as listener,
        socket.create_connection((listener.address.host, listener.address.port), WAIT_S) as connection,
    ):
        channel = Channel(connection, Timeout(WAIT_S, threading.Event()))
        authenticate_client(channel, TOKEN, {"role": "control"})
        tokens.clear()
        channel.write(announce(SMALL.shape, SMALL.dtype, {}, ArrayInfo(), "none").message(kind, lane="tcp"))
        with pytest.raises(TokenRejected):
            channel.expect("ready", "announce")


@pytest.mark.parametrize(
    "noise",
    [
        b"GET / HTTP/1.1\r\nHost: pellucid\r\n\r\n",
        b"PLT1" + struct.pack("<II", 2**31, 2**31),
        Message("announce", {"shape": "1"}).encoded(),
        Message("open", {"nonce": "é" * 10, "proof": "é"}).encoded(),
        b"",
    ],
    ids=["HTTP", "too long", "no introduction", "no proof", "silence"],
)
def test_strangers_are_let_go(noise: bytes, listener: Listener) -> None:
    with socket.create_connection(("127.0.0.1", listener.address.port)) as connection:
        connection.settimeout(WAIT_S)
        with suppress(OSError):  # It was let go before it had finished.
            connection.sendall(noise)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
    send(str(listener.address), SMALL, token=TOKEN)
    assert (listener.receive(WAIT_S).array == SMALL).all()


def test_a_stranger_who_trickles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceptor, "HANDSHAKE_S", 0.3)
    with (
        Listener(token=TOKEN) as listener,
        socket.create_connection(("127.0.0.1", listener.address.port)) as connection,
    ):
        connection.settimeout(0.05)
        connection.recv(65536)  # the greeting
        with pytest.raises((ConnectionError, EOFError)):
            for _ in range(400):
                connection.sendall(b"P")
                with suppress(TimeoutError):
                    if not connection.recv(1):
                        raise EOFError


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"shape": "-1 4"}, "not whole numbers"),
        ({"shape": "1 1 1 1 1 1 1 1 1"}, "it announced shape"),
        ({"dtype": "|O"}, "of type '|O'"),
        ({"checksum": "md5"}, "unknown checksum"),
        ({"transfer": "../../etc"}, "no transfer number"),
        ({"spacing": "wide"}, "not a valid spacing"),
    ],
)
def test_announcements_that_make_no_sense(fields: dict[str, str], fault: str) -> None:
    good = announce((2, 3, 4), "uint8", {}, ArrayInfo("a"), "xxh3").message()
    with pytest.raises(TransferProtocolError, match=fault.replace("|", r"\|")):
        Announcement.read(Message(good.kind, {**good.fields, **fields}, good.body))


def test_an_announcement_survives_the_wire() -> None:
    text = announce((2, 3, 4), ">f4", {"a": [1, None]}, ArrayInfo("a\nb", (0.1, 2.0, 3.0), "mm"), "none", "stream")
    encoded = text.message(lane="tcp").encoded()
    read = Announcement.read(Message.decoded(encoded[12 : 12 + struct.unpack_from("<I", encoded, 4)[0]], b'{"a": 1}'))
    assert (read.shape, read.dtype.str, read.checksum, read.mode) == ((2, 3, 4), "<f4", "none", "stream")
    assert read.label == ArrayInfo("a b", (0.1, 2.0, 3.0), "mm")
    assert read.transfer == text.transfer


@pytest.mark.parametrize("text", ["1-0", "0-6", "a", "0-1-2", "-1-2"])
def test_pieces_that_do_not_exist(text: str) -> None:
    with pytest.raises(TransferProtocolError, match="not pieces of this transfer"):
        parse_ranges(text, 6)


def test_what_cannot_be_sent(listener: Listener) -> None:
    with pytest.raises(UnsupportedType, match="does not support voxels of type"):
        send(str(listener.address), np.array(["a"]), token=TOKEN)
    with pytest.raises(InvalidInput, match="shorter than 8"):
        send(str(listener.address), SMALL, token="short")
    with pytest.raises(InvalidInput, match="Unknown lane 'pigeon'"):
        send(str(listener.address), SMALL, token=TOKEN, options=TransferOptions("pigeon"))
    with pytest.raises(InvalidInput, match="Invalid address"):
        send("nowhere", SMALL, token=TOKEN)


def test_a_port_that_is_taken(listener: Listener) -> None:
    with pytest.raises(InvalidInput, match="Address already in use"):
        Listener(str(listener.address), token=TOKEN)
