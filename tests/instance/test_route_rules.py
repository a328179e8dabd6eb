"""A request is refused by its head: no byte of its body is read before its capability and its length are checked."""

import asyncio
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI

from pellucid.agent.app import create_app as create_agent_app
from pellucid.agent.change_events import ChangeNotifier
from pellucid.agent.jobs.supervisor import JobSupervisor
from pellucid.instance.access import route_rules
from pellucid.instance.access.capabilities import RANKS, allows
from pellucid.instance.access.route_rules import (
    MAX_GUEST_BODY_BYTES,
    MAX_GUEST_HEAVY,
    MAX_STREAM_BYTES,
    RouteMiddleware,
    RouteRule,
    RouteTable,
    needs,
)
from pellucid.instance.access.sessions import Access
from pellucid.instance.app import create_app
from pellucid.instance.protocol.shared_types import MAX_UPLOAD_BYTES, Capability
from pellucid.instance.server import HOST, Instance
from pellucid.instance.session import Session, SessionOptions
from pellucid.jobs.site import Site
from tests.instance.loopback import secret
from tests.waiting import TIMEOUT_S

PIECE = bytes(64 * 1024)
STREAMED = {"PUT /api/arrays/{id}", "PUT /api/files/content", "PUT /api/upload"}
"""Routes that write their body away as it comes."""
AGENT = Access()


class Body:
    """A request's body that never ends; it counts the bytes that were read."""

    def __init__(self) -> None:
        self.read_bytes = 0

    async def receive(self) -> dict[str, Any]:
        self.read_bytes += len(PIECE)
        return {"type": "http.request", "body": PIECE, "more_body": True}


@pytest.fixture(scope="module")
def app() -> Iterator[FastAPI]:
    session = Session(SessionOptions())
    yield create_app(session)
    session.close()


@pytest.fixture(scope="module")
def agent_app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    async def create() -> FastAPI:
        return create_agent_app(JobSupervisor(tmp_path_factory.mktemp("jobs"), Site()), AGENT, ChangeNotifier())

    return asyncio.run(create())


@pytest.fixture(params=["instance", "agent"])
def application(request: pytest.FixtureRequest, app: FastAPI, agent_app: FastAPI) -> FastAPI:
    return app if request.param == "instance" else agent_app


def answer(
    app: FastAPI, route: str, has: Capability, body: Body, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    """Status and JSON of the answer to a request with this body."""
    method, path = route.replace("{", "").replace("}", "").split(" ")
    access = app.state.session.access if hasattr(app.state, "session") else AGENT
    given = {"authorization": f"Bearer {access.share(has).secret}", "host": "here", **(headers or {})}
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "root_path": "", "scheme": "http",
        "query_string": b"name=x&path=x&folder=x&offset=0", "server": (HOST, 1), "client": (HOST, 2),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }  # fmt: skip
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def ask() -> None:
        async with asyncio.timeout(TIMEOUT_S):
            await app(scope, body.receive, send)

    asyncio.run(ask())
    return sent[0]["status"], json.loads(b"".join(message.get("body", b"") for message in sent[1:]) or "{}")


def rules(app: FastAPI) -> dict[str, RouteRule]:
    return {name: rule for name, rule in RouteTable(app.routes).rules.items() if not name.startswith("WEBSOCKET")}


def test_every_route_declares_capability_and_size(application: FastAPI) -> None:
    found = rules(application)
    assert len(found) > 15
    for name, rule in found.items():
        assert rule.capability in (*RANKS, None)
        assert rule.max_body_bytes <= (MAX_STREAM_BYTES if name in STREAMED else 4 * 2**20), name
        assert rule.max_body_bytes == 0 or name.split(" ")[0] in ("POST", "PUT", "PATCH"), name


def test_an_application_with_a_route_without_a_rule_does_not_start() -> None:
    app = FastAPI()
    app.add_api_route("/forgotten", lambda: None)
    with pytest.raises(RuntimeError, match="declares no rule"):
        RouteTable(app.routes)


def test_without_the_capability_nothing_of_a_body_is_read(application: FastAPI) -> None:
    for route, rule in rules(application).items():
        for has in RANKS:
            if rule.capability is not None and not allows(has, rule.capability):
                body = Body()
                status, text = answer(application, route, has, body, {"transfer-encoding": "chunked"})
                assert (status, text["kind"], body.read_bytes) == (403, "NotAllowed", 0), route


def test_a_body_that_says_it_is_too_long_is_not_read(application: FastAPI) -> None:
    for route, rule in rules(application).items():
        body = Body()
        status, _ = answer(application, route, "own", body, {"content-length": str(rule.max_body_bytes + 1)})
        assert (status, body.read_bytes) == (413, 0), route


def test_a_body_in_chunks_is_cut_off(application: FastAPI) -> None:
    for route, rule in rules(application).items():
        if route in STREAMED or rule.max_body_bytes == 0:
            continue
        body = Body()
        status, text = answer(application, route, "own", body, {"transfer-encoding": "chunked"})
        # A route without parameters for a body never reads one.
        assert body.read_bytes <= rule.max_body_bytes + len(PIECE), route
        assert status == 413 or body.read_bytes == 0, (route, status, text)


def test_the_body_of_a_guest_is_shorter(app: FastAPI) -> None:
    expected: dict[Capability, int] = {"control": 0, "own": 2**20 + len(PIECE)}
    for has, read_bytes in expected.items():
        body = Body()
        length = {"content-length": str(MAX_GUEST_BODY_BYTES + 1)}
        assert (answer(app, "PATCH /api/scene", has, body, length)[0], body.read_bytes) == (413, read_bytes), has


