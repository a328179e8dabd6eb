"""Requests without access: another user who sends many delays and refuses those of that user alone."""

import asyncio
import os

from starlette.types import Message, Receive, Scope, Send

from pellucid.instance.access.peer_rates import MAX_PER_SECOND, MAX_WAIT_S
from pellucid.instance.http_server import ConnectionMiddleware
from pellucid.transport.connections import ConnectionRegistry
from pellucid.transport.peer_user import Peer

OWN, THEIRS = ("127.0.0.1", 1), ("127.0.0.1", 2)
MANY = int(MAX_PER_SECOND * (MAX_WAIT_S + 1)) + 20


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def nothing() -> Message:
    return {"type": "http.request"}


async def asked(app: ConnectionMiddleware, address: tuple[str, int]) -> int:
    answers: list[Message] = []

    async def send(message: Message) -> None:
        answers.append(message)

    scope: Scope = {"type": "http", "client": address, "capability": None, "headers": [], "path": "/", "method": "GET"}
    await app(scope, nothing, send)
    status = int(answers[0]["status"])
    # Further requests on the connection of one that was refused are not even read.
    assert ((b"connection", b"close") in answers[0]["headers"]) is (status == 429)
    return status


def test_only_the_user_who_sends_many_waits() -> None:
    registry = ConnectionRegistry()
    registry.add(OWN, lambda: None, peer=Peer(os.geteuid()))
    registry.add(THEIRS, lambda: None, peer=Peer(os.geteuid() + 1))
    app = ConnectionMiddleware(answer, registry)

    async def meet() -> tuple[list[int], int, list[int]]:
        flood = [asyncio.create_task(asked(app, THEIRS)) for _ in range(MANY)]
        await asyncio.sleep(0)
        own = [await asyncio.wait_for(asked(app, OWN), 1.0) for _ in range(MANY)]
        waiting = sum(not one.done() for one in flood)
        return own, waiting, await asyncio.gather(*flood)

    own, waiting, flood = asyncio.run(meet())
    assert own == [200] * MANY
    assert waiting > MAX_PER_SECOND
    assert flood.count(429) > 0 and flood.count(200) + flood.count(429) == MANY


def test_those_that_wait_when_the_server_ends_are_refused() -> None:
    """As it ends, uvicorn cancels them; what a cancelled one raises becomes a traceback in the log."""
    registry = ConnectionRegistry()
    registry.add(THEIRS, lambda: None, peer=Peer(os.geteuid() + 1))
    app = ConnectionMiddleware(answer, registry)

    async def end() -> list[int | BaseException]:
        flood = [asyncio.create_task(asked(app, THEIRS)) for _ in range(2 * int(MAX_PER_SECOND))]
        await asyncio.sleep(0)
        waiting = [one for one in flood if not one.done()]
        for one in waiting:
            one.cancel()
        return await asyncio.gather(*waiting, return_exceptions=True)

    assert set(asyncio.run(end())) == {429}
