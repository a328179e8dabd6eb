"""Addresses, and the sockets that connect to them.

Here: Address as one string, connecting and listening over TCP, TLS and Unix sockets, how a silent peer is noticed.
Not here: who may come in (handshake), what is said (messages).
"""

import re
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from pellucid.errors import InvalidInput, Unreachable
from pellucid.transport.pinning import certificate_pin, pinned_context, shows_pin

CONNECT_TIMEOUT_S = 10.0
LOOPBACK = "127.0.0.1"
SILENCE_MS = 30_000
"""A peer whose machine or network is gone is given up after this long, even where nothing is being sent."""

_SPELLING = re.compile(
    r"(?:(?P<scheme>tcp|tls)://)?(?P<host>\[[0-9a-fA-F:.%\w]+\]|[^:/#\[\]]*):(?P<port>\d{1,5})(?:#(?P<pin>[0-9a-f]{64}))?"
)


@dataclass(frozen=True)
class Address:
    """A host and a port. pin: the SHA-256 of the other end's certificate; if it is set, TLS is used.

    >>> Address.parse("node7:5100")
    Address(host='node7', port=5100, pin='')
    >>> str(Address.parse("[::1]:5100"))
    '[::1]:5100'
    """

    host: str
    port: int
    pin: str = ""

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read ``host:port``, ``tcp://host:port`` or ``tls://host:port#PIN``."""
        found = _SPELLING.fullmatch(text)
        if found is None or int(found["port"]) > 65535 or (found["scheme"] == "tls") != bool(found["pin"]):
            remedy = "Use host:port, or tls://host:port#PIN with the 64 digits that the receiver printed."
            raise InvalidInput(f"Invalid address {text!r}.", remedy=remedy)
        return cls(found["host"].strip("[]") or "127.0.0.1", int(found["port"]), found["pin"] or "")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"tls://{host}:{self.port}#{self.pin}" if self.pin else f"{host}:{self.port}"


@dataclass(frozen=True)
class Certificate:
    """PEM files for a listener that uses TLS."""

    certificate: Path
    key: Path

    @property
    def pin(self) -> str:
        """The SHA-256 of the certificate, by which clients recognise it."""
        return certificate_pin(self.certificate.read_text())

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context


def host_to_connect(name: str) -> str:
    """Where a host name leads. Those below localhost are this machine, which not every system knows.

    >>> host_to_connect("3f2a.localhost"), host_to_connect("node7")
    ('127.0.0.1', 'node7')
    """
    return LOOPBACK if name.endswith(".localhost") else name


def connect(address: Address, timeout_s: float = CONNECT_TIMEOUT_S) -> socket.socket:
    """A connection to a listener; with a pin, only to the holder of that certificate."""
    try:
        host = host_to_connect(address.host)
        connection = socket.create_connection((host, address.port), min(timeout_s, CONNECT_TIMEOUT_S))
    except OSError as error:
        raise Unreachable(str(address), error.strerror or str(error)) from error
    tune(connection)
    return _wrapped(connection, address) if address.pin else connection


def _wrapped(connection: socket.socket, address: Address) -> ssl.SSLSocket:
    try:
        wrapped = pinned_context().wrap_socket(connection)
    except (ssl.SSLError, OSError) as error:
        connection.close()
        raise Unreachable(str(address), f"TLS failed: {error}") from error
    if not shows_pin(wrapped, address.pin):
        wrapped.close()
        raise Unreachable(str(address), "its certificate is not the pinned one")
    return wrapped


def connect_local(name: str) -> socket.socket:
    """A connection to a Unix socket of this machine (and this network namespace), by its abstract name."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(CONNECT_TIMEOUT_S)
        connection.connect(b"\0" + name.encode())
    except OSError as error:
        connection.close()
        raise Unreachable(f"the local socket {name}", error.strerror or str(error)) from error
    return connection


def listen(address: Address) -> socket.socket:
    """A listening socket; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=64)
    except OSError as error:
        remedy = "Choose another port (0: any free port) and an address of this machine."
        raise InvalidInput(f"Cannot listen at {address}: {error.strerror}.", remedy=remedy) from error


def listen_locally(name: str) -> socket.socket:
    """A listening Unix socket with an abstract name: it is no file, and is gone with its process."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(b"\0" + name.encode())
    listening.listen(64)
    return listening


def tune(connection: socket.socket) -> None:
    """Messages go out at once, and a machine that fell silent is noticed."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_MS)
