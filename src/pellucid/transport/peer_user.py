"""Where a connection comes from: a user of this machine, or another machine.

Here: Peer, peer_of.
Not here: what a connection may do (wire.handshake, instance.access): this only decides whose turn it is.
"""

import ipaddress
import os
import socket
import struct
import threading
from dataclasses import dataclass
from typing import cast

SOCK_DIAG, BY_FAMILY, IS_REQUEST, ERROR = 4, 20, 1, 2
"""Linux: the protocol of netlink that describes sockets, and types of its messages."""
HEADER = struct.Struct("=IHHII")
CREDENTIALS = struct.Struct("=iII")
OWNER = struct.Struct("=II")
REQUEST = struct.Struct("=BBBBI")
PORTS = struct.Struct(">HH")
ADDRESS_BYTES, MAX_REPLY_BYTES = 16, 4096
NO_INTERFACE_NO_COOKIE = struct.pack("=I", 0) + b"\xff" * 8
USER_AT = HEADER.size + 4 + PORTS.size + 2 * ADDRESS_BYTES + len(NO_INTERFACE_NO_COOKIE) + 12
ANY_STATE = 0xFFFFFFFF
_OPENED = threading.local()


@dataclass(frozen=True)
class Peer:
    """user: the id of a user of this machine; None where it is not known, or the other end is on another machine. host:
    that machine; empty for this one."""

    user: int | None
    host: str = ""

    @property
    def is_this_user(self) -> bool:
        return self.user == os.geteuid()


def peer_of(connection: socket.socket) -> Peer:
    try:
        if connection.family == socket.AF_UNIX:
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
            return Peer(CREDENTIALS.unpack(credentials)[1])
        user = _user_of(connection)
        return Peer(None, _host(connection)) if user is None else Peer(user)
    except OSError:  # It is closed already, or the system does not say.
        return Peer(None)


def _user_of(connection: socket.socket) -> int | None:
    """Of the socket at the other end, if that is on this machine."""
    family, here, there = connection.family, connection.getsockname(), connection.getpeername()
    ends = b"".join(socket.inet_pton(family, host).ljust(ADDRESS_BYTES, b"\0") for host in (there[0], here[0]))
    request = REQUEST.pack(family, socket.IPPROTO_TCP, 0, 0, ANY_STATE)
    request += PORTS.pack(there[1], here[1]) + ends + NO_INTERFACE_NO_COOKIE
    system = _system()
    system.send(HEADER.pack(HEADER.size + len(request), BY_FAMILY, IS_REQUEST, 1, 0) + request)
    reply = system.recv(MAX_REPLY_BYTES)
    if len(reply) < USER_AT + OWNER.size or HEADER.unpack_from(reply)[1] == ERROR:
        return None
    user, file = OWNER.unpack_from(reply, USER_AT)
    return int(user) if file else None  # One that was closed says that it is the administrator's.


def _host(connection: socket.socket) -> str:
    """The machine at the other end. This one has millions of addresses, and a user can connect from each and be gone
    before we look whose connection it was: they are one host, or every one of them would have a turn of its own."""
    here, there = str(connection.getsockname()[0]), str(connection.getpeername()[0])
    return "" if there == here or ipaddress.ip_address(there).is_loopback else there


def _system() -> socket.socket:
    """One in each thread: opening one takes longer than asking."""
    if not hasattr(_OPENED, "system"):
        _OPENED.system = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG)
        _OPENED.system.setblocking(False)  # The answer is there when the request was sent.
    return cast(socket.socket, _OPENED.system)
