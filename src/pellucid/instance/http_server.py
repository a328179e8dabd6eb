"""A web server that many idle connections do not make unreachable.

Here: HttpServer, which accepts connections; ConnectionMiddleware, which records whose they are.
Not here: which of them may stay (transport.connections), the routes (app).

uvicorn accepts any number of connections, and lets one that sends nothing stay for ever.
"""

import asyncio
import logging
import socket
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from pellucid.errors import TooManyRequests
from pellucid.instance.capabilities import allows
from pellucid.instance.route_rules import refuse
from pellucid.transport.connections import WAITING_TIMEOUT_S, ConnectionRegistry

log = logging.getLogger(__name__)
BACKLOG = 2048
POLL_S = 1.0
RETRY_S = 0.05
PUBLIC_ANSWER_S = 60.0
TOO_MANY = "Too many connections of guests are open."


class HttpServer(uvicorn.Server):
    """The same as its base, but it accepts connections itself, and registers them."""

    def __init__(self, config: uvicorn.Config, connections: ConnectionRegistry) -> None:
        super().__init__(config)
        self._connections = connections
        self._accepting: list[asyncio.Task[None]] = []
        self._opening: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        self._accepting = [asyncio.create_task(self._accept(listener)) for listener in sockets or ()]
        self._accepting.append(asyncio.create_task(self._close_expired()))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in (*self._accepting, *self._opening):
            task.cancel()
        await super().shutdown(sockets)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        listener.listen(BACKLOG)
        while True:
            try:
                connection, address = await loop.sock_accept(listener)
            except OSError as error:  # Most likely there is no descriptor left.
                log.warning("A connection could not be accepted: %s", error)
                self._connections.close_oldest()
                await asyncio.sleep(RETRY_S)
                continue
            self._open(connection, address)
            # Those that were accepted are served before the next one is: a flood of connections closes no others.
            await asyncio.sleep(0)

    def _open(self, connection: socket.socket, address: tuple[str, int]) -> None:
        def close() -> None:
            with suppress(OSError):  # It went away by itself.
                connection.shutdown(socket.SHUT_RDWR)

        if connection.family != socket.AF_UNIX:
            self._connections.add(address[:2], close, lambda: connection.fileno() < 0)
        opening = asyncio.create_task(self._serve_connection(connection))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)

    async def _serve_connection(self, connection: socket.socket) -> None:
        tls, config = self.config.ssl, self.config
        protocol = lambda: config.http_protocol_class(  # type: ignore[call-arg]  # noqa: E731
            config=config, server_state=self.server_state, app_state=self.lifespan.state
        )
        handshake_s = WAITING_TIMEOUT_S if tls else None
        with suppress(OSError):  # It went away, or its TLS failed.
            await asyncio.get_running_loop().connect_accepted_socket(
                protocol, connection, ssl=tls, ssl_handshake_timeout=handshake_s
            )

    async def _close_expired(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            self._connections.close_expired()


class ConnectionMiddleware:
    """Tells the registry that a connection is served, and for whom. Stands behind the guard.

    One that has shown no access waits on, and is closed with those that wait; so does a page's WebSocket until both
    ends have proved who they are (connection). Those of the Unix socket are the owner's, and are not counted."""

    def __init__(self, app: ASGIApp, connections: ConnectionRegistry) -> None:
        self._app, self._connections = app, connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = tuple(scope.get("client") or ())
        if scope["type"] not in ("http", "websocket") or not scope["capability"] or not address:
            if scope["type"] == "http" and address:  # The page itself, which anyone may load, also slowly.
                self._connections.prolong(address, PUBLIC_ANSWER_S)
            await self._app(scope, receive, send)
            return
        if not self._connections.begin(address, is_owner=allows(scope["capability"], "own")):
            await refuse(scope, receive, send, TooManyRequests(TOO_MANY, do="Try again in a moment."))
            return
        try:
            await self._app(scope, receive, send)
        finally:
            self._connections.end(address)
