"""Two processes on one machine: the sender writes into the memory of the receiver.

Here: ShmLane.
Not here: the memory (formats.shared_memory), who is on the same machine (client).

One copy for an ordinary array, none for a sender who asked for the memory first. There is no checksum: nothing travels.
On request, the receiver is notified regularly which pieces are complete.
"""

import os
import threading
import time
from collections.abc import Sequence
from math import prod

import numpy as np

from pellucid.errors import TransferProtocolError
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.transport.lanes.lane import Link
from pellucid.transport.shared_pages import Mappings, in_parallel, map_pages
from pellucid.transport.wire.messages import Channel, Message
from pellucid.transport.wire.pieces import PieceSource, PieceTarget, format_ranges, parse_ranges

SENT, COPIED = "sent", "copied"
TELL_AGAIN_S = 0.1
COPY_BYTES = 8 * 2**20
MAPPED = Mappings(keep_s=2.0, most=2)
"""What this process has written to as a sender: the receiving end fills one memory while it shows the other."""


class ShmLane:
    def __init__(self, link: Link) -> None:
        if not link.control.is_local:
            raise TransferProtocolError("shared memory needs a local socket")
        self._link = link
        self._mapped: dict[tuple[int, int], Voxels] = {}

    def invite(self, target: PieceTarget) -> tuple[Message, Sequence[int]]:
        return Message("ready", {COPIED: "tell"}), (target.shared.descriptor,)

    def receive(self, target: PieceTarget, missing: Sequence[int]) -> None:
        while (message := self._link.control.expect(SENT, COPIED, is_patient=True)).kind == COPIED:
            target.keep(*parse_ranges(message.get("pieces"), target.cut.count))
        target.keep(*target.ledger.missing())

    def send(self, source: PieceSource, missing: Sequence[int], invitation: Message) -> None:
        name, content = MAPPED.take(checked_size(self._link.control.take_descriptor(), source.array.nbytes))
        self._mapped[name] = content
        flat = content[: source.array.nbytes].view(source.array.dtype.newbyteorder("<"))
        spans = _spans(source, missing)
        reply = PieceNotifier(self._link.control, source.cut.piece_bytes) if COPIED in invitation.fields else None

        def copy(index: int) -> None:
            self._copy(source, flat, spans[index])
            if reply is not None:
                reply.add(spans[index])

        in_parallel(copy, range(len(spans)))
        self._link.control.write(Message(SENT))

    def close(self) -> None:
        for name, content in self._mapped.items():
            MAPPED.put(name, content)

    def _copy(self, source: PieceSource, flat: Voxels, span: tuple[int, int]) -> None:
        self._link.check()
        start, stop = span
        part = flat[start // flat.itemsize : stop // flat.itemsize]
        map_pages(part.view(np.uint8))
        source.gather(span, part)
        source.bar.advance(stop - start)


class PieceNotifier:
    """Notifies the receiver which pieces are in place, from several threads and not too often."""

    def __init__(self, control: Channel, piece_bytes: int) -> None:
        self._control, self._piece_bytes = control, piece_bytes
        self._numbers: list[int] = []
        self._next_s = time.monotonic() + TELL_AGAIN_S
        self._lock = threading.Lock()

    def add(self, span: tuple[int, int]) -> None:
        """These bytes, which begin with a piece and end with one."""
        start, stop = span
        with self._lock:
            self._numbers += range(start // self._piece_bytes, -(-stop // self._piece_bytes))
            if time.monotonic() >= self._next_s:
                self._control.write(Message(COPIED, {"pieces": format_ranges(sorted(self._numbers))}))
                self._numbers, self._next_s = [], time.monotonic() + TELL_AGAIN_S


def _spans(source: PieceSource, missing: Sequence[int]) -> list[tuple[int, int]]:
    """Pieces that follow each other, together: to copy them takes less time than to talk about them."""
    spans: list[tuple[int, int]] = []
    for start, stop in map(source.cut.span, missing):
        if spans and spans[-1][1] == start and stop - spans[-1][0] <= COPY_BYTES:
            spans[-1] = (spans[-1][0], stop)
        else:
            spans.append((start, stop))
    return spans


def attach(descriptor: int, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> SharedArray:
    """Memory that came from the other end."""
    return SharedArray(checked_size(descriptor, prod(shape) * dtype.itemsize), shape, dtype)


def checked_size(descriptor: int, nbytes: int) -> int:
    """The descriptor of memory that is large enough: touching beyond the end would kill this process."""
    if os.fstat(descriptor).st_size < nbytes:
        os.close(descriptor)
        raise TransferProtocolError("its shared memory is smaller than the announced array")
    return descriptor
