"""Addresses of pages on this machine, each with its own host name.

Here: new_host_name, and the sockets that viewers and agents listen at.
Not here: what is served there (server, agent), where such a name leads (transport.address).

For a browser all ports of 127.0.0.1 are one site: a page that another user serves at any of them can leave a service
worker at every port where that user listens, which then answers in the place of what is started there later. A name
that is new at every start, and that no one can guess, has none. Browsers lead every name below localhost to this
machine, at ::1 or at 127.0.0.1: both are ours, or another user could listen at one of them.
"""

import errno
import secrets
import socket

from pellucid.errors import InvalidInput
from pellucid.transport.address import LOOPBACK

IPV6_LOOPBACK = "::1"
ANY, IPV6_ANY = "0.0.0.0", "::"
TRIES = 50


def new_host_name() -> str:
    """For one start of a viewer or an agent."""
    return f"{secrets.token_hex(8)}.localhost"


def listen_on_loopback(port: int) -> list[socket.socket]:
    """Sockets of this machine alone, at the same port of 127.0.0.1 and, where there is IPv6, of ::1.

    Port 0: a free one.
    """
    return _listen_on_both(LOOPBACK, IPV6_LOOPBACK, port)


def listen_everywhere(port: int) -> list[socket.socket]:
    """Sockets that other machines reach too, at the same port of all addresses, also those of IPv6 where there is any:
    the name of a machine may lead to either, and where this process does not listen, another user could.

    Port 0: a free one.
    """
    return _listen_on_both(ANY, IPV6_ANY, port)


def _listen_on_both(host: str, ipv6_host: str, port: int) -> list[socket.socket]:
    for _ in range(TRIES):
        first = _bound(socket.AF_INET, host, port)
        try:
            return [first, _bound(socket.AF_INET6, ipv6_host, first.getsockname()[1])]
        except OSError as error:
            if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                return [first]
            first.close()
            if port:
                raise
    raise InvalidInput(
        f"No port is free at both {host} and {ipv6_host}.",
        remedy="Close other programs, or choose a port with --port.",
    )


def _bound(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    # With its protocol named: only then asyncio sends at once, and a small answer does not take 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host, port))
    except BaseException:
        listener.close()
        raise
    listener.listen()
    return listener
