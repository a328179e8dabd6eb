"""Errors of routes as answers, the same for instances and for the agent."""

import asyncio
import json
from typing import Any

import pytest
from fastapi import FastAPI, Request, WebSocket

from pellucid.errors import InvalidInput, NotFound, PellucidError
from pellucid.instance.routes.error_handlers import add_error_handlers


def shout(_: Request, error: PellucidError) -> PellucidError:
    return InvalidInput(error.what.upper(), remedy=error.remedy)


@pytest.fixture
def app() -> FastAPI:
    app = FastAPI()

    @app.get("/missing")
    async def missing() -> None:
        raise NotFound("scan.h5")

    @app.get("/wrong")
    async def wrong() -> None:
        raise InvalidInput("It is wrong.", remedy="Use another.")

    @app.get("/full")
    async def full() -> None:
        raise OSError(28, "No space left on device", "a.tif")

    @app.websocket("/ws")
    async def websocket(websocket: WebSocket) -> None:
        await websocket.accept()

    @app.get("/count")
    async def count(number: int) -> int:
        return number

    add_error_handlers(app, {NotFound: 404}, "Read the manual.", shout)
    return app


def answer(app: FastAPI, path: str, method: str = "GET") -> tuple[int, dict[str, Any], dict[bytes, bytes]]:
    """Status, body and headers."""
    sent: list[Any] = []

    async def asked() -> None:
        target, _, query = path.partition("?")
        scope = {"type": "http", "method": method, "path": target, "query_string": query.encode(), "headers": []}

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": b""}

        async def send(message: object) -> None:
            sent.append(message)

        await app(scope, receive, send)

    asyncio.run(asked())
    body = b"".join(one.get("body", b"") for one in sent[1:])
    return sent[0]["status"], json.loads(body), dict(sent[0]["headers"])


@pytest.mark.parametrize(
    ("path", "status", "what", "remedy"),
    [
        ("/wrong", 400, "IT IS WRONG.", "Use another."),
        ("/full", 400, "THE DISK IS FULL: A.TIF COULD NOT BE WRITTEN.", "Free some space"),
        ("/count?number=x", 422, "Invalid request: query.number: ", "Read the manual."),
        ("/none", 404, "Not Found.", "Read the manual."),
    ],
)
def test_an_error_has_a_status_and_says_what_to_do(
    app: FastAPI, path: str, status: int, what: str, remedy: str
) -> None:
    found, body, _ = answer(app, path)
    assert found == status
    assert body["what"].startswith(what) and body["remedy"].startswith(remedy)


def test_the_status_is_that_of_the_error_and_its_text_what_the_requester_may_read(app: FastAPI) -> None:
    status, body, _ = answer(app, "/missing")
    assert status == 404 and body["what"] == NotFound("scan.h5").what.upper()


def test_headers_of_a_refusal_are_kept(app: FastAPI) -> None:
    status, _, headers = answer(app, "/wrong", "POST")
    assert status == 405 and headers[b"allow"] == b"GET"


def test_a_page_that_left_before_it_was_accepted_is_no_fault_of_the_program(app: FastAPI) -> None:
    """The web server expects its own error, and logs any other with a traceback."""

    class Left(OSError):
        pass

    async def asked() -> None:
        scope = {"type": "websocket", "path": "/ws", "query_string": b"", "headers": [], "subprotocols": []}

        async def receive() -> dict[str, object]:
            return {"type": "websocket.connect"}

        async def send(_: object) -> None:
            raise Left

        await app(scope, receive, send)

    with pytest.raises(Left):
        asyncio.run(asked())
