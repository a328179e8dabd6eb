"""A listening end behind a web server, behind an agent's door: all that a program elsewhere can reach."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from pellucid.agent.jobs.records import ViewerAddress
from pellucid.agent.proxy.server import ReverseProxy
from pellucid.instance.access.loopback import listen_on_loopback
from pellucid.instance.access.proofs import hash_secret, sign
from pellucid.transport.server import Listener
from pellucid.transport.tunnel.tunnel import relay

ID = "0123456789"
READY_S = 120.0


class Front:
    """Leads to the listener of the moment. address: of the door."""

    def __init__(self, token: str) -> None:
        self._token = token
        self.listener: Listener | None = None
        self.address = ""

    @property
    def application(self) -> Starlette:
        """The route as a viewer has it, with nothing around it."""
        prove = Route("/api/prove", self._prove, methods=["POST"])
        return Starlette(routes=[prove, WebSocketRoute("/transfer", self._transfer)])

    async def _prove(self, request: Request) -> JSONResponse:
        wanted = await request.json()
        is_known = wanted["secret_hash"] == hash_secret(self._token)
        return JSONResponse({"proof": sign(self._token, "program", wanted["nonce"]) if is_known else ""})

    async def _transfer(self, websocket: WebSocket) -> None:
        if self.listener is None or websocket.headers.get("authorization") != f"Bearer {self._token}":
            await websocket.close()
            return
        await websocket.accept()
        near, far = socket.socketpair()
        self.listener.serve(far)

        async def receive() -> bytes | None:
            message = await websocket.receive()
            content: bytes | None = message.get("bytes")
            return content

        await relay(near, receive, websocket.send_bytes)


@contextmanager
def web_front(token: str) -> Iterator[Front]:
    """A web server and a door, in an event loop of their own."""
    front = Front(token)
    config = uvicorn.Config(front.application, log_level="critical", ws="websockets-sansio", lifespan="off")
    server, loop = uvicorn.Server(config), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    front.address, end = asyncio.run_coroutine_threadsafe(_serve(server), loop).result(READY_S)
    try:
        yield front
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(READY_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(READY_S)


async def _serve(server: uvicorn.Server) -> tuple[str, Callable[[], Coroutine[Any, Any, None]]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        inner = ViewerAddress("127.0.0.1", listening.getsockname()[1], "", "")
        # Not serve, which would take the signals, and wait for its turn on the main thread.
        serving = asyncio.ensure_future(server._serve([listening.dup()]))

    async def find(wanted: str) -> ViewerAddress | None:
        return inner if wanted == ID else None

    acceptor = ReverseProxy("nobody", find)
    port = int(urlsplit(await acceptor.open(listen_on_loopback(0), "127.0.0.1")).port or 0)

    async def end() -> None:
        server.should_exit = server.force_exit = True
        await acceptor.close()
        await serving

    return f"http://127.0.0.1:{port}/i/{ID}", end
