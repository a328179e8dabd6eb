"""Compression of single chunks.

Here: ChunkCodec: bytes of one chunk in and out; the levels that chunk stores are written with.
Not here: how metadata spells it (zarr_metadata, n5), files (chunks).

imagecodecs releases the interpreter's lock and decodes into memory that is there already, which is what makes chunks
in a few threads as fast as the codec itself.
"""

from dataclasses import dataclass
from typing import Any

import imagecodecs
import numpy as np

from pellucid.formats.chunked.store import Bytes
from pellucid.formats.protocol import Voxels

ByteArray = np.ndarray[Any, np.dtype[np.uint8]]

# Measured on a noisy uint16 scan, one core. gzip: 5 instead of 1 saves 4 % and writes 78 instead of 124 MB/s.
# zstd: 3 instead of 1 saves nothing. zstd in blosc: 5 instead of 3 saves 5 % and writes 84 instead of 246 MB/s;
# 1 instead of 3 costs 6 % and writes 398 MB/s.
GZIP_LEVEL = 1
ZSTD_LEVEL = 1
BLOSC_LEVEL = 3
BLOSC_HEADER_BYTES = 16


class CodecFault(ValueError):
    """Bytes that do not decode to the chunk that they should be. The caller knows the file and says so."""


@dataclass(frozen=True)
class ChunkCodec:
    """name: none, gzip, zlib, zstd, lz4 (with its size in front) or blosc. inner, shuffle (0 none, 1 bytes, 2 bits)
    and itemsize are for blosc."""

    name: str
    level: int = 0
    inner: str = ""
    shuffle: int = 0
    itemsize: int = 1

    def encode(self, voxels: Voxels, room: ByteArray) -> Bytes:
        """Compress a contiguous array into ``room`` (of at least ``room_for`` bytes); returns the used part of it."""
        if self.name == "none":
            return voxels.reshape(-1).view(np.uint8).data
        return memoryview(_ENCODERS[self.name](self, voxels, room))

    def decode(self, stored: Bytes, out: ByteArray) -> None:
        """Fill ``out`` exactly."""
        if self.name == "none":
            _copy(stored, out)
            return
        if self.name == "blosc":
            _check_blosc(stored, len(out))
        try:
            decoded = _DECODERS[self.name](stored, out)
        except (RuntimeError, ValueError) as error:
            raise CodecFault(f"a chunk could not be decoded with {self.name} ({error})") from error
        if len(decoded) != len(out):
            raise CodecFault(f"a chunk decodes to {len(decoded):,} bytes instead of {len(out):,}")


def _copy(stored: Bytes, out: ByteArray) -> None:
    if len(stored) != len(out):
        raise CodecFault(f"a chunk has {len(stored):,} bytes instead of {len(out):,}")
    out[:] = np.frombuffer(stored, np.uint8)


def _check_blosc(stored: Bytes, needs: int) -> None:
    # blosc trusts the length in its header and reads past the end of a chunk that was cut short.
    header = bytes(stored[:BLOSC_HEADER_BYTES])
    length, compressed = int.from_bytes(header[4:8], "little"), int.from_bytes(header[12:16], "little")
    if len(header) < BLOSC_HEADER_BYTES or compressed != len(stored) or length != needs:
        raise CodecFault(f"a chunk of {len(stored):,} bytes does not match its blosc header")


def room_for(nbytes: int) -> int:
    """Memory that is enough for any codec's output: what does not compress grows a little."""
    return nbytes + nbytes // 8 + 65536


def _encode_blosc(codec: ChunkCodec, voxels: Any, room: Any) -> Any:
    return imagecodecs.blosc_encode(
        voxels,
        level=codec.level,
        compressor=codec.inner,
        shuffle=codec.shuffle,
        typesize=codec.itemsize,
        numthreads=1,
        out=room,
    )


_ENCODERS: dict[str, Any] = {
    "gzip": lambda codec, voxels, room: imagecodecs.gzip_encode(voxels, level=codec.level, out=room),
    "zlib": lambda codec, voxels, room: imagecodecs.deflate_encode(voxels, level=codec.level, out=room),
    "zstd": lambda codec, voxels, room: imagecodecs.zstd_encode(voxels, level=codec.level, out=room),
    "lz4": lambda codec, voxels, room: imagecodecs.lz4_encode(voxels, level=codec.level, header=True, out=room),
    "blosc": _encode_blosc,
}
_DECODERS: dict[str, Any] = {
    "gzip": lambda stored, out: imagecodecs.gzip_decode(stored, out=out),
    "zlib": lambda stored, out: imagecodecs.deflate_decode(stored, out=out),
    "zstd": lambda stored, out: imagecodecs.zstd_decode(stored, out=out),
    "lz4": lambda stored, out: imagecodecs.lz4_decode(stored, header=True, out=out),
    "blosc": lambda stored, out: imagecodecs.blosc_decode(stored, numthreads=1, out=out),
}
