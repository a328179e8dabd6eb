"""Blocks of a stream on the wire: their positions and acknowledgements.

Here: the bytes before a block and the answer to it, cutting large blocks, receiving blocks over TCP and shared memory.
Not here: producing them (streams), whole arrays (transfer).
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from pellucid.box import Box
from pellucid.errors import TransferInterrupted, TransferProtocolError
from pellucid.formats.protocol import Voxels
from pellucid.transport.lanes.lane import Link, together
from pellucid.transport.lanes.tcp import END, PIECE
from pellucid.transport.wire.messages import Channel, Message
from pellucid.transport.wire.pieces import PieceTarget, checksum

PLACE = struct.Struct("<6I")
"""Start and stop of the box, each as z, y, x."""
ANSWER = struct.Struct("<II")
"""The number of a block, and 1 where it is kept, 0 where it came wrong."""
MAX_BLOCK = 64 * 2**20

Arrived = Callable[[Box], None]


def cut(box: Box, itemsize: int) -> Iterator[Box]:
    """The same region in boxes that are small enough to be sent at once, cut across the slowest axis that can be."""
    if box.size * itemsize <= MAX_BLOCK:
        yield box
        return
    axis = next(axis for axis in range(3) if box.shape[axis] > 1)
    middle = (box.start[axis] + box.stop[axis]) // 2
    yield from cut(Box(box.start, _with(box.stop, axis, middle)), itemsize)
    yield from cut(Box(_with(box.start, axis, middle), box.stop), itemsize)


def _with(edge: tuple[int, int, int], axis: int, value: int) -> tuple[int, int, int]:
    z, y, x = (value if axis == each else old for each, old in enumerate(edge))
    return (z, y, x)


@dataclass(frozen=True)
class BlockHeader:
    """A block as it is announced on the wire."""

    number: int
    length: int
    checksum: int
    box: Box

    def encoded(self) -> bytes:
        return PIECE.pack(self.number, self.length, self.checksum) + PLACE.pack(*self.box.start, *self.box.stop)


def read_placed(channel: Channel, target: PieceTarget) -> BlockHeader | None:
    """The next block's place, checked against what was announced; None at the end."""
    head = bytearray(PIECE.size + PLACE.size)
    channel.read_into(memoryview(head), is_patient=True)
    number, length, expected = PIECE.unpack_from(head)
    if number == END:
        return None
    z0, y0, x0, z1, y1, x1 = PLACE.unpack_from(head, PIECE.size)
    box = checked(Box((z0, y0, x0), (z1, y1, x1)), target.shared.array)
    if length != box.size * target.shared.dtype.itemsize or length > MAX_BLOCK:
        raise TransferProtocolError(f"it sent {length:,} bytes for a block of {box.shape} voxels (z, y, x)")
    return BlockHeader(number, length, expected, box)


def checked(box: Box, array: Voxels) -> Box:
    z, y, x = array.shape
    if not Box.whole((z, y, x)).contains(box) or any(a > b for a, b in zip(box.start, box.stop, strict=True)):
        where = f"at {box.start} to {box.stop} into an array of {array.shape} (z, y, x)"
        raise TransferProtocolError(f"it sent a block {where}")
    return box


def receive_over_streams(link: Link, target: PieceTarget, arrived: Arrived) -> None:
    link.control.write(Message("ready", {"streams": str(link.streams)}))
    channels = [link.join() for _ in range(link.streams)]

    def close() -> None:
        for channel in channels:
            channel.close()

    try:
        together([partial(_receive_blocks, channel, target, arrived) for channel in channels], abort=close)
    except TransferInterrupted as error:
        raise link.reason(error) from error
    finally:
        close()


def _receive_blocks(channel: Channel, target: PieceTarget, arrived: Arrived) -> None:
    array = target.shared.array
    scratch = np.empty(0, np.uint8)
    while (placed := read_placed(channel, target)) is not None:
        region = array[placed.box.slices]
        if not region.flags.c_contiguous and scratch.size < placed.length:
            scratch = np.empty(placed.length, np.uint8)
        content = region.reshape(-1).view(np.uint8) if region.flags.c_contiguous else scratch[: placed.length]
        channel.read_into(content.data)
        is_right = checksum(target.announcement.checksum, content.data) == placed.checksum
        if is_right:
            if not region.flags.c_contiguous:
                region[...] = content.view(array.dtype).reshape(region.shape)
            arrived(placed.box)
        channel.write_bytes(ANSWER.pack(placed.number, is_right))


def receive_in_memory(link: Link, target: PieceTarget, arrived: Arrived) -> None:
    """The sender writes into the memory itself, and says where."""
    link.control.write(Message("ready"), (target.shared.descriptor,))
    while (message := link.control.expect("block", "finish", is_patient=True)).kind == "block":
        arrived(checked(parse_box(message.get("box")), target.shared.array))


def format_box(box: Box) -> str:
    return " ".join(map(str, (*box.start, *box.stop)))


def parse_box(text: str) -> Box:
    """What format_box wrote.

    >>> parse_box(format_box(Box((0, 1, 2), (3, 4, 5))))
    Box(start=(0, 1, 2), stop=(3, 4, 5))
    """
    parts = text.split()
    if len(parts) != 6 or not all(part.isdecimal() and len(part) < 12 for part in parts):
        raise TransferProtocolError(f"{text[:80]!r} is not a valid box")
    z0, y0, x0, z1, y1, x1 = map(int, parts)
    return Box((z0, y0, x0), (z1, y1, x1))
