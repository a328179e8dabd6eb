"""Pieces over several TCP connections, with or without TLS.

Here: TcpLane, and the sixteen bytes before each piece.
Not here: connecting (address), who takes which array (wire.transfer).

Connections take the next piece when they are free: a slow one delays no other. Sockets push back by themselves:
a receiver that does not keep up stops the sender.
"""

import struct
import threading
from collections.abc import Iterator, Sequence
from functools import partial

from pellucid.errors import TransferInterrupted, TransferProtocolError
from pellucid.transport.lanes.lane import Link, together
from pellucid.transport.wire.messages import Channel, Message
from pellucid.transport.wire.pieces import PieceSource, PieceTarget, checksum

PIECE = struct.Struct("<IIQ")
"""Number, length, checksum."""
END = 0xFFFFFFFF
"""In the place of a number: this connection has no more pieces in this round."""


class TcpLane:
    def __init__(self, link: Link) -> None:
        self._link = link
        self._channels: list[Channel] = []

    def invite(self, target: PieceTarget) -> tuple[Message, Sequence[int]]:
        return Message("ready", {"streams": str(self._link.streams)}), ()

    def receive(self, target: PieceTarget, missing: Sequence[int]) -> None:
        self._connect(self._link.streams)
        self._all([partial(_receive, channel, target) for channel in self._channels])

    def send(self, source: PieceSource, missing: Sequence[int], invitation: Message) -> None:
        self._connect(min(invitation.number("streams"), 64))
        numbers = SharedIterator(missing)
        self._all([partial(_send, channel, source, numbers) for channel in self._channels])

    def close(self) -> None:
        for channel in self._channels:
            channel.close()

    def _connect(self, count: int) -> None:
        while len(self._channels) < count:
            self._channels.append(self._link.join())

    def _all(self, jobs: list[partial[None]]) -> None:
        try:
            together(jobs, abort=self.close)
        except TransferInterrupted as error:
            raise self._link.reason(error) from error


class SharedIterator:
    """Items that several threads take in turn."""

    def __init__(self, items: Sequence[int]) -> None:
        self._items = iter(items)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        with self._lock:
            return next(self._items)


def _send(channel: Channel, source: PieceSource, numbers: SharedIterator) -> None:
    flat, scratch = source.flat, source.scratch()
    for number in numbers:
        channel.timeout.check()
        piece = source.piece(number, flat, scratch)
        channel.write_bytes(PIECE.pack(number, len(piece), checksum(source.checksum, piece)), piece)
        source.bar.advance(len(piece))
    channel.write_bytes(PIECE.pack(END, 0, 0))


def _receive(channel: Channel, target: PieceTarget) -> None:
    flat, head = target.flat, memoryview(bytearray(PIECE.size))
    channel.read_into(head)
    while True:
        channel.timeout.check()
        number, length, expected = PIECE.unpack(head)
        if number == END:
            return
        start, stop = _span(target, number, length)
        channel.read_into(flat[start:stop], head)  # A piece is never the last thing: the next head follows.
        # A piece that is wrong stays missing, and is asked for in the next round.
        if checksum(target.announcement.checksum, flat[start:stop]) == expected:
            target.keep(number)


def _span(target: PieceTarget, number: int, length: int) -> tuple[int, int]:
    """Where a piece belongs; nothing is written beyond what was announced."""
    if number >= target.cut.count:
        raise TransferProtocolError(f"it sent piece {number} of {target.cut.count}")
    start, stop = target.cut.span(number)
    if stop - start != length:
        raise TransferProtocolError(f"it sent {length:,} bytes as piece {number}, which has {stop - start:,}")
    return start, stop
