"""Compressing one long stream on all cores.

Here: a gzip stream of pieces that threads deflate on their own, joined into one member that every reader takes.
Not here: inflating (inflate), chunks (chunk_codec).
"""

import struct
import zlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO

from pellucid.settings import current

_PIECE_BYTES = 1 << 20
_LEVEL = 4
# No name and no time: the same bytes always give the same stream.
_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_LAST_BLOCK = b"\x03\0"


def gzip_stream(source: BinaryIO, target: BinaryIO) -> None:
    """Write all that is left of ``source`` to ``target`` as gzip, holding two pieces per thread."""
    threads = current().threads
    checksum, length = 0, 0
    target.write(_HEAD)
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[bytes]] = deque()
        while piece := source.read(_PIECE_BYTES):
            checksum, length = zlib.crc32(piece, checksum), length + len(piece)
            waiting.append(pool.submit(_deflate, piece))
            if len(waiting) > 2 * threads:
                target.write(waiting.popleft().result())
        for one in waiting:
            target.write(one.result())
    target.write(_LAST_BLOCK + struct.pack("<II", checksum, length % 2**32))


def _deflate(piece: bytes) -> bytes:
    """Raw deflate that ends on a whole byte, so that pieces can follow one another."""
    stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return stream.compress(piece) + stream.flush(zlib.Z_SYNC_FLUSH)
