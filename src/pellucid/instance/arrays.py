"""Arrays that programs hand over, in memory that the instance owns.

Here: Arrays: announced, filled piece by piece over HTTP, or taken over whole by descriptor; what can be none.
Not here: the Unix socket (handover), the transport (arrivals), what is drawn of them (workers).
"""

import os
import re
from dataclasses import dataclass
from math import prod
from typing import Annotated, Any, ClassVar, Literal
from uuid import uuid4

import numpy as np
from pydantic import ConfigDict, Field

from pellucid.errors import InvalidInput, NotFound, TooLarge, TransferTooLarge, UnsupportedType
from pellucid.formats.protocol import VOXEL_TYPES
from pellucid.formats.shared import SharedArray
from pellucid.instance.protocol.http import ArrayOffer
from pellucid.instance.protocol.parts import CLOSED
from pellucid.settings import available_memory_bytes
from pellucid.workers.commands import ArrayKind
from pellucid.workers.supervision import Handed

MOST_COMING = 8
VALUES_OF_A_POINT = 4
CORNERS = 3
DTYPE = re.compile(r"[<>=|]?[uif][1248]|u?int(8|16|32|64)|float(16|32|64)")


@dataclass(frozen=True)
class Wish:
    """What a program says in an array's metadata, under "pellucid". how: alone, beside what is there, or as labels over
    it. kind: points are rows (x, y, z, value) of float32; a mesh is rows of three: as many vertices (float32) as is
    said here, then its triangles (uint32), sent as uint32."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    how: Literal["replace", "add", "labels"] = "replace"
    kind: ArrayKind = "volume"
    vertices: Annotated[int, Field(ge=0)] = 0


@dataclass
class Coming:
    """An array that is being filled; received: bytes so far."""

    offer: ArrayOffer
    shared: SharedArray
    received: int = 0


class Arrays:
    """By id; the source that a scene has for one is ``memory:ID``. most_bytes: of one; 0 where only memory decides."""

    def __init__(self, most_bytes: int = 0) -> None:
        self.most_bytes = most_bytes
        self._coming: dict[str, Coming] = {}

    def announce(self, offer: ArrayOffer) -> tuple[str, int]:
        """Make room. The id, and the bytes that are expected."""
        nbytes = self.check(offer)
        has = available_memory_bytes()
        if nbytes > has:
            raise TooLarge(nbytes, has, do="Send a part of it, or a smaller type.")
        if len(self._coming) >= MOST_COMING:
            raise InvalidInput("Too many arrays are on their way.", do="Finish those that were announced before.")
        id = uuid4().hex
        self._coming[id] = Coming(offer, SharedArray.create(offer.shape, np.dtype(offer.dtype)))
        return id, nbytes

    def check(self, offer: ArrayOffer) -> int:
        """How large it is; what can be no volume, or is more than this viewer was started for, is refused."""
        nbytes = checked_bytes(offer)
        if self.most_bytes and nbytes > self.most_bytes:
            raise TransferTooLarge(nbytes, self.most_bytes)
        return nbytes

    def fill(self, id: str, offset: int, piece: bytes) -> None:
        coming = self._get(id)
        if offset < 0 or offset + len(piece) > coming.shared.nbytes:
            do = f"Stay within its {coming.shared.nbytes:,} bytes."
            raise InvalidInput(f"A piece of {len(piece):,} bytes at {offset:,} lies outside the array.", do=do)
        flat = coming.shared.array.reshape(-1).view(np.uint8)
        flat[offset : offset + len(piece)] = np.frombuffer(piece, np.uint8)
        coming.received += len(piece)

    def finish(self, id: str) -> tuple[ArrayOffer, Handed]:
        coming = self._get(id)
        if coming.received < coming.shared.nbytes:
            what = f"Of {coming.shared.nbytes:,} bytes {coming.received:,} have come."
            raise InvalidInput(what, do="Send the rest first.")
        del self._coming[id]
        return coming.offer, Handed(coming.shared, coming.offer.spacing, coming.offer.unit)

    def _get(self, id: str) -> Coming:
        if id not in self._coming:
            raise NotFound(f"the array {id}")
        return self._coming[id]


def checked_bytes(offer: ArrayOffer) -> int:
    """How large it is; what can be no volume is refused."""
    if not DTYPE.fullmatch(offer.dtype):  # NumPy would read a whole language of its own here.
        raise UnsupportedType("A volume", offer.dtype, VOXEL_TYPES)
    dtype = np.dtype(offer.dtype)
    if dtype.newbyteorder("=").name not in VOXEL_TYPES:
        raise UnsupportedType("A volume", offer.dtype, VOXEL_TYPES)
    if min(offer.shape) < 1 or not min(offer.spacing) > 0:
        raise InvalidInput(
            f"A volume of {offer.shape} with spacing {offer.spacing} is none.", do="Give numbers above 0."
        )
    return prod(offer.shape) * dtype.itemsize


def checked_rows(wish: Wish, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse what can be no points and no mesh."""
    columns, kind = (VALUES_OF_A_POINT, "<f4") if wish.kind == "points" else (CORNERS, "<u4")
    if len(shape) != 2 or shape[1] != columns or not shape[0] or dtype.str != kind or wish.vertices > shape[0]:
        do = "Send (n, 4) float32 for points; for a mesh (n, 3) uint32, and how many of the rows are vertices."
        raise InvalidInput(f"An array of {shape} {dtype} is no {wish.kind}.", do=do)


def taken_over(offer: ArrayOffer, descriptor: int) -> Handed:
    """The memory behind a descriptor; believed only as far as it reaches."""
    nbytes = checked_bytes(offer)
    has = os.fstat(descriptor).st_size
    if has < nbytes:
        os.close(descriptor)
        raise InvalidInput(f"The memory has {has:,} bytes, and the array {nbytes:,}.", do="Hand over all of it.")
    return Handed(SharedArray(descriptor, offer.shape, np.dtype(offer.dtype)), offer.spacing, offer.unit)
