"""Arrays through the viewer's own web address, if no direct connection is possible.

Here: the WebSocket that hands its bytes to the listener for arrays.
Not here: the conversation on it (transport), direct connections (server).
"""

import socket

from fastapi import FastAPI, WebSocket

from pellucid.instance.access.route_rules import needs
from pellucid.instance.session import Session
from pellucid.transport.tunnel.tunnel import relay
from pellucid.transport.tunnel.upgrade import ROUTE

NOT_NOW = 1013


def add(app: FastAPI, session: Session) -> None:
    """The route; its callers prove that they hold the token once more, to the listener."""

    @app.websocket(ROUTE, dependencies=[needs("own")])
    async def transfer(websocket: WebSocket) -> None:
        if session.take_connection is None:
            await websocket.close(NOT_NOW, "This viewer accepts no arrays.")
            return
        await websocket.accept()
        near, far = socket.socketpair()
        session.take_connection(far)
        with session.idle.held_off():
            await relay(near, lambda: _next(websocket), websocket.send_bytes)


async def _next(websocket: WebSocket) -> bytes | None:
    """The bytes of the next message; None when the caller is gone, or says something else."""
    message = await websocket.receive()
    content: bytes | None = message.get("bytes")
    return content
