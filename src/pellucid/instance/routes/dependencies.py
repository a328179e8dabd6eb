"""What all routes share: the session, the capability of a request, and errors.

Here: the session of a request, what it may do and how it came, work that ends with its connection, refusals as answers.
Not here: secrets (auth, sessions), what a route requires (route_rules), the routes.
"""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, HTTPException, Request
from pydantic import TypeAdapter

from pellucid.errors import DiskFull, NotAllowed, NotFound, PellucidError, TooManyRequests, WorkerLost
from pellucid.instance.access.redaction import known_paths, redacted
from pellucid.instance.access.sessions import AccessChannel, Grant
from pellucid.instance.protocol.http_bodies import ErrorBody
from pellucid.instance.protocol.shared_types import Capability
from pellucid.instance.routes.error_handlers import add_error_handlers
from pellucid.instance.session import Session
from pellucid.instance.websocket.client import Requester

STATUSES: dict[type[PellucidError], int] = {
    NotAllowed: 403, NotFound: 404, TooManyRequests: 429, DiskFull: 507, WorkerLost: 503,
}  # fmt: skip
# As a schema, not as a model: FastAPI would build one for every status of every route, half of a viewer's start.
REFUSAL = {
    "description": "An error: what is wrong, and what to do.",
    "content": {"application/json": {"schema": TypeAdapter(ErrorBody).json_schema()}},
}
REFUSALS: dict[int | str, dict[str, Any]] = dict.fromkeys((400, 403, 404, 413, 422, 429, 503, 507), REFUSAL)


CLIENT_CLOSED = 499
Result = TypeVar("Result")


async def _session(request: Request) -> Session:
    session: Session = request.app.state.session
    return session


Here = Annotated[Session, Depends(_session)]


async def capability_of(request: Request) -> Capability:
    capability: Capability = request.scope["capability"]
    return capability


Has = Annotated[Capability, Depends(capability_of)]


def grant_of(request: Request) -> Grant:
    grant: Grant = request.scope["grant"]
    return grant


Granted = Annotated[Grant, Depends(grant_of)]


def channel_of(request: Request) -> AccessChannel:
    channel: AccessChannel = request.scope["channel"]
    return channel


Came = Annotated[AccessChannel, Depends(channel_of)]


async def requester_of(request: Request) -> Requester:
    grant: Grant = request.scope["grant"]
    return Requester(grant.capability, grant.link)


By = Annotated[Requester, Depends(requester_of)]


async def while_connected(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """The result of work for a request whose body was read; cancelled where its connection ends before."""
    working, ending = asyncio.ensure_future(work), asyncio.ensure_future(_ended(request))
    try:
        await asyncio.wait((working, ending), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise HTTPException(CLIENT_CLOSED, "The connection of this request was closed.")
        return working.result()
    finally:
        working.cancel()
        ending.cancel()


async def _ended(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def add_refusals(app: FastAPI) -> None:
    """Every error as a status and an ErrorBody; without paths for guests."""

    def redact(request: Request, error: PellucidError) -> PellucidError:
        return redacted(error, request.scope["capability"] or "view", known_paths(request.app.state.session))

    add_error_handlers(app, STATUSES, "See /api/docs.", redact)
