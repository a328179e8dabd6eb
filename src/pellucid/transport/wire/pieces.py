"""Pieces at both ends: where they are read, where they are written, and which have arrived.

Here: Ledger, PieceSource (any array, piece by piece), PieceTarget (prepared memory), checksums.
Not here: how many pieces there are (announcement), how they travel (the lanes).
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import xxhash

from pellucid.errors import NotEnoughMemory, TransferProtocolError
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.progress import Bar
from pellucid.settings import available_memory_bytes
from pellucid.transport.shared_pages import BufferPool, clear, reserve
from pellucid.transport.wire.announcement import Announcement, PieceLayout


def checksum(kind: str, content: memoryview) -> int:
    """The 64-bit checksum of a piece; 0 without checksums."""
    return xxhash.xxh3_64_intdigest(content) if kind == "xxh3" else 0


class Ledger:
    """Which numbered pieces are there. Safe from several threads."""

    def __init__(self, count: int) -> None:
        self._present = np.zeros(count, bool)
        self._lock = threading.Lock()

    def add(self, numbers: Sequence[int]) -> None:
        with self._lock:
            self._present[np.asarray(numbers, np.int64)] = True

    def missing(self) -> list[int]:
        with self._lock:
            missing: list[int] = np.flatnonzero(~self._present).tolist()
            return missing

    @property
    def kept(self) -> int:
        return int(self._present.sum())


def format_ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers as ranges.

    >>> format_ranges([0, 1, 2, 5]), format_ranges([])
    ('0-2 5-5', '')
    """
    ends = [(a, b) for a, b in pairwise(numbers) if b != a + 1]
    starts = [*numbers[:1], *(b for _, b in ends)]
    return " ".join(
        f"{first}-{last}" for first, last in zip(starts, [*(a for a, _ in ends), *numbers[-1:]], strict=True)
    )


def parse_ranges(text: str, count: int) -> list[int]:
    """What spell wrote, where every number is below count; raise TransferProtocolError otherwise.

    >>> parse_ranges("0-2 5-5", 6)
    [0, 1, 2, 5]
    """
    numbers: list[int] = []
    for part in text.split():
        first, _, last = part.partition("-")
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last) < count):
            raise TransferProtocolError(f"{part[:40]!r} are not pieces of this transfer")
        numbers += range(int(first), int(last) + 1)
    return numbers


@dataclass(frozen=True)
class PieceSource:
    """An array, piece by piece, as it goes on the wire: little endian, last axis fastest."""

    array: Voxels
    cut: PieceLayout
    checksum: str
    bar: Bar

    @property
    def flat(self) -> memoryview | None:
        """All bytes in place; None where they have to be gathered first."""
        is_ready = self.array.flags.c_contiguous and self.array.dtype == self.array.dtype.newbyteorder("<")
        return self.array.reshape(-1).view(np.uint8).data if is_ready and self.array.size else None

    def piece(self, number: int, flat: memoryview | None, scratch: bytearray) -> memoryview:
        """The bytes of a piece: in place where they can be, else gathered into the scratch memory."""
        start, stop = self.cut.span(number)
        if flat is not None:
            return flat[start:stop]
        gathered = memoryview(scratch)[: stop - start]
        self.gather((start, stop), np.frombuffer(gathered, self.array.dtype.newbyteorder("<")))
        return gathered

    def gather(self, span: tuple[int, int], out: Voxels) -> None:
        """Write the elements of some bytes, in order."""
        start, stop = (edge // self.array.itemsize for edge in span)
        _gather(self.array, start, stop, out)

    def scratch(self) -> bytearray:
        return bytearray(0 if self.flat is not None else min(self.cut.piece_bytes, self.cut.nbytes))


def _gather(array: Voxels, start: int, stop: int, out: Voxels) -> None:
    """Elements start to stop of an array in any order of memory: whole rows at once, then the two at the ends."""
    if array.ndim <= 1:
        out[...] = array.reshape(-1)[start:stop]
        return
    row = array[0].size
    first, last = -(-start // row), stop // row
    if first > last:  # within one row
        _gather(array[last], start - last * row, stop - last * row, out)
        return
    head, tail = first * row - start, stop - last * row
    if head:
        _gather(array[first - 1], row - head, row, out[:head])
    out[head : out.size - tail].reshape(last - first, *array.shape[1:])[...] = array[first:last]
    if tail:
        _gather(array[last], 0, tail, out[out.size - tail :])


@dataclass(frozen=True)
class PieceTarget:
    """Memory that waits for an array, and the record of what is in it."""

    announcement: Announcement
    shared: SharedArray
    cut: PieceLayout
    ledger: Ledger
    bar: Bar | None = field(default=None, compare=False)

    @classmethod
    def create(cls, announcement: Announcement, store: BufferPool | None = None) -> "PieceTarget":
        """Memory for all of the array: too large a one is refused now, not midway. store: memory to use again."""
        cut = PieceLayout.of(announcement.nbytes)
        spare = None if store is None else store.take(announcement.shape, announcement.dtype)
        if spare is None:
            return cls(announcement, _reserved(announcement), cut, Ledger(cut.count))
        if announcement.mode == "stream":  # It is shown while it fills: what is not there yet must be zero.
            clear(spare)
        return cls(announcement, spare, cut, Ledger(cut.count))

    @property
    def flat(self) -> memoryview:
        return self.shared.array.reshape(-1).view(np.uint8).data if self.shared.nbytes else memoryview(b"")

    def keep(self, *numbers: int) -> None:
        """Pieces are complete and right."""
        self.ledger.add(numbers)
        if self.bar is not None:
            self.bar.advance(self.cut.total(numbers))


def _reserved(announcement: Announcement) -> SharedArray:
    has = available_memory_bytes()
    too_large = NotEnoughMemory(announcement.nbytes, has, remedy="Send a part of it, or free memory at the receiver.")
    if announcement.nbytes > has:
        raise too_large
    shared = SharedArray.create(announcement.shape, announcement.dtype)
    try:
        reserve(shared)
    except OSError as error:
        shared.close()
        raise too_large from error
    return shared
