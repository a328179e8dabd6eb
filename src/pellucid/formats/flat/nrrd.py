"""NRRD: attached (.nrrd) and detached (.nhdr) headers.

Here: reading raw, gzip, bzip2 and text voxels, lists of files; writing raw and gzip.
Not here: the header's grammar, orientation among it (nrrd_header).
"""

from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from pellucid.errors import Corrupted, InvalidInput, OutputExists, UnknownCodec
from pellucid.formats.byte_sources import (
    ByteSource,
    FileBytes,
    JoinedBytes,
    Piece,
    existing_file,
    local_path,
    open_bytes,
    read_head,
)
from pellucid.formats.flat.inflate import InflatedBytes, numbers_in_text
from pellucid.formats.flat.nrrd_header import TYPE_NAMES, NrrdHeader, parse_header, print_header
from pellucid.formats.flat.reader_writer import (
    CompressedWriter,
    DetachedWriter,
    FlatReader,
    FlatWriter,
    one_level,
    open_array,
    refuse_unfinished,
    staged_array,
)
from pellucid.formats.limits import FormatLimits
from pellucid.formats.location import Location
from pellucid.formats.protocol import Header, Layout, Reader, Writer

LIMITS = FormatLimits("NRRD", tuple(TYPE_NAMES), ("none", "gzip"))
_HEAD_BYTES = 1 << 20
_LINE_BYTES = 1 << 20
_ENCODINGS = {
    "raw": "", "gzip": "gzip", "gz": "gzip", "bzip2": "bzip2", "bz2": "bzip2", "text": "text", "txt": "text",
    "ascii": "text",
}  # fmt: skip


def open_reader(location: Location) -> Reader:
    path = local_path(location)
    head = read_head(path, _HEAD_BYTES)
    refuse_unfinished(path, head)
    parsed = parse_header(path, head)
    if parsed.encoding not in _ENCODINGS:
        raise UnknownCodec(str(path), parsed.encoding, _ENCODINGS)
    placement, times, channels = parsed.placement()
    source, offset = _source(path, parsed, placement.end(times, channels))
    codec = _ENCODINGS[parsed.encoding]
    levels = one_level(placement.shape, parsed.spacing())
    dtype = placement.dtype.newbyteorder("=")
    header = Header(levels, dtype, parsed.unit(), times, channels, codec, parsed.orientation())
    return FlatReader(header, replace(placement, offset=offset), source)


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    path, level = local_path(location), LIMITS.check(location, layout)
    codec, dtype = LIMITS.codec(location, layout), layout.dtype.newbyteorder("<")
    is_detached = path.suffix.lower() == ".nhdr"
    if is_detached and codec == "gzip":
        raise InvalidInput(
            f"{path} is a detached header, which does not support codecs.",
            remedy="Use a name that ends in .nrrd, or leave out the codec.",
        )
    if codec == "gzip":
        head = print_header(level, layout, "gzip")
        array = staged_array(path, b"", level.shape, dtype, resume=resume, plain_head=head)
        return CompressedWriter(array, b"", path, head)
    if is_detached:
        if path.exists() and not resume:
            raise OutputExists(str(path))
        raw = path.with_name(f"{path.name}.raw")  # not foo.raw, which may be a user's input
        array = open_array(raw, b"", level.shape, dtype, resume=resume)
        return DetachedWriter(array, path, print_header(level, layout, "raw", raw.name))
    head = print_header(level, layout, "raw")
    return FlatWriter(open_array(path, head, level.shape, dtype, resume=resume), head)


def _source(path: Path, parsed: NrrdHeader, length: int) -> tuple[ByteSource, int]:
    """The voxels' bytes, and where in them the first voxel is."""
    codec = _ENCODINGS[parsed.encoding]
    names = parsed.data_files
    if len(names) > 1:
        return _joined(path, parsed, codec, length), 0
    voxels = existing_file(path.parent / names[0], path) if names else path
    start = _after_lines(voxels, parsed.line_skip, 0 if names else parsed.end)
    if codec == "text":
        decoder = numbers_in_text(np.dtype(parsed.dtype))
        return InflatedBytes(voxels, f"text-{parsed.dtype.str}", length, start, decoder), 0
    if codec:  # bytes to skip are counted in the inflated stream
        skip = max(0, parsed.byte_skip)
        return InflatedBytes(voxels, codec, length + skip, start), skip
    if parsed.byte_skip < 0:  # the voxels are the last bytes of the file
        return FileBytes(voxels), max(0, voxels.stat().st_size - length)
    return FileBytes(voxels), start + parsed.byte_skip


def _joined(path: Path, parsed: NrrdHeader, codec: str, length: int) -> JoinedBytes:
    names = parsed.data_files
    if codec or length % len(names):
        raise InvalidInput(
            f"{path} lists {len(names)} files of {parsed.encoding} voxels.",
            remedy="Use raw files with the same number of planes each.",
        )
    piece = length // len(names)
    files = [existing_file(path.parent / name, path) for name in names]
    skips = [max(0, file.stat().st_size - piece) if parsed.byte_skip < 0 else parsed.byte_skip for file in files]
    return JoinedBytes([Piece(file, skip, piece) for file, skip in zip(files, skips, strict=True)])


def _after_lines(path: Path, lines: int, start: int) -> int:
    """The position after so many lines of text; Corrupted where the file has fewer."""
    if lines <= 0:
        return start
    with open_bytes(path) as file:
        file.seek(start)
        for _ in range(lines):
            if not _has_skipped_line(file):
                raise Corrupted(str(path), f"{lines:,} lines should precede its voxels, but it has fewer")
        return file.tell()


def _has_skipped_line(file: BinaryIO) -> bool:
    """Whether there was another line; one without an end is not taken into memory whole."""
    piece = file.readline(_LINE_BYTES)
    has_line = bool(piece)
    while piece and not piece.endswith(b"\n"):
        piece = file.readline(_LINE_BYTES)
    return has_line
