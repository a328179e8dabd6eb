"""The web application of an instance, with all its routes.

Here: the application, its beginning and end, the WebSocket.
Not here: who may use it (auth), what each route requires (route_rules), the routes (routes), the port (server).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, WebSocket

from pellucid.instance.access.auth import TokenMiddleware
from pellucid.instance.access.route_rules import RouteMiddleware, RouteTable, public
from pellucid.instance.http_server import ConnectionMiddleware
from pellucid.instance.routes import (
    api_docs,
    denoising,
    dependencies,
    figures,
    labels,
    measures,
    models,
    networks,
    recent,
    reconstruction,
    scene,
    sessions,
    sharing,
    slices,
    sources,
    static_page,
    tasks,
    training,
    transfer_socket,
)
from pellucid.instance.session import Session
from pellucid.instance.version import PRODUCT
from pellucid.instance.websocket import connection

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
    dependencies.add_refusals(app)
    volumes = (scene, figures, slices, labels, measures, models, sources, recent, tasks, sharing)
    for module in (*volumes, networks, reconstruction, denoising, training):
        app.include_router(module.router)
    sessions.add(app, session.access)
    transfer_socket.add(app, session)
    api_docs.add(app)
    static_page.add(app)

    # On this one both ends prove who they are before anything else is said.
    @app.websocket("/ws", dependencies=[public()])
    async def websocket(websocket: WebSocket) -> None:
        await connection.serve(websocket, session, websocket.scope["channel"])

    app.add_middleware(RouteMiddleware, table=RouteTable(app.routes))
    app.add_middleware(ConnectionMiddleware, connections=session.connections)
    app.add_middleware(TokenMiddleware, access=session.access)
    return app


async def _tick(session: Session) -> None:
    while True:
        await asyncio.sleep(TICK_S)
        session.tick()
        session.pool_events.start_compute()
