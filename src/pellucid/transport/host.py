"""What becomes of arrays that arrive, and where those come from that are asked for.

Here: Host, which a listener asks and tells; Mailbox, the simplest one; ReceiveLimits; ReceivedArray and OfferedArray.
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
    """What a listening end takes.

    limit_bytes: the largest array. at_once: how many arrays at a time; with is_waiting the next one waits, else it is
    refused. streams: connections per transfer over TCP. keep_s: how long the pieces of a broken transfer are kept,
    where its sender may still live.
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
    """An array that has arrived, with what its sender said about it. The memory is shared: see formats.shared."""

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
    """An array to hand out."""

    array: Voxels
    label: ArrayInfo = NO_LABEL
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Host:
    """What becomes of arrays. This one keeps nothing: override what is wanted. Called in the thread of the transfer.

    An error of ours that is raised here is what the other end hears.
    """

    def allocate(self, announcement: Announcement) -> PieceTarget:
        """Memory for what is announced, before a byte is sent."""
        return PieceTarget.create(announcement)

    def on_started(self, target: PieceTarget) -> None:
        """Bytes begin to come, for the first time or after a break. From here on stored or broken follows."""

    def on_block(self, target: PieceTarget, box: Box) -> None:
        """A block of a stream is in its place."""

    def on_stored(self, received: ReceivedArray) -> None:
        """All of an array is there. Until now, nothing has taken the place of what was there before."""

    def on_interrupted(self, announcement: Announcement, kept: int, error: PellucidError) -> None:
        """A transfer broke off, or was refused in the middle; so many bytes are kept for the next try."""

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
