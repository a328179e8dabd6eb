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
        local = local_channel(welcome, token, purpose, timeout) if prefers_local and is_same_machine else None
    except BaseException:
        channel.close()
        raise
    if local is None:
        return channel
    channel.close()
    return local


def local_channel(welcome: Message, token: str, purpose: dict[str, str], timeout: Timeout) -> Channel | None:
    """The same conversation over the listener's local socket, which memory can be handed through; None where this
    process does not see it: two network namespaces (containers) of one machine do not see each other's sockets."""
    try:
        local = Channel(connect_local(welcome.get("local")), replace(timeout), is_local=True)
    except Unreachable:
        return None
    try:
        authenticate_client(local, token, purpose)
    except BaseException:
        local.close()
        raise
    return local
