"""One port for everything: each connection goes to the agent's own pages, or to a viewer on any machine.

Here: ReverseProxy, which listens; after the head of a request it only moves bytes.
Not here: heads (request_head), authentication (the upstream server asks for its token).

One request per connection: so nothing has to be known of what follows the head, HTTP or WebSocket.
"""

import asyncio
import logging
import resource
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, cast

from pellucid.agent.jobs.records import ViewerAddress
from pellucid.agent.proxy.request_head import MAX_HEAD_BYTES, InvalidRequest, RequestHead, text_response
from pellucid.instance.access.peer_rates import PeerRates
from pellucid.instance.access.sessions import make_secret
from pellucid.transport.async_acceptor import AsyncAcceptor, LimitedLog
from pellucid.transport.connections import UNKNOWN, ConnectionRegistry
from pellucid.transport.peer_user import Peer, peer_of

log = logging.getLogger(__name__)
HEAD_S = 20.0
CONNECT_S = 10.0
MAX_WAITING_BYTES = 2**20
MAX_WAITING = 512
"""Connections whose request has not come, or has not been led anywhere yet. One more closes the oldest of them."""
DESCRIPTORS_PER_WAITING = 8
"""Of those that this process may have, where they are few."""
UNREAD_S = 60.0
"""So long the rest of an answer waits to be read, after the viewer has closed the connection."""
BUFFER_BYTES = 2**18

Finder = Callable[[str], Awaitable[ViewerAddress | None]]
"""The address of a viewer by its id; None where there is none."""
Gate = Callable[[RequestHead], Awaitable[tuple[RequestHead, bool]]]
"""The head below the agent's own address, and whether the owner's program asks."""
Placer = Callable[[RequestHead, str], str]
"""The address of a viewer's page, as the browser sees it that sent this head."""


class ProxyEnd(asyncio.Protocol):
    """One end of a connection through the proxy: its bytes are sent to the other end, as fast as that accepts them."""

    def __init__(self, other: "ProxyEnd | None" = None) -> None:
        self.other = other
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(MAX_WAITING_BYTES)

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            with suppress(RuntimeError):  # Closed meanwhile.
                self.other.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        if self.other is not None:
            self.other.finish()
        self.transport = None

    def finish(self) -> None:
        """The other end is gone: send what came from it, and close."""
        if self.transport is not None:
            self.transport.close()


class ViewerEnd(ProxyEnd, asyncio.BufferedProtocol):
    """The end towards a viewer. What comes is read into one buffer: TLS would make new memory for every 16 kB."""

    def __init__(self, other: ProxyEnd) -> None:
        super().__init__(other)
        self._buffer = memoryview(bytearray(BUFFER_BYTES))

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        # A copy: the other end keeps what it cannot send at once.
        self.data_received(bytes(self._buffer[:nbytes]))


class ClientEnd(ProxyEnd):
    """The end towards a browser or program: it collects the head of the request, and asks where it leads."""

    def __init__(
        self,
        lead: Callable[["ClientEnd", RequestHead, bytes], Awaitable[None]],
        connections: ConnectionRegistry,
        peer: Peer = UNKNOWN,
    ) -> None:
        super().__init__()
        self._connections, self._peer = connections, peer
        self._lead, self._collected = lead, bytearray()
        self._leading: asyncio.Task[None] | None = None
        self._is_for_browser = False
        self._deadline = asyncio.get_running_loop().call_later(HEAD_S, self.refuse, 408, "No request arrived in time.")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connections.add(self, cast(asyncio.Transport, transport).abort, peer=self._peer)

    def data_received(self, data: bytes) -> None:
        if self._leading is not None:
            super().data_received(data)
            return
        self._collected += data
        end = self._collected.find(b"\r\n\r\n")
        if end >= 0:
            self._begin(bytes(self._collected[:end]), bytes(self._collected[end + 4 :]))
        elif len(self._collected) > MAX_HEAD_BYTES:
            self.refuse(431, "The request headers are too long.")

    def _begin(self, head: bytes, rest: bytes) -> None:
        self._deadline.cancel()
        try:
            parsed = RequestHead.parse(head)
            self._is_for_browser = parsed.is_for_browser
        except InvalidRequest as error:
            self.refuse(400, str(error))
            return
        if self.transport is not None:
            self.transport.pause_reading()
        self._leading = asyncio.ensure_future(self._lead(self, parsed, rest))

    def refuse(self, status: int, why: str, location: str = "") -> None:
        if self.transport is not None:
            self.transport.write(text_response(status, why, location, is_page=self._is_for_browser))
            self.transport.close()

    def join(self, inner: ProxyEnd) -> None:
        """Only forward bytes from now on: the server behind the proxy limits connections without access."""
        self._connections.remove(self)
        self.other = inner
        if self.transport is not None:
            self.transport.resume_reading()

    def finish(self) -> None:
        if self.transport is not None and self.transport.get_write_buffer_size():
            # Nothing behind the proxy limits it any more.
            self._connections.add(self, self.transport.abort, peer=self._peer)
            self._deadline = asyncio.get_running_loop().call_later(UNREAD_S, self.transport.abort)
        super().finish()

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.remove(self)
        self._deadline.cancel()
        if self._leading is not None:
            self._leading.cancel()
        super().connection_lost(error)


