"""A listener behind a web server: its address, and a connection that the server passes on.

Here: WebAddress, asking for the connection.
Not here: frames on it (frames), moving bytes through it (tunnel), the route at the other end
(instance.routes.transfer_socket).
"""

import base64
import hashlib
import http.client
import os
import socket
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit

from pellucid.errors import InvalidInput, TokenRejected, Unreachable
from pellucid.transport.address import Address, connect
from pellucid.transport.server_proof import request_proof

ROUTE = "/transfer"
"""Below the viewer's own address."""
MAX_ANSWER = 64 * 1024
_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_PORTS = {"http": 80, "https": 443}
_CLOSED = (401, 403)


@dataclass(frozen=True)
class WebAddress:
    """Where a viewer's pages are. pin: the SHA-256 of the server's certificate, if no authority signed it.

    >>> WebAddress.parse("https://hub.example.org/user/ada/i/0123456789/")
    WebAddress(scheme='https', host='hub.example.org', port=443, path='/user/ada/i/0123456789', pin='')
    """

    scheme: str
    host: str
    port: int
    path: str
    pin: str = ""

    @classmethod
    def parse(cls, text: str) -> "WebAddress":
        """Read ``https://host[:port]/path[#PIN]``, or the same with http; what stands behind ? is not used."""
        try:
            parts = urlsplit(text)
            port = parts.port or _PORTS[parts.scheme]
        except (ValueError, KeyError):
            port = 0
        if not port or not parts.hostname or set(text) & set(" \r\n"):
            raise InvalidInput(
                f"{text.partition('?')[0]!r} is not a valid web address.",
                remedy="Write https://host/path, as in the browser.",
            )
        return cls(parts.scheme, parts.hostname, port, parts.path.rstrip("/"), parts.fragment)

    def __str__(self) -> str:
        return f"{self.scheme}://{self._place}{self.path}" + (f"#{self.pin}" if self.pin else "")

    @property
    def _place(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def request(self, key: str, bearer: str) -> bytes:
        lines = [
            f"GET {self.path}{ROUTE} HTTP/1.1",
            f"Host: {self._place}",
            f"Authorization: Bearer {bearer}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
        ]
        return "\r\n".join([*lines, "", ""]).encode()


def is_web(address: str) -> bool:
    return address.startswith(("http://", "https://"))


def open_web(address: WebAddress, bearer: str, timeout_s: float, *, has_proof: bool) -> tuple[socket.socket, bytes]:
    """A connection that the web server has agreed to hand through, and what came with its answer."""
    connection = _connected(address, timeout_s)
    if has_proof and address.scheme == "http":
        connection = _proved(connection, address, bearer, timeout_s)
    key = base64.b64encode(os.urandom(16)).decode()
    try:
        connection.settimeout(timeout_s)
        connection.sendall(address.request(key, bearer))
        head, rest = _answer(connection)
    except OSError as error:
        connection.close()
        raise Unreachable(str(address), str(error) or type(error).__name__) from error
    fault = _fault(head, key)
    if fault is not None:
        connection.close()
        raise (
            TokenRejected(str(address))
            if fault in _CLOSED
            else Unreachable(str(address), f"the web server did not upgrade the connection (status {fault})")
        )
    return connection, rest


def _connected(address: WebAddress, timeout_s: float) -> socket.socket:
    return _secured(connect(Address(address.host, address.port, address.pin), timeout_s), address)


def _proved(connection: socket.socket, address: WebAddress, bearer: str, timeout_s: float) -> socket.socket:
    """A connection to a server that has proved that it holds the bearer: the same, where the server kept it open."""
    opened = http.client.HTTPConnection(address.host, address.port, timeout=timeout_s)
    opened.sock = connection
    try:
        connection.settimeout(timeout_s)
        proof = request_proof(opened, address.path, bearer)
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise Unreachable(str(address), str(error) or type(error).__name__) from error
    if proof != "proved":
        connection.close()
        raise (
            TokenRejected(str(address))
            if proof == "unknown"
            else Unreachable(str(address), "it is too busy" if proof == "busy" else "another program responded")
        )
    return opened.sock or _connected(address, timeout_s)


def _secured(connection: socket.socket, address: WebAddress) -> socket.socket:
    if address.scheme == "http" or address.pin:  # A pinned one speaks TLS already.
        return connection
    try:
        return ssl.create_default_context().wrap_socket(connection, server_hostname=address.host)
    except (ssl.SSLError, OSError) as error:
        connection.close()
        raise Unreachable(str(address), f"TLS failed: {error}") from error


def _answer(connection: socket.socket) -> tuple[list[str], bytes]:
    """The lines of the answer's head, and what followed it."""
    received = bytearray()
    while (end := received.find(b"\r\n\r\n")) < 0:
        more = connection.recv(4096)
        if not more or len(received) > MAX_ANSWER:
            raise OSError("the web server did not respond")
        received += more
    return received[:end].decode("latin-1").split("\r\n"), bytes(received[end + 4 :])


def _fault(head: list[str], key: str) -> int | None:
    """The status, where the server did not agree."""
    words = head[0].split(" ")
    status = int(words[1]) if len(words) > 1 and words[1].isdecimal() else 0
    wanted = base64.b64encode(hashlib.sha1((key + _MAGIC).encode(), usedforsecurity=False).digest()).decode()
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    is_agreed = status == 101 and headers.get("sec-websocket-accept") == wanted
    return None if is_agreed else status
