"""HiPic: frames of Hamamatsu cameras, one in an .img file, many in a .his file, or a folder of .img files.

Here: the 64-byte header that every frame has, and reading frames of 8, 12 (packed) and 16 bits.
Not here: which frames are projections (tomo), writing (nothing asks for it).

Numbers are little-endian. Two 12-bit pixels share three bytes, the first pixel in the high bits.
"""

import fnmatch
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pellucid.box import Box
from pellucid.errors import Corrupted, DatasetMissing, EmptyFile, InvalidInput, NotWritable
from pellucid.formats.byte_sources import FileBytes, local_path, read_errors
from pellucid.formats.flat.placement import Placement, read_box
from pellucid.formats.flat.reader_writer import one_level
from pellucid.formats.location import Location
from pellucid.formats.protocol import Header, Layout, Voxels, Writer, check_selection
from pellucid.formats.text_options import spacing_option
from pellucid.formats.tiff.file_numbers import natural_key
from pellucid.formats.units import short_unit

MAGIC = b"IM"
HEADER_BYTES = 64
BITS = {0: 8, 2: 16, 6: 12}
_FIELDS = struct.Struct("<2sHhhhhhHH")


@dataclass(frozen=True)
class HipicFrame:
    """Where the pixels of one frame begin, how many there are, and how they are stored."""

    path: Path
    offset: int
    rows: int
    columns: int
    bits: int

    @property
    def end(self) -> int:
        return self.offset + (self.rows * self.columns * self.bits + 7) // 8


def open_reader(location: Location) -> "HiPicReader":
    frames = [frame for path in _files(location) for frame in _frames(path)]
    return HiPicReader(location, frames)


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    raise NotWritable(location.path, "HiPic is read-only")


def _files(location: Location) -> list[Path]:
    """The file itself, or the .img files of a folder in natural order; some of them by ``folder:/q*.img``."""
    path = local_path(location)
    if not path.is_dir():
        return [path]
    with read_errors(path):
        names = sorted((entry.name for entry in path.iterdir() if is_image(entry.name)), key=natural_key)
    wanted = [name for name in names if not location.dataset or fnmatch.fnmatch(name, location.dataset[1:])]
    if names and not wanted:
        raise DatasetMissing(str(path), location.dataset, [f"/{name}" for name in names])
    if not wanted:
        raise EmptyFile(str(path), "HiPic files")
    return [path / name for name in wanted]


def is_image(name: str) -> bool:
    return name.lower().endswith(".img") and not name.startswith(".")


def _frames(path: Path) -> list[HipicFrame]:
    """All frames of a file. Each has a header and a comment of its own, so the next is found from the one before."""
    file = FileBytes(path)
    try:
        first, count = _frame_at(file, 0)
        frames = [first]
        for _ in range(1, count):
            frames.append(_frame_at(file, frames[-1].end)[0])
        file.require(frames[-1].end)
    finally:
        file.close()
    return frames


def _frame_at(file: FileBytes, position: int) -> tuple[HipicFrame, int]:
    """The frame whose header is at a position, and how many frames the header says the file has."""
    file.require(position + HEADER_BYTES)
    head = bytearray(HEADER_BYTES)
    file.fill(position, memoryview(head))
    magic, comment, columns, rows, _, _, kind, low, high = _FIELDS.unpack_from(head)
    if magic != MAGIC:
        raise Corrupted(str(file.path), f"expected a frame at byte {position:,}, found none")
    if kind not in BITS or rows <= 0 or columns <= 0:
        raise Corrupted(
            str(file.path),
            f"the frame at byte {position:,} has an invalid size or type: {columns} x {rows} pixels of type {kind}",
        )
    frame = HipicFrame(file.path, position + HEADER_BYTES + comment, rows, columns, BITS[kind])
    is_sequence = file.path.suffix.lower() == ".his"
    return frame, max(1, low + 65536 * high) if is_sequence else 1


class HiPicReader:
    """Frames of one size and type. A file is open only while it is read: a folder may hold thousands."""

    def __init__(self, location: Location, frames: list[HipicFrame]) -> None:
        self._path = location.path
        self._frames = frames
        first = frames[0]
        for frame in frames:
            if (frame.rows, frame.columns, frame.bits) != (first.rows, first.columns, first.bits):
                raise InvalidInput(
                    f"{frame.path} has a frame of {_text(frame)}, but the first frame has {_text(first)}.",
                    remedy="Choose frames of one size by name: FOLDER:/q*.img.",
                )
        shape = (len(frames), first.rows, first.columns)
        dtype = np.dtype(np.uint8 if first.bits == 8 else np.uint16)
        unit = short_unit(location.option("unit") or "")
        self.header = Header(one_level(shape, spacing_option(location)), dtype, unit)

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        check_selection(self._path, self.header, level=level, t=t, c=c)
        file: FileBytes | None = None
        try:
            for index, frame in enumerate(self._frames[box.start[0] : box.stop[0]]):
                if file is None or file.path != frame.path:
                    if file is not None:
                        file.close()
                    file = FileBytes(frame.path)
                _read_frame(file, frame, box, out[index])
        finally:
            if file is not None:
                file.close()

    def close(self) -> None:
        """Nothing is held open."""


def _text(frame: HipicFrame) -> str:
    return f"{frame.columns} x {frame.rows} pixels of {frame.bits} bits"


def _read_frame(file: FileBytes, frame: HipicFrame, box: Box, out: Voxels) -> None:
    (_, top, left), (_, bottom, right) = box.start, box.stop
    if frame.bits == 12:
        out[...] = _unpacked_rows(file, frame, top, bottom)[:, left:right]
        return
    stored = np.dtype("u1" if frame.bits == 8 else "<u2")
    placement = Placement.dense((1, frame.rows, frame.columns), stored, frame.offset)
    read_box(file, placement, Box((0, top, left), (1, bottom, right)), out[None])


def _unpacked_rows(file: FileBytes, frame: HipicFrame, top: int, bottom: int) -> Voxels:
    """Whole rows of 12-bit pixels; where a row begins in the middle of a pair, the pair is read."""
    first, stop = top * frame.columns, bottom * frame.columns
    even = first // 2 * 2
    packed = np.empty(((stop - even) * 3 + 1) // 2, np.uint8)
    file.fill(frame.offset + even // 2 * 3, packed.data)
    pixels = unpack_12_bits(packed)[first - even : stop - even]
    return pixels.reshape(bottom - top, frame.columns)


def unpack_12_bits(packed: Voxels) -> Voxels:
    """Pixels from triples of bytes; a last pixel without a partner takes two bytes.

    >>> unpack_12_bits(np.array([0xAB, 0xCD, 0xEF], np.uint8)).tolist() == [0xABC, 0xDEF]
    True
    """
    triples = np.zeros((-(-len(packed) // 3), 3), np.uint16)
    triples.reshape(-1)[: len(packed)] = packed
    pixels = np.empty((len(triples), 2), np.uint16)
    pixels[:, 0] = triples[:, 0] << 4 | triples[:, 1] >> 4
    pixels[:, 1] = (triples[:, 1] & 15) << 8 | triples[:, 2]
    return pixels.reshape(-1)
