"""The announcement of an array, before any of its bytes are sent.

Here: ArrayInfo and Announcement, their limits, their words on the wire, and how the bytes are cut into numbered pieces.
Not here: which pieces have arrived (resume), how they travel (the lanes).
"""

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from pellucid.errors import InvalidInput, TransferProtocolError, UnsupportedType
from pellucid.transport.wire.messages import MAX_BODY, Message

MAX_AXES = 8
MAX_NAME = 1024
TYPES = {
    np.dtype(name).newbyteorder("<").str: name
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}
"""On the wire as NumPy spells them, little endian; sending converts."""
CHECKSUMS = ("xxh3", "none")
MODES = ("whole", "stream")
MIN_PIECE = 2**19
"""So small that a piece is still in the cache of a core when its checksum is computed."""
MAX_PIECES = 8192
_TRANSFER = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class ArrayInfo:
    """The name of an array and the size of its voxels. spacing: distance between voxels along each axis, in unit."""

    name: str = ""
    spacing: tuple[float, ...] = ()
    unit: str = ""


NO_LABEL = ArrayInfo()


@dataclass(frozen=True)
class Announcement:
    """One transfer. metadata: JSON text, passed on unchanged. mode: the whole array, or blocks as they come."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    label: ArrayInfo = NO_LABEL
    metadata: str = "{}"
    checksum: str = "xxh3"
    mode: str = "whole"
    transfer: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def message(self, kind: str = "announce", **fields: str) -> Message:
        text = {
            "transfer": self.transfer,
            "name": self.label.name,
            "shape": " ".join(map(str, self.shape)),
            "dtype": self.dtype.str,
            "spacing": " ".join(map(repr, map(float, self.label.spacing))),
            "unit": self.label.unit,
            "checksum": self.checksum,
            "mode": self.mode,
        }
        return Message(kind, {**text, **fields}, self.metadata.encode())

    @classmethod
    def read(cls, message: Message) -> "Announcement":
        """What the other end announced; raise TransferProtocolError where it makes no sense."""
        shape = _whole_numbers(message.get("shape"))
        dtype = message.get("dtype")
        if len(shape) > MAX_AXES or dtype not in TYPES:
            raise TransferProtocolError(f"it announced shape {shape} of type {dtype[:20]!r}")
        if message.get("checksum") not in CHECKSUMS or message.get("mode") not in MODES:
            raise TransferProtocolError("it announced an unknown checksum or mode")
        if not _TRANSFER.fullmatch(message.get("transfer")):
            raise TransferProtocolError("it announced no transfer number")
        return cls(
            shape=shape,
            dtype=np.dtype(dtype),
            label=ArrayInfo(
                message.get("name"), _spacing(message.fields.get("spacing", "")), message.fields.get("unit", "")
            ),
            metadata=_text(message.body),
            checksum=message.get("checksum"),
            mode=message.get("mode"),
            transfer=message.get("transfer"),
        )


def announce(
    shape: Sequence[int],
    dtype: Any,
    metadata: Mapping[str, Any] | None,
    label: ArrayInfo,
    checksum: str,
    mode: str = "whole",
) -> Announcement:
    """An announcement of our own; what the other end could not understand is refused here."""
    little = np.dtype(dtype).newbyteorder("<")
    if little.str not in TYPES:
        raise UnsupportedType("A transfer", np.dtype(dtype), TYPES.values())
    if len(shape) > MAX_AXES or len(label.name.encode()) > MAX_NAME:
        remedy = f"Send at most {MAX_AXES} axes, under a name of at most {MAX_NAME} bytes."
        raise InvalidInput(
            f"The array {label.name[:40]!r} has too many axes ({len(shape)}) or too long a name.", remedy=remedy
        )
    if checksum not in CHECKSUMS:
        raise InvalidInput(f"Unknown checksum {checksum!r}.", remedy=f"Choose one of {', '.join(CHECKSUMS)}.")
    text = _metadata_text(metadata)
    return Announcement(tuple(int(edge) for edge in shape), little, label, text, checksum, mode)


def _metadata_text(metadata: Mapping[str, Any] | None) -> str:
    try:
        text = json.dumps(dict(metadata or {}))
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The metadata is not valid JSON: {error}.", remedy="Use values that JSON supports."
        ) from error
    if len(text.encode()) > MAX_BODY:
        has = len(text.encode())
        raise InvalidInput(
            f"The metadata has {has:,} bytes as JSON; the maximum is {MAX_BODY:,}.",
            remedy="Send large tables as arrays.",
        )
    return text


def _whole_numbers(text: str) -> tuple[int, ...]:
    parts = text.split()
    if not all(part.isdecimal() and len(part) < 16 for part in parts):
        raise TransferProtocolError(f"{text[:80]!r} are not whole numbers")
    return tuple(map(int, parts))


def _spacing(text: str) -> tuple[float, ...]:
    try:
        return tuple(map(float, text.split()))
    except ValueError as error:
        raise TransferProtocolError(f"{text[:80]!r} is not a valid spacing") from error


def _text(body: bytes) -> str:
    try:
        return body.decode() or "{}"
    except UnicodeDecodeError as error:
        raise TransferProtocolError("its metadata is not text") from error


@dataclass(frozen=True)
class PieceLayout:
    """How bytes are cut into numbered pieces: all of one size but the last.

    >>> PieceLayout(nbytes=10, piece_bytes=4).span(2)
    (8, 10)
    """

    nbytes: int
    piece_bytes: int

    @classmethod
    def of(cls, nbytes: int) -> "PieceLayout":
        """Pieces large enough to be fast, few enough to be listed in one message."""
        wanted = -(-nbytes // MAX_PIECES)
        return cls(nbytes, max(1, -(-wanted // MIN_PIECE)) * MIN_PIECE)

    @property
    def count(self) -> int:
        return -(-self.nbytes // self.piece_bytes)

    def total(self, numbers: Sequence[int]) -> int:
        """The bytes of ascending pieces.

        >>> PieceLayout(nbytes=10, piece_bytes=4).total([0, 2])
        6
        """
        has_last = bool(numbers) and numbers[-1] == self.count - 1
        return len(numbers) * self.piece_bytes - (self.count * self.piece_bytes - self.nbytes if has_last else 0)

    def span(self, number: int) -> tuple[int, int]:
        start = number * self.piece_bytes
        return start, min(start + self.piece_bytes, self.nbytes)
