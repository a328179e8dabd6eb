"""The routes of an instance.

Here: the page, the scene as JSON, the WebSocket.
Not here: who may use them (guard), listening on a port (server).
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Response, WebSocket

from pellucid.instance import connection
from pellucid.instance.description import Description, choices
from pellucid.instance.guard import Guard
from pellucid.instance.protocol import VERSION
from pellucid.instance.session import Session

PAGE = files("pellucid.instance") / "page"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
NAMES = ("viewer.js", "connection.js", "camera.js", "panel.js", "style.css", "icon.svg")
MOST_CONNECTIONS = 16
BUSY = 1013


def create_app(session: Session, description: Description, token: str) -> FastAPI:
    """The application; it starts the session with itself, and closes it."""

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        session.start()
        yield
        session.close()

    app = FastAPI(title="Pellucid", lifespan=running, docs_url=None, redoc_url=None, openapi_url="/api/openapi.json")
    app.add_middleware(Guard, token=token)
    _add_page(app)
    _add_scene(app, session, description)
    _add_socket(app, session)
    return app


def _add_page(app: FastAPI) -> None:
    def page_file(name: str) -> Response:
        ending = name[name.rindex(".") :]
        return Response((PAGE / name).read_bytes(), media_type=TYPES[ending])

    app.add_api_route("/", lambda: page_file("index.html"), include_in_schema=False)
    for name in NAMES:
        # One route for every file there is: no name that comes from outside ever becomes a path.
        app.add_api_route(f"/{name}", lambda name=name: page_file(name), include_in_schema=False)


def _add_scene(app: FastAPI, session: Session, description: Description) -> None:
    @app.get("/api/scene")
    def scene() -> dict[str, Any]:
        """The scene as it is drawn now, the volume in it, and what can be chosen."""
        return {
            "version": VERSION,
            "revision": session.revision,
            "scene": json.loads(session.scene.to_json()),
            "volume": asdict(description),
            "device": session.device,
            "choices": asdict(choices()),
        }


def _add_socket(app: FastAPI, session: Session) -> None:
    connected: set[WebSocket] = set()

    @app.websocket("/ws")
    async def websocket(websocket: WebSocket) -> None:
        if len(connected) >= MOST_CONNECTIONS:
            await websocket.close(BUSY, "Too many pages are open: close one.")
            return
        connected.add(websocket)
        try:
            await connection.serve(websocket, session)
        finally:
            connected.discard(websocket)
