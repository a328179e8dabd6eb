"""A viewer with many connections of others: its owner gets in, and what says nothing is let go."""

import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from pellucid.instance.access.sessions import AccessChannel, Grant
from pellucid.instance.protocol.shared_types import MAX_CLIENTS, RESERVED_FOR_OWNER, VERSION, Capability
from pellucid.instance.server import HOST, Instance
from pellucid.instance.session import SessionOptions
from pellucid.instance.websocket import connection
from pellucid.transport.connections import MAX_GUESTS, MAX_WAITING, raise_descriptor_limit
from tests.instance.loopback import Page, address, begun, http, open_page, proved, running, secret, served
from tests.transport.certificates import make_certificate
from tests.waiting import TIMEOUT_S

IDLE = 1200


@contextmanager
def lines(instance: Instance, count: int, text: bytes = b"", is_local: bool = False) -> Iterator[list[socket.socket]]:
    """Connections that say this, and no more. is_local: by the Unix socket, as an agent connects."""
    raise_descriptor_limit()
    if is_local:
        with http(instance) as client:  # The Unix socket is there when the server runs.
            assert client.get("/api/scene").status_code == 200
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            line = stack.enter_context(socket.socket(socket.AF_UNIX if is_local else socket.AF_INET))
            line.settimeout(TIMEOUT_S)
            line.connect(str(instance.unix_socket) if is_local else (HOST, instance.port))
            line.sendall(text)
            opened.append(line)
        yield opened


def unfinished(instance: Instance, has: Capability) -> bytes:
    """The head of a request whose body never comes."""
    return (
        f"PATCH /api/scene HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 9\r\n"
        f"Content-Type: application/json\r\nAuthorization: Bearer {secret(instance, has)}\r\n\r\n"
    ).encode()


SLOW_BODY = b"POST /api/session HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\n{"


@pytest.mark.parametrize("is_local", [False, True], ids=["port", "unix socket"])
@pytest.mark.parametrize(
    "text", [b"", b"GET / HTTP/1.1\r\nHo", SLOW_BODY], ids=["silent", "half a request", "slow body"]
)
def test_idle_connections_keep_nobody_out(instance: Instance, text: bytes, is_local: bool) -> None:
    with lines(instance, IDLE, text, is_local) as idle:
        for line in idle[: IDLE - MAX_WAITING]:
            assert line.recv(1) == b""  # The oldest were closed.
        with open_page(instance) as page, http(instance) as client:
            assert page.exact().rgb.shape == (48, 64, 3)
            assert client.get("/api/scene").status_code == 200
        assert instance.session.connections.waiting <= MAX_WAITING


def test_connections_that_never_begin_tls_keep_nobody_out(source: str, folder: Path, tmp_path: Path) -> None:
    setup = SessionOptions("cpu", (folder,))
    with (
        served(Instance(source, setup, certificate=make_certificate(tmp_path))) as instance,
        lines(instance, 2 * MAX_WAITING) as idle,
    ):
        headers = {"Authorization": f"Bearer {instance.session.access.token}"}
        answer = httpx.get(
            f"https://{HOST}:{instance.port}/api/about", headers=headers, verify=False, timeout=TIMEOUT_S
        )
        assert answer.status_code == 200
        assert idle[0].recv(1) == b""


@pytest.mark.parametrize("is_local", [False, True], ids=["port", "unix socket"])
def test_guests_leave_room_for_the_owner(instance: Instance, is_local: bool) -> None:
    with lines(instance, MAX_GUESTS, unfinished(instance, "control"), is_local):
        while instance.session.connections.guests < MAX_GUESTS:
            pass  # Some may still be on their way.
        with http(instance, "control") as guest:
            assert (refused := guest.get("/api/scene")).status_code == 429
            assert "Too many guest connections" in refused.json()["what"]
        with pytest.raises(ConnectionClosed), open_page(instance, "view"):
            pass
        with open_page(instance) as page, http(instance) as owner:
            assert page.exact().rgb.shape == (48, 64, 3)
            assert owner.get("/api/scene").status_code == 200
    with open_page(instance, "view") as page:
        assert page.state


def test_a_connection_that_waits_too_long_is_closed(source: str, folder: Path) -> None:
    now = [0.0]
    with running(source, folder, clock=lambda: now[0]) as instance:
        connections = instance.session.connections
        with lines(instance, 1, b"GET /api/scene HT") as (waiting,), open_page(instance) as page:
            while not connections.waiting:
                pass
            now[0] = 60.0
            connections.close_expired()
            assert waiting.recv(1) == b""
            page.say("keep_alive")  # One that is served stays.
            assert page.hear_text("idle")["seconds_left"] > 0


@pytest.fixture
def three_places(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_CLIENTS > RESERVED_FOR_OWNER > 0
    monkeypatch.setattr(connection, "MAX_CLIENTS", 3)


@pytest.mark.usefixtures("three_places")
def test_guests_do_not_take_the_last_places(fresh: Instance) -> None:
    with open_page(fresh, "view"):
        with pytest.raises(ConnectionClosed), open_page(fresh, "control"):
            pass
        with open_page(fresh), open_page(fresh), pytest.raises(InvalidStatus), connect(address(fresh)):
            pass


@pytest.mark.usefixtures("three_places")
def test_who_greets_late_finds_the_places_taken(fresh: Instance) -> None:
    with connect(address(fresh)) as late:
        page = Page(late)
        proof = proved(page, begun(fresh, "view"), fresh.address)
        with open_page(fresh, "view"), pytest.raises(ConnectionClosed) as closed:
            page.say("hello", version=VERSION, width=8, height=8, proof=proof)
            late.recv(timeout=TIMEOUT_S)
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1013


@pytest.mark.parametrize("page", ["http://a:999999/", "http://a:b/", "http://[::1/", "\0"])
def test_what_is_no_address_of_a_page_is_none_of_the_viewer(instance: Instance, page: str) -> None:
    body = {"session": "unknown", "nonce": "mine", "address": page}
    assert httpx.post(f"{instance.address}api/prove", json=body).json() == {"proof": ""}
    access = instance.session.access
    assert not access.begin(Grant("own"), page, AccessChannel(access.address)).is_lasting


def test_malformed_requests_of_strangers_fill_no_log(instance: Instance) -> None:
    with socket.create_connection((HOST, instance.port)) as line:
        line.sendall(b"GET / HTTP/1.1 and more\r\n\r\n")
        assert line.recv(12) == b"HTTP/1.1 400"
    assert not logging.getLogger("uvicorn.error").isEnabledFor(logging.WARNING)
