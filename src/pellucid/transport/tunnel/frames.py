"""Bytes in WebSocket frames, as defined in RFC 6455.

Here: FrameWriter and FrameReader, for the end that connects.
Not here: asking a web server for such a connection (upgrade), moving the bytes (tunnel).
"""

import os
import struct
from collections.abc import Iterator

import numpy as np

from pellucid.errors import TransferProtocolError

CONTINUED, BINARY, CLOSE, PING, PONG = 0, 2, 8, 9, 10
FRAME_BYTES = 2**17
"""A viewer takes messages of twice that."""
_ROOM = 16
_FINAL = _MASKED = 0x80
_SHORT, _LONG = 126, 127


class FrameWriter:
    """Makes frames in memory of its own. room: where content is to be put; it lies before the frame is made of it."""

    def __init__(self) -> None:
        self._buffer = bytearray(_ROOM + FRAME_BYTES)
        self.room = memoryview(self._buffer)[_ROOM:]

    def frame(self, kind: int, count: int) -> memoryview:
        """The frame of the first bytes in the room. It is there until the next one is made."""
        mask = os.urandom(4)
        _mask(self.room[:count], mask)
        head = _head(kind, count) + mask
        start = _ROOM - len(head)
        self._buffer[start:_ROOM] = head
        return memoryview(self._buffer)[start : _ROOM + count]


def small_frame(kind: int, content: bytes = b"") -> bytes:
    """A frame of at most 125 bytes, as those are that say something of the connection."""
    mask = os.urandom(4)
    masked = bytearray(content)
    _mask(memoryview(masked), mask)
    return _head(kind, len(content)) + mask + masked


def _head(kind: int, count: int) -> bytes:
    if count < _SHORT:
        return struct.pack(">BB", _FINAL | kind, _MASKED | count)
    if count < 2**16:
        return struct.pack(">BBH", _FINAL | kind, _MASKED | _SHORT, count)
    return struct.pack(">BBQ", _FINAL | kind, _MASKED | _LONG, count)


def _mask(content: memoryview, mask: bytes) -> None:
    """Turn bytes over in place. Who connects has to: no text of ours can then pass for a request on the way."""
    array = np.frombuffer(content, np.uint8)
    whole = len(array) // 4 * 4
    array[:whole].view(np.uint32)[...] ^= np.frombuffer(mask, np.uint32)
    array[whole:] ^= np.frombuffer(mask, np.uint8)[: len(array) - whole]


class FrameReader:
    """Takes what comes from the web server, cut anywhere."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._kind = self._left = 0
        self._note = bytearray()

    def feed(self, content: memoryview) -> Iterator[tuple[int, memoryview]]:
        """Parts of what was sent, each BINARY and a part of the content; CLOSE, PING and PONG with all of theirs."""
        while len(content):
            if not self._left:
                self._head.append(content[0])
                content = content[1:]
                if self._is_begun() and not self._left:
                    yield self._kind, memoryview(b"")
                continue
            part, content = content[: self._left], content[self._left :]
            self._left -= len(part)
            if self._kind == BINARY:
                yield BINARY, part
                continue
            self._note += part
            if not self._left:
                yield self._kind, memoryview(bytes(self._note))
                self._note.clear()

    def _is_begun(self) -> bool:
        """Whether the head is complete; then kind and length are known, and the next head begins anew."""
        if len(self._head) < 2:
            return False
        kind, length = self._head[0] & 0x0F, self._head[1]
        more = {_SHORT: 2, _LONG: 8}.get(length, 0)
        if len(self._head) < 2 + more:
            return False
        if kind not in (CONTINUED, BINARY, CLOSE, PING, PONG) or length & _MASKED:
            raise TransferProtocolError("the web server sent an invalid frame")
        self._kind = BINARY if kind == CONTINUED else kind
        self._left = int.from_bytes(self._head[2:], "big") if more else length
        if self._kind != BINARY and self._left >= _SHORT:
            raise TransferProtocolError("the web server sent an invalid frame")
        self._head.clear()
        return True
