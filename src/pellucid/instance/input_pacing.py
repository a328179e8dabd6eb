"""Connections whose input is handled in small pieces, so that no client keeps the event loop to itself.

Here: PacedProtocol, which stands between a connection and the web server's own protocol; FrameScanner.
Not here: accepting connections (http_server), how often a client may send each message (message_rates).

The web server handles all that came at once before it turns to another connection. What is read at once can hold 40,000
frames of a WebSocket, or chunks of a body, of six bytes each. That would take a second, and needs no access at all.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from pellucid.instance.websocket.message_rates import Rate

MAX_LINES = 256
"""Of HTTP that are handled at once; a chunk of a body has two of its own."""
MIN_PIECE_BYTES = 4096
"""Of HTTP, also where it has more lines than that: they may be voxels, whose transfer is not to take long."""
MAX_FRAMES = 32
"""Of a WebSocket that are handled at once, unless they are long."""
MAX_FRAMES_PER_SECOND = 500
LONG_FRAME_BYTES = 4096
"""Frames of this length are not counted: arrays arrive in them."""
IS_MASKED, LENGTH = 0x80, 0x7F
EXTENDED = {126: 2, 127: 8}
"""The bytes of a length that does not fit into the second byte, by what stands there instead."""
MASK_BYTES = 4


class FrameScanner:
    """Follows the frames of a WebSocket by their headers alone, in bytes that come in pieces of any length.

    >>> FrameScanner().scan(memoryview(bytes([0x89, 0x80, 1, 2, 3, 4]) * 5), 2)
    (12, 2)
    """

    def __init__(self) -> None:
        self._header = bytearray()
        self._payload_bytes = 0

    def scan(self, data: memoryview, max_frames: int) -> tuple[int, int]:
        """How many bytes to handle now, so that no more than max_frames short frames begin in them; how many do."""
        at = count = 0
        while at < len(data) and count < max_frames:
            if self._payload_bytes:
                step = min(self._payload_bytes, len(data) - at)
                self._payload_bytes -= step
            else:
                step = min(_header_bytes(self._header) - len(self._header), len(data) - at)
                self._header += data[at : at + step]
                count += self._begin_frame()
            at += step
        return at, count

    def _begin_frame(self) -> bool:
        """If the header is complete, begin its frame; whether that is a short one."""
        if len(self._header) < _header_bytes(self._header):
            return False
        length = self._header[1] & LENGTH
        if length in EXTENDED:
            length = int.from_bytes(self._header[2 : 2 + EXTENDED[length]], "big")
        self._header.clear()
        self._payload_bytes = length
        return length < LONG_FRAME_BYTES


def _header_bytes(header: bytearray) -> int:
    """How long the header is, as far as it is known."""
    if len(header) < 2:
        return 2
    return 2 + EXTENDED.get(header[1] & LENGTH, 0) + (MASK_BYTES if header[1] & IS_MASKED else 0)


class PacedProtocol(asyncio.Protocol):
    """Passes what comes on to an inner protocol: between two pieces, others have their turn. A WebSocket, to which the
    inner protocol may change, also has so many short frames per second."""

    def __init__(self, inner: asyncio.BaseProtocol) -> None:
        self._inner = cast(asyncio.Protocol, inner)
        self._loop = asyncio.get_running_loop()
        self._scanner: FrameScanner | None = None
        self._frames = Rate(MAX_FRAMES_PER_SECOND, self._loop.time)
        self._transport: asyncio.Transport
        self._data, self._at = b"", 0
        self._is_wanted = True
        self._turn: asyncio.TimerHandle | None = None
        self._turn_at = 0.0
        self._is_abandoned = False

    # Of the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._inner.connection_made(_PacedTransport(self._transport, self.read, self.replace_inner))

    def data_received(self, data: bytes) -> None:
        # TLS may bring more although nothing more is to be read.
        self._data, self._at = self._data[self._at :] + data, 0
        if self._turn is None and self._loop.time() >= self._turn_at:
            self._handle_piece()
        else:
            self._continue()

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        self._discard()
        self._inner.connection_lost(error)

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def abandon(self) -> None:
        """Handle nothing more, and close. From any thread: it is noticed at the next turn."""
        self._is_abandoned = True

    # Of the inner protocol

    def read(self, is_wanted: bool) -> None:
        """Whether the inner protocol takes more."""
        self._is_wanted = is_wanted
        self._continue()

    def replace_inner(self, inner: asyncio.BaseProtocol) -> None:
        """From now on it is a WebSocket."""
        self._inner, self._scanner = cast(asyncio.Protocol, inner), FrameScanner()

    def _handle_piece(self) -> None:
        self._turn = None
        if self._is_abandoned:
            self._transport.abort()
        if self._transport.is_closing():
            self._discard()
            return
        if self._is_wanted and self._at < len(self._data):
            end, delay_s = self._next_piece()
            piece = self._data[self._at : end]  # No copy where it is all that came, as most of it is.
            self._turn_at, self._at = self._loop.time() + delay_s, end
            if end == len(self._data):
                self._data, self._at = b"", 0
            self._inner.data_received(piece)
        self._continue()

    def _next_piece(self) -> tuple[int, float]:
        """Where it ends, and how long to wait then."""
        if self._scanner is None:
            end = _end_of_lines(self._data, self._at, MAX_LINES)
            return max(end, min(self._at + MIN_PIECE_BYTES, len(self._data))), 0.0
        length, frames = self._scanner.scan(memoryview(self._data)[self._at :], MAX_FRAMES)
        return self._at + length, self._frames.take(frames) if frames else 0.0

    def _continue(self) -> None:
        """Handle the rest in its turn; nothing more is read before."""
        has_rest = self._at < len(self._data)
        if has_rest and self._is_wanted and self._turn is None:
            self._turn = self._loop.call_at(self._turn_at, self._handle_piece)
        if self._transport.is_closing():
            return
        if self._is_wanted and not has_rest:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _discard(self) -> None:
        self._data, self._at = b"", 0
        if self._turn is not None:
            self._turn.cancel()


def _end_of_lines(data: bytes, at: int, max_lines: int) -> int:
    """Where so many lines end, or all that there is.

    >>> text = b"ab%ab%ab%".replace(b"%", bytes([13, 10]))
    >>> _end_of_lines(text, 4, 1), _end_of_lines(text, 4, 9)
    (8, 12)
    """
    for _ in range(max_lines):
        at = data.find(b"\r\n", at) + 2
        if at < 2:
            return len(data)
    return at


class _PacedTransport(asyncio.Transport):
    """The connection, as the inner protocol sees it."""

    def __init__(
        self,
        transport: asyncio.Transport,
        read: Callable[[bool], None],
        replace_inner: Callable[[asyncio.BaseProtocol], None],
    ) -> None:
        super().__init__()
        self._transport, self._read, self._replace_inner = transport, read, replace_inner

    def pause_reading(self) -> None:
        self._read(False)

    def resume_reading(self) -> None:
        self._read(True)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._replace_inner(protocol)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._transport.write(data)

    def write_eof(self) -> None:
        self._transport.write_eof()

    def can_write_eof(self) -> bool:
        return self._transport.can_write_eof()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._transport.set_write_buffer_limits(high, low)
