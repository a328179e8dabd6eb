"""A transfer through a web server: the same bytes, in frames of a WebSocket, to a machine behind a proxy.

Here: connect_through, for the end that connects, and relay, for the web server at the other end.
Not here: frames (frames), the agreement with the web server (upgrade), what is said (messages).

Either end talks over one of two joined sockets, as over any other connection; the other one is pumped.
"""

import asyncio
import select
import socket
import ssl
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

from pellucid.errors import TransferProtocolError
from pellucid.transport.tunnel.frames import (
    BINARY,
    CLOSE,
    FRAME_BYTES,
    PING,
    PONG,
    FrameReader,
    FrameWriter,
    small_frame,
)
from pellucid.transport.tunnel.upgrade import WebAddress, open_web

READ_BYTES = 2**18
NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)

Receive = Callable[[], Awaitable[bytes | None]]
Send = Callable[[bytes], Awaitable[None]]


def connect_through(address: WebAddress, bearer: str, timeout_s: float, *, has_proof: bool = True) -> socket.socket:
    """A connection to the listening end behind a web server. bearer: what that server knows the caller by. has_proof:
    without TLS, the server proves first that it holds the bearer."""
    remote, first = open_web(address, bearer, timeout_s, has_proof=has_proof)
    near, far = socket.socketpair()
    threading.Thread(target=Tunnel(far, remote).run, args=(first,), daemon=True).start()
    return near


class Tunnel:
    """Pumps between a local socket and a WebSocket until one of them ends. One thread: TLS can be used by one only."""

    def __init__(self, local: socket.socket, remote: socket.socket) -> None:
        self._local, self._remote = local, remote
        self._writer, self._reader = FrameWriter(), FrameReader()
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._outward: deque[memoryview] = deque()
        self._inward: deque[memoryview] = deque()
        self._is_left = self._is_over = False

    def run(self, first: bytes) -> None:
        """first: what came from the web server already."""
        self._local.setblocking(False)
        self._remote.setblocking(False)
        try:
            self._hear(memoryview(first))
            while not (self._is_left and not self._outward) and not (self._is_over and not self._inward):
                self._wait()
                self._turn()
        except (OSError, TransferProtocolError):
            pass  # Both ends notice when their sockets are closed.
        finally:
            for connection in (self._remote, self._local):
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()

    def _wait(self) -> None:
        """Until something can be done. What cannot be passed on is not read: so the two ends hold each other up."""
        waiting = select.poll()
        local = (select.POLLOUT if self._inward else 0) | (0 if self._outward else select.POLLIN)
        remote = (select.POLLOUT if self._outward else 0) | (0 if self._inward else select.POLLIN)
        for connection, events in ((self._local, local), (self._remote, remote)):
            if events:
                waiting.register(connection, events)
        is_decrypted = isinstance(self._remote, ssl.SSLSocket) and self._remote.pending() and not self._inward
        waiting.poll(0 if is_decrypted else None)

    def _turn(self) -> None:
        _pass_on(self._outward, self._remote)
        _pass_on(self._inward, self._local)
        if not self._inward and not self._is_over:
            self._read_remote()
        if not self._outward and not self._is_left:
            self._read_local()

    def _read_remote(self) -> None:
        with suppress(*NOT_NOW):
            count = self._remote.recv_into(self._buffer)
            self._is_over = count == 0
            self._hear(self._buffer[:count])

    def _hear(self, content: memoryview) -> None:
        for kind, part in self._reader.feed(content):
            if kind == BINARY:
                self._inward.append(part)
            elif kind == PING:
                self._outward.append(memoryview(small_frame(PONG, bytes(part))))
            elif kind == CLOSE:
                self._is_over = True

    def _read_local(self) -> None:
        with suppress(*NOT_NOW):
            count = self._local.recv_into(self._writer.room)
            self._is_left = count == 0
            frame = self._writer.frame(BINARY, count) if count else memoryview(small_frame(CLOSE))
            self._outward.append(frame)
            _pass_on(self._outward, self._remote)


def _pass_on(parts: deque[memoryview], connection: socket.socket) -> None:
    with suppress(*NOT_NOW):
        while parts:
            count = connection.send(parts[0])
            if count < len(parts[0]):
                parts[0] = parts[0][count:]
            else:
                parts.popleft()


async def relay(connection: socket.socket, receive: Receive, send: Send) -> None:
    """At the web server: pump between a WebSocket and one of two joined sockets, until one of them ends.

    receive: the next message, None when there will be none. connection is closed at the end.
    """
    loop = asyncio.get_running_loop()
    connection.setblocking(False)

    async def inward() -> None:
        while (content := await receive()) is not None:
            with suppress(OSError):  # The receiver has closed; what was sent before is still on its way to the caller.
                await loop.sock_sendall(connection, content)

    async def outward() -> None:
        while content := await loop.sock_recv(connection, FRAME_BYTES):
            await send(content)

    tasks = [asyncio.ensure_future(inward()), asyncio.ensure_future(outward())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        connection.close()
