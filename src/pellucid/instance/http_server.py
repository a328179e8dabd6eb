"""A web server that stays reachable when many idle connections are open.

Here: HttpServer, which accepts connections; ConnectionMiddleware, which records whose they are.
Not here: which of them may stay (transport.connections), how their input is handled (input_pacing), the routes (app).

uvicorn accepts any number of connections, and lets one that sends nothing stay for ever.
"""

import asyncio
import itertools
import logging
import socket
from contextlib import suppress
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from pellucid.errors import TooManyRequests
from pellucid.instance.access.capabilities import allows
from pellucid.instance.access.peer_rates import PeerRates
from pellucid.instance.access.route_rules import refuse
from pellucid.instance.input_pacing import PacedProtocol
from pellucid.instance.server_errors import limit_server_log
from pellucid.transport.async_acceptor import AsyncAcceptor
from pellucid.transport.connections import WAITING_TIMEOUT_S, ConnectionRegistry
from pellucid.transport.peer_user import peer_of

log = logging.getLogger(__name__)
POLL_S = 1.0
PUBLIC_ANSWER_S = 60.0
TOO_MANY = "Too many guest connections are open."
TOO_BUSY = "Too many requests without access came from this user or machine."


class HttpServer(uvicorn.Server):
    """The same as its base, but it accepts connections itself, and registers them."""

    def __init__(self, config: uvicorn.Config, connections: ConnectionRegistry) -> None:
        super().__init__(config)
        limit_server_log()
        self._connections = connections
        self._acceptor = AsyncAcceptor(connections, self._serve_connection, log)
        self._closing_expired: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=[])
        for listener in sockets or ():
            self._acceptor.start(listener)
        self._closing_expired = asyncio.create_task(self._close_expired())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._closing_expired is not None:
            self._closing_expired.cancel()
        await self._acceptor.close()
        await super().shutdown(sockets)

    async def _serve_connection(self, connection: socket.socket, address: Any) -> None:
        peer = peer_of(connection)
        if connection.family == socket.AF_UNIX:
            connection = _LocalSocket(connection)
            address = connection.getpeername()

        config = self.config
        protocol = PacedProtocol(
            config.http_protocol_class(  # type: ignore[call-arg]
                config=config, server_state=self.server_state, app_state=self.lifespan.state
            )
        )

        def close() -> None:
            protocol.abandon()
            with suppress(OSError):  # It went away by itself.
                connection.shutdown(socket.SHUT_RDWR)

        self._connections.add(address[:2], close, lambda: connection.fileno() < 0, peer)
        handshake_s = WAITING_TIMEOUT_S if config.ssl else None
        with suppress(OSError):  # It went away, or its TLS failed.
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, connection, ssl=config.ssl, ssl_handshake_timeout=handshake_s
            )

    async def _close_expired(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            self._connections.close_expired()


class _LocalSocket(socket.socket):
    """A connection of a Unix socket, with a number as its address: the client's end has none of its own."""

    _numbers = itertools.count(1)

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection.family, connection.type, connection.proto, connection.detach())
        self.setblocking(False)
        self._address = ("unix", next(self._numbers))

    def getpeername(self) -> tuple[str, int]:
        return self._address


class ConnectionMiddleware:
    """Registers each connection that is served, and its user. It runs after authentication.

    One that has shown no access waits on, and is closed with those that wait; so does a page's WebSocket until both
    ends have proved who they are (connection). What comes through an agent, by a Unix socket, is counted alike."""

    def __init__(self, app: ASGIApp, connections: ConnectionRegistry) -> None:
        self._app, self._connections = app, connections
        self._public = PeerRates()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = tuple(scope.get("client") or ())
        if scope["type"] not in ("http", "websocket") or not address:
            await self._app(scope, receive, send)
        elif not scope["capability"]:
            await self._serve_public(address, scope, receive, send)
        elif not self._connections.begin(address, is_owner=allows(scope["capability"], "own")):
            await refuse(scope, receive, send, TooManyRequests(TOO_MANY, remedy="Try again in a moment."))
        else:
            try:
                await self._app(scope, receive, send)
            finally:
                self._connections.end(address)

    async def _serve_public(self, address: tuple[Any, ...], scope: Scope, receive: Receive, send: Send) -> None:
        """What anyone may ask for. programs of this user do not wait."""
        if not await self._takes_turn(address):
            await refuse(scope, receive, send, TooManyRequests(TOO_BUSY, remedy="Try again in a moment."))
            return
        if scope["type"] == "http":  # The page itself, which anyone may load, also slowly.
            self._connections.prolong(address, PUBLIC_ANSWER_S)
        await self._app(scope, receive, send)

    async def _takes_turn(self, address: tuple[Any, ...]) -> bool:
        """Whether its turn came: not where too many are before it, or the server ends."""
        wait_s = self._public.wait_s(self._connections.peer(address))
        if wait_s is None:
            return False
        try:
            await asyncio.sleep(wait_s)
        except asyncio.CancelledError:  # uvicorn would write a traceback for each of many.
            return False
        return True
