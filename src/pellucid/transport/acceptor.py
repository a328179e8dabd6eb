"""Accepting connections: listening sockets, and checking the token first.

Here: Acceptor.
Not here: what a connection that was let in does (server), the proof itself (handshake).
"""

import logging
import secrets
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress

from pellucid.errors import PellucidError, TransferInterrupted
from pellucid.transport.address import Address, Certificate, listen, listen_locally, tune
from pellucid.transport.async_acceptor import RETRY_S
from pellucid.transport.connections import ConnectionRegistry
from pellucid.transport.lanes.lane import PROXY, has_rdma, lanes_here, machine
from pellucid.transport.wire.handshake import Tokens, authenticate_server
from pellucid.transport.wire.messages import Channel, Message, Timeout

LOG = logging.getLogger(__name__)
HANDSHAKE_S = 10.0
MAX_UNAUTHENTICATED = 64
"""Connections that have not shown the token yet. Each has a thread; one more closes the oldest of them."""

HANDED_THROUGH = {"lanes": PROXY}

Enter = Callable[[Message, Channel, Callable[[], bool]], None]
"""What a connection came for, the connection, and whether its token is still accepted."""


class Acceptor:
    """Listens on TCP (with TLS where there is a certificate) and on a local socket, until it is closed.

    enter: called in a thread of the connection's own.
    """

    def __init__(self, address: Address, tokens: Tokens, enter: Enter, certificate: Certificate | None) -> None:
        self._tokens = tokens
        self._enter = enter
        self._tls = certificate.context() if certificate else None
        name = f"pellucid-{secrets.token_hex(8)}"
        self._sockets = [listen(address), listen_locally(name)]
        self.address = Address(address.host, self._sockets[0].getsockname()[1], certificate.pin if certificate else "")
        rdma = {"rdma": "yes"} if has_rdma() else {}
        self._offer = {"lanes": " ".join(lanes_here()), "machine": machine(), "local": name, **rdma}
        self._unauthenticated = ConnectionRegistry(MAX_UNAUTHENTICATED)
        self._is_closing = threading.Event()
        self._threads = [threading.Thread(target=self._accept, args=(it,), daemon=True) for it in self._sockets]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._is_closing.set()
        for listening in self._sockets:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)  # Wakes accept.
            listening.close()
        for thread in self._threads:
            thread.join()

    def _accept(self, listening: socket.socket) -> None:
        while not self._is_closing.is_set():
            try:
                connection, _ = listening.accept()
            except OSError:
                # Unless it is closed, most likely no descriptor is left.
                self._unauthenticated.close_oldest()
                self._is_closing.wait(RETRY_S)
                continue
            is_local = listening.family == socket.AF_UNIX
            try:
                self._begin(self._secured(connection), self._offer, is_local)
            except (OSError, RuntimeError) as error:  # It went away, or there can be no thread for it.
                LOG.info("a connection ended: %s", error)
                connection.close()

    def serve(self, connection: socket.socket) -> None:
        """Take a connection that came another way: a web server hands its bytes through."""
        if self._is_closing.is_set():
            connection.close()
            return
        self._begin(connection, HANDED_THROUGH)

    def _begin(self, connection: socket.socket, offer: dict[str, str], is_local: bool = False) -> None:
        self._unauthenticated.add(id(connection), lambda: _cut(connection))
        threading.Thread(target=self._admit, args=(connection, offer, is_local), daemon=True).start()

    def _admit(self, connection: socket.socket, offer: dict[str, str], is_local: bool) -> None:
        """Accept a connection that proves the token in time; sending a byte now and then does not extend the time."""
        deadline = threading.Timer(HANDSHAKE_S, _cut, (connection,))
        deadline.daemon = True
        deadline.start()
        try:
            try:
                timeout = Timeout(HANDSHAKE_S, self._is_closing)
                _shake_hands(connection)
                channel = Channel(connection, timeout, is_local)
                opening, token = authenticate_server(channel, self._tokens(), offer)
            except BaseException:
                connection.close()
                raise
            finally:
                deadline.cancel()
                self._unauthenticated.remove(id(connection))
            self._enter(opening, channel, lambda: token in self._tokens())
        except (PellucidError, OSError) as error:
            LOG.info("a connection ended: %s", error)

    def _secured(self, connection: socket.socket) -> socket.socket:
        """The socket to be used from now on; nothing is sent yet."""
        if connection.family == socket.AF_UNIX:
            return connection
        tune(connection)
        connection.settimeout(HANDSHAKE_S)
        if self._tls is None:
            return connection
        return self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)


def _shake_hands(connection: socket.socket) -> None:
    if isinstance(connection, ssl.SSLSocket):
        try:
            connection.do_handshake()
        except ssl.SSLError as error:
            raise TransferInterrupted(f"TLS failed: {error}") from error


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):  # It went away by itself.
        # Of the socket below TLS: another thread may be using what is above it.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
