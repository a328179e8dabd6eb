"""Handles: what travels through a scheduler instead of a block.

Here: WorkerId, Handle and its 24 bytes.
Not here: the blocks (worker), finding a Worker (links).
"""

import struct
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv4Address

from pellucid.errors import InvalidInput
from pellucid.transport.address import Address

_PACKED = struct.Struct(">IHHIQI")
HANDLE_BYTES = _PACKED.size
MAX_VERSION = 2**32 - 1


@dataclass(frozen=True, order=True)
class WorkerId:
    """Where a Device Worker listens, and which one it is of those that listened there one after the other.

    host: an IPv4 address. slot: the number of its device on the node. incarnation: chosen at random when it starts.
    """

    host: str
    port: int
    slot: int
    incarnation: int

    @property
    def address(self) -> Address:
        return Address(self.host, self.port)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, order=True)
class Handle:
    """A block of a Worker. version: a block that is changed has the next one; the same handle never gives other voxels.

    >>> handle = Handle(WorkerId("127.0.0.1", 5100, 0, 7), block=3, version=1)
    >>> len(handle.pack()), Handle.unpack(handle.pack()) == handle
    (24, True)
    """

    worker: WorkerId
    block: int
    version: int = 0

    def pack(self) -> bytes:
        """24 bytes."""
        worker = self.worker
        host = int(IPv4Address(worker.host))
        return _PACKED.pack(host, worker.port, worker.slot, worker.incarnation, self.block, self.version)

    @classmethod
    def unpack(cls, packed: bytes) -> "Handle":
        if len(packed) != HANDLE_BYTES:
            raise InvalidInput(f"A handle has {HANDLE_BYTES} bytes, not {len(packed)}.", remedy="Use Handle.pack().")
        host, port, slot, incarnation, block, version = _PACKED.unpack(packed)
        return cls(WorkerId(str(IPv4Address(host)), port, slot, incarnation), block, version)

    @classmethod
    def parse(cls, text: str) -> "Handle":
        """From str(handle)."""
        try:
            return cls.unpack(bytes.fromhex(text))
        except ValueError as error:
            raise InvalidInput(f"Invalid handle {text[:60]!r}.", remedy="Use the text of a Handle.") from error

    @property
    def changed(self) -> "Handle":
        """The same block with its next version."""
        return replace(self, version=self.version + 1 & MAX_VERSION)

    def __str__(self) -> str:
        return self.pack().hex()


def checked_host(text: str) -> str:
    """An IPv4 address that others can connect to."""
    try:
        return str(IPv4Address(text))
    except AddressValueError as error:
        remedy = "Use a numeric IPv4 address of this machine, such as 10.0.0.7."
        raise InvalidInput(f"Device Workers cannot listen at {text!r}.", remedy=remedy) from error
