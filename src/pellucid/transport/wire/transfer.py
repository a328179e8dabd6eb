"""One transfer, from its announcement to the last piece: the same messages in both directions and on every lane.

Here: deliver (the sending side) and take (the receiving side), and what a transfer was like afterwards.
Not here: connections (client, server), the bytes themselves (lanes).

    sender                       receiver
    announce ------------------>            allocates, maps
             <------------------ ready      which pieces are missing, and how to send them
    pieces  ===================>            verified one by one
             <------------------ ready      pieces that came wrong, again
             <------------------ stored
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter

from pellucid import progress
from pellucid.errors import PellucidError, TransferInterrupted, TransferProtocolError
from pellucid.formats.protocol import Voxels
from pellucid.transport.lanes.lane import Lane, Link, make_lane
from pellucid.transport.wire.announcement import Announcement, PieceLayout
from pellucid.transport.wire.messages import Message, error_message
from pellucid.transport.wire.pieces import PieceSource, PieceTarget, format_ranges, parse_ranges

MAX_ROUNDS = 4


@dataclass(frozen=True)
class TransferReport:
    """How a transfer went. nbytes: moved by the last attempt; resumed_bytes: already received before.

    seconds: from the announcement to the last acknowledgement; moving_s: the part of it in which bytes moved, without
    the receiver's allocation.
    """

    lane: str
    streams: int
    checksum: str
    nbytes: int
    seconds: float
    resumed_bytes: int = 0
    moving_s: float = 0.0

    @property
    def rate(self) -> float:
        """Bytes per second of the whole transfer."""
        return self.nbytes / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        rate = progress.amount(self.rate, "B")
        return (
            f"{progress.amount(self.nbytes, 'B')} through {self.lane} in {progress.duration(self.seconds)} ({rate}/s)"
        )


@contextmanager
def opened(lane_name: str, link: Link) -> Iterator[Lane]:
    """A lane that is closed at the end; errors here are sent to the peer too."""
    lane = make_lane(lane_name, link)
    try:
        yield lane
    except TransferInterrupted:
        raise
    except PellucidError as error:
        report_error(link, error)
        raise
    finally:
        lane.close()


def report_error(link: Link, error: PellucidError) -> None:
    """Send the error, where the other end can still receive it."""
    try:
        link.control.write(error_message(error))
    except (PellucidError, OSError):
        return


def send_array(link: Link, announcement: Announcement, array: Voxels, lane_name: str) -> TransferReport:
    """Send an array. Raise what the receiving end refuses with, and TransferInterrupted where it goes away."""
    start = perf_counter()
    link.control.write(announcement.message(lane=lane_name))
    with opened(lane_name, link) as lane:
        answer = link.control.expect("ready", "stored", is_patient=True)
        streams = answer.number("streams") if "streams" in answer.fields else 1
        resumed, moving_s = -1, 0.0
        while answer.kind == "ready":
            cut = PieceLayout(announcement.nbytes, _piece_bytes(answer, announcement))
            missing = parse_ranges(answer.get("missing"), cut.count)
            kept = announcement.nbytes - cut.total(missing)
            resumed = kept if resumed < 0 else resumed
            begun = perf_counter()
            with progress.task(f"Sending {announcement.label.name}".rstrip(), announcement.nbytes, "B", kept) as bar:
                lane.send(PieceSource(array, cut, announcement.checksum, bar), missing, answer)
            answer = link.control.expect("ready", "stored", is_patient=True)
            moving_s += perf_counter() - begun
    check, before = "none" if lane_name == "shm" else announcement.checksum, max(0, resumed)
    return TransferReport(
        lane_name, streams, check, announcement.nbytes - before, perf_counter() - start, before, moving_s
    )


def _piece_bytes(answer: Message, announcement: Announcement) -> int:
    count = answer.number("piece")
    if count == 0 or count % announcement.dtype.itemsize:
        raise TransferProtocolError(f"it requested pieces of {count} bytes")
    return count


def receive_array(link: Link, target: PieceTarget, lane_name: str, stored: Callable[[TransferReport], None]) -> None:
    """Receive an array into prepared memory. stored: called when all of it is there, before the sender is notified."""
    start, announcement = perf_counter(), target.announcement
    resumed = kept_bytes(target)
    with opened(lane_name, link) as lane:
        with progress.task(f"Receiving {announcement.label.name}".rstrip(), announcement.nbytes, "B", resumed) as bar:
            _rounds(link, lane, replace(target, bar=bar))
        check = "none" if lane_name == "shm" else announcement.checksum
        moved = announcement.nbytes - resumed
        link.check()  # A sender that has just cancelled does not want it to be shown.
        stored(TransferReport(lane_name, link.streams, check, moved, perf_counter() - start, resumed))
        link.control.write(Message("stored"))


def _rounds(link: Link, lane: Lane, target: PieceTarget) -> None:
    for _ in range(MAX_ROUNDS):
        missing = target.ledger.missing()
        if not missing:
            return
        invitation, descriptors = lane.invite(target)
        text = {"piece": str(target.cut.piece_bytes), "missing": format_ranges(missing), **invitation.fields}
        link.control.write(Message("ready", text, invitation.body), descriptors)
        lane.receive(target, missing)
        link.timeout.check()
    if target.ledger.missing():
        raise TransferProtocolError(
            f"pieces arrived corrupted {MAX_ROUNDS} times; check the network and the memory modules"
        )


def kept_bytes(target: PieceTarget) -> int:
    return target.announcement.nbytes - target.cut.total(target.ledger.missing())
