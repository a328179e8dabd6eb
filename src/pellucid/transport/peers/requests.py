"""What peers send each other: pulls of boxes of arrays, and where in shared memory these are.

Here: PullRequest, BlockLayout, and both as bytes.
Not here: sending them (client, server), what a key means (the code that provides the arrays).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.box import Box, triple
from pellucid.errors import TransferProtocolError
from pellucid.formats.protocol import Voxels
from pellucid.transport.wire.messages import MAX_BODY

KEY_BYTES = 24
_PULL = np.dtype([("key", f"V{KEY_BYTES}"), ("start", "<u4", 3), ("stop", "<u4", 3)])
_LAYOUT = np.dtype(
    [("buffer", "<u8"), ("offset", "<u8"), ("dtype", "S8"), ("shape", "<u8", 3), ("strides", "<i8", 3)]
)  # fmt: skip
MAX_PULLS = MAX_BODY // max(_PULL.itemsize, _LAYOUT.itemsize)
"""In one message."""


@dataclass(frozen=True)
class PullRequest:
    """A box of the array behind a key, and the array of that shape into which it is copied, in any memory order."""

    key: bytes
    box: Box
    into: Voxels

    @property
    def nbytes(self) -> int:
        return self.box.size * self.into.itemsize


@dataclass(frozen=True)
class BlockLayout:
    """Where an array (z, y, x) is in a buffer of shared memory. buffer: its number on this connection."""

    buffer: int
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, int, int]
    strides: tuple[int, int, int]

    def view(self, content: Voxels) -> Voxels:
        """The array in the bytes of its buffer. TransferProtocolError where it would reach beyond them."""
        last = self.offset + sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        if min(self.shape) < 1 or min(self.strides) < 0 or last + self.dtype.itemsize > content.size:
            raise TransferProtocolError("it described an array outside its shared memory")
        return np.ndarray(self.shape, self.dtype, content.data, self.offset, self.strides)


def pack_pulls(pulls: Sequence[PullRequest]) -> bytes:
    packed = np.zeros(len(pulls), _PULL)
    for row, pull in zip(packed, pulls, strict=True):
        row["key"], row["start"], row["stop"] = np.void(pull.key), pull.box.start, pull.box.stop
    return packed.tobytes()


def unpack_pulls(body: bytes) -> list[tuple[bytes, Box]]:
    """Keys and boxes."""
    rows = _rows(body, _PULL)
    starts, stops = rows["start"].tolist(), rows["stop"].tolist()
    keys = (row.tobytes() for row in rows["key"])
    return [(key, Box(triple(a), triple(b))) for key, a, b in zip(keys, starts, stops, strict=True)]


def pack_keys(keys: Sequence[bytes]) -> bytes:
    return b"".join(keys)


def unpack_keys(body: bytes) -> list[bytes]:
    return [row.tobytes() for row in _rows(body, np.dtype(f"V{KEY_BYTES}"))]


def pack_layouts(layouts: Sequence[BlockLayout]) -> bytes:
    packed = np.zeros(len(layouts), _LAYOUT)
    for row, layout in zip(packed, layouts, strict=True):
        row["buffer"], row["offset"], row["dtype"] = layout.buffer, layout.offset, layout.dtype.str.encode()
        row["shape"], row["strides"] = layout.shape, layout.strides
    return packed.tobytes()


def unpack_layouts(body: bytes) -> list[BlockLayout]:
    return [
        BlockLayout(int(row["buffer"]), int(row["offset"]), parse_dtype(row["dtype"].decode("ascii", "replace")),
                    triple(row["shape"].tolist()), triple(row["strides"].tolist()))
        for row in _rows(body, _LAYOUT)
    ]  # fmt: skip


def parse_dtype(text: str) -> np.dtype[Any]:
    """The type of an array that another process named."""
    try:
        dtype = np.dtype(text)
    except TypeError:
        dtype = np.dtype(object)
    if dtype.hasobject or not dtype.itemsize:
        raise TransferProtocolError(f"it sent an array of type {text[:20]!r}")
    return dtype


def _rows(body: bytes, kind: np.dtype[Any]) -> Voxels:
    if len(body) % kind.itemsize:
        raise TransferProtocolError(f"it sent a list of {len(body)} bytes")
    return np.frombuffer(body, kind)
