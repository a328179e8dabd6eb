"""Both sides of the agent's proxy, each a process of its own: a node that sends what it is asked for, and the proxy.

Here: node, proxy, and Link, a connection through or without the proxy.
Not here: what is measured (agent).
"""

import asyncio
import multiprocessing
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from pellucid.agent.jobs.records import ViewerAddress
from pellucid.agent.proxy.server import ReverseProxy
from pellucid.transport.address import Certificate

HOST = "127.0.0.1"
ID = "0123456789"
UPGRADE = "GET {path} HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


def _node(ready: Connection, certificate: Certificate | None) -> None:
    listener = socket.create_server((HOST, 0))
    ready.send(listener.getsockname()[1])
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_serve, args=(connection, certificate), daemon=True).start()


def _serve(connection: socket.socket, certificate: Certificate | None) -> None:
    """After an upgrade, every eight bytes ask for so many."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if certificate is not None:
        connection = certificate.context().wrap_socket(connection, server_side=True)
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(4096)
    connection.sendall(SWITCHED)
    piece = bytes(2**20)
    while request := connection.recv(8):
        left = int.from_bytes(request, "little")
        while left:
            connection.sendall(memoryview(piece)[: min(left, len(piece))])
            left -= min(left, len(piece))


def _acceptor(ready: Connection, address: ViewerAddress) -> None:
    async def serve() -> None:
        async def find(_: str) -> ViewerAddress:
            return address

        acceptor = ReverseProxy("", find)
        listener = socket.create_server((HOST, 0))
        await acceptor.open([listener], HOST)
        ready.send(listener.getsockname()[1])
        await asyncio.Event().wait()

    asyncio.run(serve())


@contextmanager
def _running(target: object, argument: object) -> Iterator[int]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, argument), daemon=True)  # type: ignore[arg-type]
    process.start()
    try:
        yield int(ours.recv())
    finally:
        process.kill()
        process.join()


@contextmanager
def ends(certificate: Certificate | None) -> Iterator[tuple[int, int]]:
    """The ports of the node and of the proxy that leads to it."""
    with _running(_node, certificate) as node:
        pem = "" if certificate is None else certificate.certificate.read_text()
        with _running(_acceptor, ViewerAddress(HOST, node, "", pem)) as acceptor:
            yield node, acceptor


class Link:
    """A connection on which bytes are asked for. certificate: where TLS is spoken on it."""

    def __init__(self, port: int, path: str, certificate: Path | None = None) -> None:
        self._socket = socket.create_connection((HOST, port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.load_verify_locations(certificate)
            self._socket = context.wrap_socket(self._socket)
        self._buffer = bytearray(2**20)
        self._socket.sendall(UPGRADE.format(path=path).encode())
        self._take(len(SWITCHED))

    def ask(self, count: int) -> None:
        """Until so many bytes have come."""
        self._socket.sendall(count.to_bytes(8, "little"))
        self._take(count)

    def _take(self, count: int) -> None:
        while count:
            count -= self._socket.recv_into(self._buffer, min(count, len(self._buffer)))

    def close(self) -> None:
        self._socket.close()