class SilentBody(Body):
    """One that stops after its first byte. is_ending: the connection ends then."""

    def __init__(self, is_ending: bool = False) -> None:
        super().__init__()
        self._is_ending = is_ending

    async def receive(self) -> dict[str, Any]:
        self.read_bytes += 1
        if self.read_bytes == 1:
            return {"type": "http.request", "body": b"{", "more_body": True}
        if not self._is_ending:
            await asyncio.Event().wait()
        await asyncio.sleep(0.01)
        return {"type": "http.disconnect"}


def test_a_public_body_that_does_not_come_is_not_waited_for(
    application: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route_rules, "PUBLIC_BODY_S", 0.01)
    public_routes = [
        route for route, rule in rules(application).items() if rule.capability is None and rule.max_body_bytes
    ]
    assert "POST /api/session" in public_routes
    for route in public_routes:
        status, text = answer(application, route, "own", SilentBody(), {"content-length": "1000"})
        assert status == 408 and "did not arrive in time" in text["what"], route


def test_a_guests_body_may_pause_less_long_than_the_owners(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route_rules, "GUEST_SILENCE_S", 0.001)
    route = "PATCH /api/scene"
    assert answer(app, route, "control", SilentBody(), {"content-length": "1000"})[0] == 408
    assert answer(app, route, "own", SilentBody(is_ending=True), {"content-length": "1000"})[0] == 400


def test_what_no_route_is_for_reads_nothing(application: FastAPI) -> None:
    for route, expected in {"POST /nowhere": 404, "POST /": 405}.items():
        body = Body()
        status, text = answer(application, route, "own", body, {"transfer-encoding": "chunked"})
        assert (status, body.read_bytes) == (expected, 0)
        assert text["what"] and text["remedy"]


def test_the_answer_comes_before_the_body_is_sent(instance: Instance) -> None:
    head = (
        f"PUT /api/upload?name=x.npy HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {2**30}\r\n"
        f"Authorization: Bearer {secret(instance, 'view')}\r\n\r\n"
    )
    with socket.create_connection((HOST, instance.port), TIMEOUT_S) as line:
        line.sendall(head.encode())
        with line.makefile("rb") as answer:  # Until the viewer closes the connection.
            text = answer.read()
    assert text.startswith(b"HTTP/1.1 403") and b"connection: close" in text.lower()


def test_half_an_upload_leaves_no_file(app: FastAPI) -> None:
    body = Body()
    status, _ = answer(app, "PUT /api/upload", "own", body, {"transfer-encoding": "chunked"})
    assert status == 413 and body.read_bytes > MAX_UPLOAD_BYTES
    assert list((app.state.session.tasks.folder / "uploads").iterdir()) == []


def test_guests_have_few_heavy_requests_at_a_time() -> None:
    app, statuses, end = FastAPI(openapi_url=None), list[int](), asyncio.Event()

    @app.get("/heavy", dependencies=[needs("control", is_heavy=True)])
    async def heavy() -> None:
        await end.wait()

    async def ask(has: Capability) -> None:
        scope = {"type": "http", "method": "GET", "path": "/heavy", "root_path": "", "query_string": b"",
                 "headers": [], "capability": has, "is_current": lambda: True}  # fmt: skip

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        await checked(scope, Body().receive, send)

    async def run() -> None:
        request = [asyncio.create_task(ask("control")) for _ in range(MAX_GUEST_HEAVY + 3)]
        request += [asyncio.create_task(ask("own")) for _ in range(5)]
        while len(statuses) < 3:
            await asyncio.sleep(0)
        assert statuses == [429] * 3
        end.set()
        await asyncio.gather(*request)
        statuses.clear()
        await ask("control")

    checked = RouteMiddleware(app, RouteTable(app.routes))
    asyncio.run(run())
    assert statuses == [200]


async def asked(checked: RouteMiddleware, is_current: bool, headers: dict[str, str] | None = None) -> int:
    """The status that a guest's request for /light gets."""
    given = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    scope = {"type": "http", "method": "POST", "path": "/light", "root_path": "", "query_string": b"",
             "headers": given, "capability": "control", "is_current": lambda: is_current}  # fmt: skip
    statuses: list[int] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    await checked(scope, receive, send)
    return statuses[0]


def light_routes() -> RouteMiddleware:
    app = FastAPI(openapi_url=None)

    @app.post("/light", dependencies=[needs("control", max_body_bytes=2**18)])
    async def light() -> None: ...

    return RouteMiddleware(app, RouteTable(app.routes))


def test_a_guest_whose_link_is_revoked_while_the_request_waits_is_refused() -> None:
    checked = light_routes()
    assert asyncio.run(asked(checked, is_current=True)) == 200
    assert asyncio.run(asked(checked, is_current=False)) == 403


def test_requests_beyond_what_can_be_answered_soon_are_refused_and_not_left_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", wait)
    checked, chunked = light_routes(), {"transfer-encoding": "chunked"}
    found = [asyncio.run(asked(checked, is_current=True, headers=chunked)) for _ in range(16)]
    assert found[0] == 200
    assert found[-1] == 429
    assert max(waited) <= route_rules.MAX_WAIT_S + MAX_GUEST_BODY_BYTES / 1024 / 100
