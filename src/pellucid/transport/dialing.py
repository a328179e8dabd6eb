"""Calling a listener: over its local socket where both are on one machine, otherwise over TCP.

Here: dial, local_channel.
Not here: sockets (address), the handshake itself (handshake), what is said afterwards (client, peers).
"""

from dataclasses import replace

from pellucid.errors import Unreachable
from pellucid.transport.address import Address, connect, connect_local
from pellucid.transport.lanes.lane import machine
from pellucid.transport.wire.handshake import authenticate_client
from pellucid.transport.wire.messages import Channel, Message, Timeout


def dial(
    address: Address, token: str, purpose: dict[str, str], timeout: Timeout, *, prefers_local: bool = True
) -> Channel:
    """An authenticated connection. purpose: what it is for, as the listener expects it."""
    channel = Channel(connect(address, timeout.timeout_s), timeout)
    try:
        welcome = authenticate_client(channel, token, purpose)
        is_same_machine = bool(machine()) and welcome.fields.get("machine") == machine()
        local = local_channel(channel, welcome, token, purpose) if prefers_local and is_same_machine else None
    except BaseException:
        channel.close()
        raise
    return local or channel


def local_channel(remote: Channel, welcome: Message, token: str, purpose: dict[str, str]) -> Channel | None:
    """The same conversation over the listener's local socket, which memory can be handed through; None where this
    process does not see it: two network namespaces (containers) of one machine do not see each other's sockets.

    The remote channel ends first: a listener that serves one connection at a time waits for that.
    """
    try:
        local = Channel(connect_local(welcome.get("local")), replace(remote.timeout), is_local=True)
    except Unreachable:
        return None
    remote.close()
    try:
        authenticate_client(local, token, purpose)
    except BaseException:
        local.close()
        raise
    return local
