"""JPEG encoding with several threads.

Here: JpegEncoder; strips of an image that are encoded side by side and joined.
Not here: other codecs (encoders), when which is wanted (sender).

After a restart marker a JPEG goes on as if it had just begun. So strips of whole blocks, each encoded as an image, are
one image once they stand behind one another with such markers in between: the same pixels, bit by bit.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from math import ceil

import imagecodecs

from pellucid.formats.protocol import Voxels

JPEG_QUALITY = 85
MIN_STRIP = 2**18
"""Pixels: what is smaller is encoded before another thread has begun."""
MAX_INTERVAL = 2**16 - 1
"""Blocks between two markers: what their number has room for."""

FRAME, SCAN, INTERVAL, FIRST_RESTART, END = 0xC0, 0xDA, 0xDD, 0xD0, b"\xff\xd9"


class JpegEncoder:
    """The interpreter's lock is let go while it encodes. encode may be called from several threads at once."""

    def __init__(self, threads: int = 1) -> None:
        self._most_strips = threads
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="pellucid-strip")

    def encode(self, pixels: Voxels, quality: int = JPEG_QUALITY, *, is_enlarged: bool = True) -> bytes:
        """pixels: (height, width, 4), opacity left out.

        is_enlarged: it is smaller than it will be shown, and colours at half its resolution would show as blocks.
        """
        height, width = pixels.shape[:2]
        subsampling, edge = ("444", 8) if is_enlarged else ("420", 16)
        columns, strips = ceil(width / edge), min(self._most_strips, height * width // MIN_STRIP)
        rows = edge * blocks_high(ceil(height / edge), columns, strips)
        parts = [pixels[first : first + rows] for first in range(0, height, rows)]
        if len(parts) == 1:
            return encode_strip(pixels, quality, subsampling)
        encoded = self._threads.map(encode_strip, parts, repeat(quality), repeat(subsampling))
        return join(list(encoded), height, rows // edge * columns)

    def close(self) -> None:
        self._threads.shutdown()


def encode_strip(pixels: Voxels, quality: int, subsampling: str) -> bytes:
    """A JPEG of its own, with the tables that all of them have."""
    colors = imagecodecs.JPEG8.CS
    return bytes(
        imagecodecs.jpeg8_encode(
            pixels, level=quality, colorspace=colors.EXT_RGBX, outcolorspace=colors.YCbCr, subsampling=subsampling
        )
    )


def blocks_high(rows: int, columns: int, strips: int) -> int:
    """How many rows of blocks each of so many strips has; fewer where the number of blocks would have no room.

    >>> blocks_high(rows=135, columns=240, strips=8), blocks_high(rows=540, columns=960, strips=2)
    (17, 68)
    """
    return rows if strips < 2 else min(ceil(rows / strips), MAX_INTERVAL // columns)


def join(strips: list[bytes], height: int, interval: int) -> bytes:
    """One image of this height from strips, each but the last of so many blocks."""
    head = bytearray(strips[0][:2])
    for marker, segment in segments(strips[0]):
        if marker == SCAN:
            head += bytes([0xFF, INTERVAL]) + (4).to_bytes(2, "big") + interval.to_bytes(2, "big")
        head += segment if marker != FRAME else segment[:5] + height.to_bytes(2, "big") + segment[7:]
    parts: list[bytes] = [bytes(head)]
    for number, strip in enumerate(strips):
        if number:
            parts.append(bytes([0xFF, FIRST_RESTART + (number - 1) % 8]))
        begin = 2 + sum(len(segment) for _, segment in segments(strip))
        parts.append(strip[begin : -len(END)])
    return b"".join([*parts, END])


def segments(encoded: bytes) -> Iterator[tuple[int, bytes]]:
    """The marker of each, and all of it, up to where the blocks begin."""
    at, marker = 2, 0
    while marker != SCAN:
        marker, end = encoded[at + 1], at + 2 + int.from_bytes(encoded[at + 2 : at + 4], "big")
        yield marker, encoded[at:end]
        at = end
