"""Planes of TIFF files, decoded strip by strip or tile by tile.

Here: Plane and its PageLayout, taken from a tifffile page; reading a window of one without decoding the rest.
Not here: stacks (tiff), folders (folder), descriptions (header).
"""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from pellucid.errors import Corrupted, Truncated, UnknownCodec, UnsupportedType, WrongDimensions
from pellucid.formats.byte_sources import ByteSource, existing_file, open_bytes, read_errors, read_head
from pellucid.formats.protocol import VOXEL_TYPES, Voxels

Range = tuple[int, int]

# What tifffile is seen to raise on directories that make no sense.
_BROKEN = (
    struct.error,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    AssertionError,
)


@dataclass(frozen=True)
class PageLayout:
    """How a plane is cut into pieces that are decoded on their own.

    shape, piece: (y, x) voxels. is_planar: whether samples (colours) lie in planes of their own.
    """

    shape: tuple[int, int]
    piece: tuple[int, int]
    samples: int
    is_planar: bool
    dtype: np.dtype[Any]
    codec: str
    decode: Callable[..., Any]

    def matches(self, other: "PageLayout") -> bool:
        return (self.shape, self.samples, self.dtype) == (other.shape, other.samples, other.dtype)


@dataclass(frozen=True)
class Plane:
    """One image: where its pieces are in which file."""

    path: Path
    offsets: tuple[int, ...]
    lengths: tuple[int, ...]
    tables: bytes | None
    geometry: PageLayout

    def require(self, size: int) -> None:
        """Raise Truncated where the file ends before the last piece does."""
        end = max((a + b for a, b in zip(self.offsets, self.lengths, strict=True)), default=0)
        if end > size:
            raise Truncated(str(self.path), end, size)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A tifffile.TiffFile, its faults named."""
    try:
        with read_errors(path), tifffile.TiffFile(existing_file(path)) as tif:
            yield tif
    except _BROKEN as error:
        raise Corrupted(str(path), f"it is not a complete TIFF file ({error})") from error


def geometry_of(path: Path, page: Any) -> PageLayout:
    """The geometry of a page; refuses what is not an image of numbers."""
    if page.dtype is None or page.dtype.name not in VOXEL_TYPES:
        is_complex = page.dtype is not None and page.dtype.kind == "c"
        raise UnsupportedType(str(path), page.dtype if is_complex else f"{page.bitspersample} bits", VOXEL_TYPES)
    if page.imagedepth > 1 or page.axes not in ("YX", "YXS", "SYX"):
        raise WrongDimensions(str(path), page.shape)
    piece = (page.tilelength, page.tilewidth) if page.is_tiled else (page.rowsperstrip, page.imagewidth)
    is_planar = page.axes == "SYX"
    shape = (page.imagelength, page.imagewidth)
    decode = _decoder(path, page)
    codec = "" if page.compression == 1 else page.compression.name.lower()
    return PageLayout(shape, piece, page.samplesperpixel, is_planar, page.dtype, codec, decode)


def _decoder(path: Path, page: Any) -> Callable[..., Any]:
    decode: Callable[..., Any] = page.decode
    try:  # a codec that is missing shows only when it is called
        decode(None, 0)
    except (ValueError, ImportError) as error:
        raise UnknownCodec(str(path), getattr(page.compression, "name", str(page.compression))) from error
    return decode


def plane_of(path: Path, page: Any, geometry: PageLayout) -> Plane:
    return Plane(path, tuple(page.dataoffsets), tuple(page.databytecounts), page.jpegtables, geometry)


def read_window(source: ByteSource, plane: Plane, y: Range, x: Range, c: int, out: Voxels) -> None:
    """Fill ``out`` with rows and columns of one sample of a plane."""
    (height, width), geometry = plane.geometry.piece, plane.geometry
    columns = -(-geometry.shape[1] // width)
    pieces_per_sample = columns * -(-geometry.shape[0] // height)
    for row in range(y[0] // height, -(-y[1] // height)):
        for column in range(x[0] // width, -(-x[1] // width)):
            index = row * columns + column + (c * pieces_per_sample if geometry.is_planar else 0)
            piece = _decoded(source, plane, index)
            _copy_piece(piece, (row * height, column * width), y, x, 0 if geometry.is_planar else c, out)


def _copy_piece(piece: Voxels | None, origin: Range, y: Range, x: Range, sample: int, out: Voxels) -> None:
    """The common part of a decoded piece (rows, columns, samples) and the window. None: never written, zeros."""
    if piece is None:
        rows, columns = y[1] - origin[0], x[1] - origin[1]
        out[
            max(0, origin[0] - y[0]) : rows + origin[0] - y[0], max(0, origin[1] - x[0]) : columns + origin[1] - x[0]
        ] = 0
        return
    y0, x0 = max(y[0], origin[0]), max(x[0], origin[1])
    y1, x1 = min(y[1], origin[0] + piece.shape[0]), min(x[1], origin[1] + piece.shape[1])
    wanted = piece[y0 - origin[0] : y1 - origin[0], x0 - origin[1] : x1 - origin[1], sample]
    out[y0 - y[0] : y1 - y[0], x0 - x[0] : x1 - x[0]] = wanted


def _decoded(source: ByteSource, plane: Plane, index: int) -> Voxels | None:
    length = plane.lengths[index]
    if length == 0:
        return None
    stored = bytearray(length)
    source.fill(plane.offsets[index], memoryview(stored))
    try:
        piece, _, _ = plane.geometry.decode(bytes(stored), index, jpegtables=plane.tables)
    except (RuntimeError, ValueError) as error:  # imagecodecs' errors are RuntimeErrors
        raise Corrupted(str(plane.path), f"a strip or tile could not be decoded ({error})") from error
    decoded: Voxels = piece[0]
    return decoded


def check_chain(path: Path) -> None:
    """Follow the pages' directories to the last: a file cut short would otherwise pass for a shorter stack.

    Directories that form a circle would be read again and again.
    """
    size = path.stat().st_size
    head = read_head(path, 16)
    order = ">" if head[:2] == b"MM" else "<"
    is_big = head[2:4] in (b"+\0", b"\0+")
    count_code, entry_bytes, next_code = ("Q", 20, "Q") if is_big else ("H", 12, "I")
    count_bytes, next_bytes = struct.calcsize(count_code), struct.calcsize(next_code)
    with open_bytes(path) as file:
        file.seek(8 if is_big else 4)
        position, seen = _unpacked(path, file.read(next_bytes), order + next_code), set()
        while position:
            if position in seen:
                raise Corrupted(str(path), "its page directories form a circle")
            seen.add(position)
            if position + count_bytes > size:
                raise Truncated(str(path), position + count_bytes, size)
            file.seek(position)
            count = _unpacked(path, file.read(count_bytes), order + count_code)
            end = position + count_bytes + count * entry_bytes
            if end + next_bytes > size:  # A count of any size: no file has a position beyond 2 ** 63.
                raise Corrupted(str(path), "a page directory is truncated")
            file.seek(end)
            position = _unpacked(path, file.read(next_bytes), order + next_code)


def _unpacked(path: Path, stored: bytes, code: str) -> int:
    try:
        return int(struct.unpack(code, stored)[0])
    except struct.error as error:
        raise Corrupted(str(path), "a page directory is truncated") from error
