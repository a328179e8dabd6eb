"""Arrays that programs upload, in memory that the instance owns.

Here: ArrayUploads: announced, filled piece by piece over HTTP, or taken over whole by descriptor; what can be none.
Not here: the Unix socket (local_socket), the transport (receiver), what is drawn of them (workers).
"""

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Annotated, Any, ClassVar, Literal
from uuid import uuid4

import numpy as np
from pydantic import ConfigDict, Field

from pellucid.errors import InvalidInput, NotEnoughMemory, NotFound, TransferTooLarge, UnsupportedType
from pellucid.formats.protocol import VOXEL_TYPES
from pellucid.formats.shared_memory import SharedArray
from pellucid.instance.protocol.http_bodies import ArrayOffer
from pellucid.instance.protocol.shared_types import CLOSED
from pellucid.settings import available_memory_bytes
from pellucid.workers.array_store import OwnedArray
from pellucid.workers.protocol.requests import ArrayKind

MAX_PENDING = 8
EXPIRES_S = 60.0
VALUES_OF_A_POINT = 4
CORNERS = 3
DTYPE = re.compile(r"[<>=|]?[uif][1248]|u?int(8|16|32|64)|float(16|32|64)")


@dataclass(frozen=True)
class DisplayRequest:
    """What a program says in an array's metadata, under "pellucid". how: alone, beside what is there, or as labels over
    it. kind: points are rows (x, y, z, value) of float32; a mesh is rows of three: as many vertices (float32) as is
    said here, then its triangles (uint32), sent as uint32."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    how: Literal["replace", "add", "labels"] = "replace"
    kind: ArrayKind = "volume"
    vertices: Annotated[int, Field(ge=0)] = 0


@dataclass
class PendingArray:
    """An array that is being filled. spans: the bytes that are there, in order and apart. used_at: by the clock."""

    offer: ArrayOffer
    shared: SharedArray
    used_at: float
    spans: list[tuple[int, int]] = field(default_factory=list)

    @property
    def received(self) -> int:
        return sum(stop - start for start, stop in self.spans)


class ArrayUploads:
    """By id; the source that a scene has for one is ``memory:ID``. max_bytes: of one; 0 where only memory decides.

    One whose sender stays silent for EXPIRES_S is given up.
    """

    def __init__(self, max_bytes: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self.max_bytes, self._clock = max_bytes, clock
        self._coming: dict[str, PendingArray] = {}

    def announce(self, offer: ArrayOffer) -> tuple[str, int]:
        """Make room. The id, and the bytes that are expected."""
        self.expire()
        nbytes = self.check(offer)
        has = available_memory_bytes()
        if nbytes > has:
            raise NotEnoughMemory(nbytes, has, remedy="Send a part of it, or a smaller type.")
        if len(self._coming) >= MAX_PENDING:
            raise InvalidInput("Too many uploads are in progress.", remedy="Finish the other uploads first.")
        id = uuid4().hex
        self._coming[id] = PendingArray(offer, SharedArray.create(offer.shape, np.dtype(offer.dtype)), self._clock())
        return id, nbytes

    def check(self, offer: ArrayOffer) -> int:
        """How large it is; what can be no volume, or is more than this viewer was started for, is refused."""
        nbytes = checked_bytes(offer)
        if self.max_bytes and nbytes > self.max_bytes:
            raise TransferTooLarge(nbytes, self.max_bytes)
        return nbytes

    def fill(self, id: str, offset: int, piece: bytes) -> None:
        coming = self._get(id)
        if offset < 0 or offset + len(piece) > coming.shared.nbytes:
            remedy = f"Stay within its {coming.shared.nbytes:,} bytes."
            raise InvalidInput(f"A piece of {len(piece):,} bytes at {offset:,} is outside the array.", remedy=remedy)
        flat = coming.shared.array.reshape(-1).view(np.uint8)
        flat[offset : offset + len(piece)] = np.frombuffer(piece, np.uint8)
        coming.spans = with_span(coming.spans, (offset, offset + len(piece)))
        coming.used_at = self._clock()

    def expire(self) -> None:
        """Give up what was announced and not continued: its sender is gone."""
        now = self._clock()
        for id in [id for id, coming in self._coming.items() if now - coming.used_at > EXPIRES_S]:
            self._coming.pop(id).shared.close()

    def finish(self, id: str) -> tuple[ArrayOffer, OwnedArray]:
        coming = self._get(id)
        if coming.received < coming.shared.nbytes:
            what = f"Only {coming.received:,} of {coming.shared.nbytes:,} bytes have arrived."
            raise InvalidInput(what, remedy="Send the rest first.")
        del self._coming[id]
        return coming.offer, OwnedArray(coming.shared, coming.offer.spacing, coming.offer.unit)

    def _get(self, id: str) -> PendingArray:
        if id not in self._coming:
            raise NotFound(f"The array {id} (uploads expire after {EXPIRES_S:.0f} s)")
        return self._coming[id]


def with_span(spans: list[tuple[int, int]], span: tuple[int, int]) -> list[tuple[int, int]]:
    """Spans in order and apart, with one more: bytes that come twice count once.

    >>> with_span([(0, 4), (8, 12)], (2, 8)), with_span([(4, 6)], (0, 2))
    ([(0, 12)], [(0, 2), (4, 6)])
    """
    joined: list[tuple[int, int]] = []
    for start, stop in sorted([*spans, span]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        elif start < stop:
            joined.append((start, stop))
    return joined


def checked_bytes(offer: ArrayOffer) -> int:
    """How large it is; what can be no volume is refused."""
    if not DTYPE.fullmatch(offer.dtype):  # NumPy would read a whole language of its own here.
        raise UnsupportedType("A volume", offer.dtype, VOXEL_TYPES)
    dtype = np.dtype(offer.dtype)
    if dtype.newbyteorder("=").name not in VOXEL_TYPES:
        raise UnsupportedType("A volume", offer.dtype, VOXEL_TYPES)
    if min(offer.shape) < 1 or not min(offer.spacing) > 0:
        what = f"Invalid shape {offer.shape} or spacing {offer.spacing} (z, y, x)."
        raise InvalidInput(what, remedy="Use positive numbers.")
    return prod(offer.shape) * dtype.itemsize


def checked_rows(request: DisplayRequest, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse what can be no points and no mesh."""
    columns, kind = (VALUES_OF_A_POINT, "<f4") if request.kind == "points" else (CORNERS, "<u4")
    if len(shape) != 2 or shape[1] != columns or not shape[0] or dtype.str != kind or request.vertices > shape[0]:
        remedy = "Send (n, 4) float32 for points; for a mesh (n, 3) uint32, and how many of the rows are vertices."
        raise InvalidInput(f"Invalid {request.kind} array: {shape} {dtype}.", remedy=remedy)


def map_descriptor(offer: ArrayOffer, descriptor: int) -> OwnedArray:
    """The memory behind a descriptor, of which no more is used than is there."""
    nbytes = checked_bytes(offer)
    has = os.fstat(descriptor).st_size
    if has < nbytes:
        os.close(descriptor)
        raise InvalidInput(
            f"The memory has {has:,} bytes, but the array needs {nbytes:,}.",
            remedy="Pass the memory of the whole array.",
        )
    return OwnedArray(SharedArray(descriptor, offer.shape, np.dtype(offer.dtype)), offer.spacing, offer.unit)