class ReverseProxy:
    """own: the Unix socket of the agent's own pages. find: where viewers are. on_use: called for every request.

    gate: authentication before the viewers, where the Hub decides. run: names this run of the agent;
    what a viewer issues through it works through it alone. place: where pages are; without it, at this proxy.
    """

    def __init__(
        self,
        own: str,
        find: Finder,
        on_use: Callable[[], None] = lambda: None,
        gate: Gate | None = None,
        run: str = "",
        place: Placer | None = None,
    ) -> None:
        self._own, self._find, self._on_use, self._gate = own, find, on_use, gate
        self.run, self._place, self._address = run or make_secret(), place, ""
        self._listeners: list[socket.socket] = []
        self._connections = ConnectionRegistry(_max_waiting())
        self._acceptor = AsyncAcceptor(self._connections, self._enter, log)
        self._rates, self._unreachable = PeerRates(), LimitedLog(log)
        self._contexts: dict[str, ssl.SSLContext] = {}

    async def open(self, listeners: Sequence[socket.socket], name: str) -> str:
        """Serve what comes to these sockets. Gives the address of the page with this host name, at the port of the
        first."""
        self._listeners += listeners
        for listener in listeners:
            self._acceptor.start(listener)
        self._address = f"http://{name}:{listeners[0].getsockname()[1]}"
        return f"{self._address}/"

    async def close(self) -> None:
        await self._acceptor.close()
        for listener in self._listeners:
            listener.close()

    async def _enter(self, connection: socket.socket, _: Any) -> None:
        peer = peer_of(connection)
        # Each connection is one request. Behind a Hub they all come from its proxy.
        wait_s = self._rates.wait_s(peer) if self._gate is None else 0.0
        if wait_s is None:
            connection.close()
            return
        await asyncio.sleep(wait_s)
        with suppress(OSError):  # It went away.
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(lambda: ClientEnd(self._lead, self._connections, peer), connection)

    async def _lead(self, entrance: ClientEnd, head: RequestHead, rest: bytes) -> None:
        self._on_use()
        came, is_vouched = head, False
        if self._gate is not None:
            head, is_vouched = await self._gate(came)
        viewer, is_bare = head.viewer
        try:
            if viewer is not None and is_bare:
                entrance.refuse(308, 'Viewer addresses end with "/"; redirecting.', came.with_trailing_slash)
                return
            address = None if viewer is None else await self._find(viewer)
            if viewer is not None and address is None:
                entrance.refuse(404, "This viewer does not exist or has ended.")
                return
            inner = await asyncio.wait_for(self._connected(entrance, address), CONNECT_S)
        except (OSError, TimeoutError, ssl.SSLError) as error:
            self._unreachable.warning("Cannot reach a viewer: %s", error)
            entrance.refuse(502, "The viewer cannot be reached at the moment.")
            return
        stated = "" if viewer is None or address is None else self._stated(came, viewer, address, is_vouched)
        self._join(entrance, inner, head.for_upstream(viewer, stated) + rest)

    def _stated(self, came: RequestHead, viewer: str, address: ViewerAddress, is_vouched: bool) -> str:
        place = f"{self._address}/i/{viewer}/" if self._place is None else self._place(came, viewer)
        return " ".join([address.token, self.run, place, *(["own"] if is_vouched else [])])

    async def _connected(self, entrance: ClientEnd, address: ViewerAddress | None) -> ProxyEnd:
        loop = asyncio.get_running_loop()
        if address is None:
            _, side = await loop.create_unix_connection(lambda: ViewerEnd(entrance), self._own)
        elif address.socket:
            _, side = await loop.create_unix_connection(lambda: ViewerEnd(entrance), address.socket)
        else:
            context = self._context(address) if address.certificate else None
            name = "" if context is not None else None
            _, side = await loop.create_connection(
                lambda: ViewerEnd(entrance), address.host, address.port, ssl=context, server_hostname=name
            )
        return side

    def _join(self, entrance: ClientEnd, inner: ProxyEnd, first: bytes) -> None:
        if entrance.transport is None or inner.transport is None:
            if inner.transport is not None:
                inner.transport.close()
            return
        inner.transport.write(first)
        entrance.join(inner)

    def _context(self, address: ViewerAddress) -> ssl.SSLContext:
        """Trusts the viewer's own certificate, and no other, whatever names are in it."""
        if address.certificate not in self._contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.load_verify_locations(cadata=address.certificate)
            self._contexts[address.certificate] = context
        return self._contexts[address.certificate]


def _max_waiting() -> int:
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    few = MAX_WAITING if descriptors == resource.RLIM_INFINITY else descriptors // DESCRIPTORS_PER_WAITING
    return min(MAX_WAITING, few)
