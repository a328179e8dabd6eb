"""The routes of an instance, put together.

Here: the application, its beginning and end, the WebSocket.
Not here: who may use it (guard), what each route requires (route_rules), the routes (routes), the port (server).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, WebSocket

from pellucid.instance import connection
from pellucid.instance.guard import Guard
from pellucid.instance.http_server import ConnectionMiddleware
from pellucid.instance.product import PRODUCT
from pellucid.instance.route_rules import RouteMiddleware, RouteTable, public
from pellucid.instance.routes import (
    access,
    bulk,
    documentation,
    page,
    reconstruction,
    scene,
    sessions,
    sharing,
    sources,
    work,
)
from pellucid.instance.session import Session

TICK_S = 1.0


def create_app(session: Session) -> FastAPI:
    """The application; it opens the session with itself, and closes it."""

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        session.open()
        ticking = asyncio.create_task(_tick(session))
        yield
        ticking.cancel()
        session.close()

    app = FastAPI(
        title="Pellucid", version=PRODUCT, lifespan=running, docs_url=None, redoc_url=None, openapi_url=None,
    )  # fmt: skip
    app.state.session = session
    access.add_refusals(app)
    for module in (scene, sources, reconstruction, work, sharing):
        app.include_router(module.router)
    sessions.add(app, session.access)
    bulk.add(app, session)
    documentation.add(app)
    page.add(app)

    # On this one both ends prove who they are before anything else is said.
    @app.websocket("/ws", dependencies=[public()])
    async def websocket(websocket: WebSocket) -> None:
        await connection.serve(websocket, session, websocket.scope["channel"])

    app.add_middleware(RouteMiddleware, table=RouteTable(app.routes))
    app.add_middleware(ConnectionMiddleware, connections=session.connections)
    app.add_middleware(Guard, access=session.access)
    return app


async def _tick(session: Session) -> None:
    while True:
        await asyncio.sleep(TICK_S)
        session.tick()
