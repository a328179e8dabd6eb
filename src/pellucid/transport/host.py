"""What happens to arrays that arrive, and where requested arrays come from.

Here: Host, which a listener calls; Mailbox, the simplest one; ReceiveLimits; ReceivedArray and OfferedArray.
Not here: connections (server), memory and pieces (pieces).
"""

import json
import queue
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pellucid.box import Box
from pellucid.errors import InvalidInput, PellucidError, TransferInterrupted
from pellucid.formats.protocol import Voxels
from pellucid.transport.wire.announcement import NO_LABEL, Announcement, ArrayInfo
from pellucid.transport.wire.pieces import PieceTarget
from pellucid.transport.wire.transfer import TransferReport


@dataclass(frozen=True)
class ReceiveLimits:
    """What a listener accepts.

    limit_bytes: the largest array. at_once: how many arrays at a time; with is_waiting the next one waits, otherwise it
    is rejected. streams: TCP connections per transfer. keep_s: how long the pieces of an interrupted transfer are kept,
    unless its sender has died.
    """

    limit_bytes: int = 2**40
    at_once: int = 1
    is_waiting: bool = True
    streams: int = 4
    timeout_s: float = 60.0
    keep_s: float = 60.0


DEFAULT_LIMITS = ReceiveLimits()


@dataclass(frozen=True)
class ReceivedArray:
    """An array that has arrived, with the information from its sender. Its memory is shared (formats.shared_memory)."""

    target: PieceTarget
    report: TransferReport | None = None

    @property
    def array(self) -> Voxels:
        return self.target.shared.array

    @property
    def label(self) -> ArrayInfo:
        return self.target.announcement.label

    @property
    def metadata(self) -> Any:
        return json.loads(self.target.announcement.metadata)


@dataclass(frozen=True)
class OfferedArray:
    """An array that clients can retrieve."""

    array: Voxels
    label: ArrayInfo = NO_LABEL
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Host:
    """Decides what happens to arrays. This one keeps nothing: override its methods. They are called in the thread of
    the transfer.

    A PellucidError that is raised here is sent to the other end.
    """

    def allocate(self, announcement: Announcement) -> PieceTarget:
        """Allocate memory for an announced array, before a byte is sent."""
        return PieceTarget.create(announcement)

    def on_started(self, target: PieceTarget) -> None:
        """The first bytes arrive, for the first time or after an interruption. on_stored or on_interrupted follows."""

    def on_block(self, target: PieceTarget, box: Box) -> None:
        """A block of a stream has arrived."""

    def on_stored(self, received: ReceivedArray) -> None:
        """An array is complete. Until now, the previous one was still in use."""

    def on_interrupted(self, announcement: Announcement, kept: int, error: PellucidError) -> None:
        """A transfer was interrupted or rejected; this many bytes are kept for the next attempt."""

    def find(self, request: Mapping[str, Any]) -> OfferedArray:
        """The array that a client requests."""
        raise InvalidInput("This receiver does not send arrays.", remedy="Request the array from a running viewer.")


class Mailbox(Host):
    """Keeps arrays in the order in which they arrive."""

    def __init__(self) -> None:
        self._received: queue.Queue[ReceivedArray] = queue.Queue()

    def on_stored(self, received: ReceivedArray) -> None:
        self._received.put(received)

    def next(self, timeout_s: float | None = None) -> ReceivedArray:
        try:
            return self._received.get(timeout=timeout_s)
        except queue.Empty:
            raise TransferInterrupted(f"nothing arrived within {timeout_s:g} s") from None
