"""NIfTI-1 and NIfTI-2: .nii, .nii.gz, and .hdr beside .img.

Here: reading either byte order, scaled numbers, time and channel; writing .nii and .nii.gz.
Not here: the header's fields, orientation among them (nifti_header).
"""

from pathlib import Path

from pellucid.errors import InvalidInput
from pellucid.formats.byte_sources import ByteSource, FileBytes, existing_file, local_path, read_head
from pellucid.formats.flat.inflate import InflatedBytes, inflated_head
from pellucid.formats.flat.nifti_header import CODES, HEAD_BYTES, NiftiHeader, parse_header, print_header
from pellucid.formats.flat.placement import Placement
from pellucid.formats.flat.reader_writer import (
    CompressedWriter,
    FlatReader,
    FlatWriter,
    ScaledReader,
    one_level,
    open_array,
    refuse_unfinished,
    staged_array,
)
from pellucid.formats.limits import FormatLimits
from pellucid.formats.location import Location
from pellucid.formats.protocol import Header, Layout, Reader, Writer

LIMITS = FormatLimits("NIfTI", tuple(CODES), ("none", "gzip"))
_GZIP_MAGIC = b"\x1f\x8b"


def open_reader(location: Location) -> Reader:
    path = _header_path(local_path(location))
    head, is_gzip = _head(path)
    refuse_unfinished(path, head)
    parsed = parse_header(path, head)
    placement, times, channels = parsed.placement()
    levels = one_level(placement.shape, parsed.spacing)
    codec = "gzip" if is_gzip else ""
    dtype = placement.dtype.newbyteorder("=")
    header = Header(levels, dtype, parsed.unit, times, channels, codec, parsed.orientation)
    reader = FlatReader(header, placement, _source(path, parsed, placement, is_gzip=is_gzip))
    return ScaledReader(reader, parsed.slope, parsed.intercept) if parsed.is_scaled else reader


def _header_path(path: Path) -> Path:
    """Of a pair, either file may be named."""
    return path.with_suffix(".hdr") if path.suffix.lower() == ".img" else path


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    path, level = local_path(location), LIMITS.check(location, layout)
    head, dtype = print_header(level, layout), layout.dtype.newbyteorder("<")
    is_gzip = path.name.lower().endswith(".gz")
    _refuse_other_codec(path, layout, is_gzip=is_gzip)
    if not is_gzip:
        return FlatWriter(open_array(path, head, level.shape, dtype, resume=resume), head)
    return CompressedWriter(staged_array(path, head, level.shape, dtype, resume=resume), head, path)


def _refuse_other_codec(path: Path, layout: Layout, *, is_gzip: bool) -> None:
    """Programs go by the name: a .nii of gzip bytes, or a .nii.gz without, is one that they cannot open."""
    if layout.codec == "gzip" and not is_gzip:
        raise InvalidInput(
            f"The codec gzip does not match the name {path}.",
            remedy=f"Name it {path.with_suffix('.nii.gz').name}, or leave out the codec.",
        )
    if layout.codec == "none" and is_gzip:
        raise InvalidInput(
            f"The name {path} does not match the codec: .gz needs gzip.",
            remedy=f"Name it {path.with_suffix('').name}, or leave out the codec.",
        )


def _head(path: Path) -> tuple[bytes, bool]:
    head = read_head(path, HEAD_BYTES)
    if not head.startswith(_GZIP_MAGIC):
        return head, False
    return inflated_head(path, "gzip", HEAD_BYTES), True


def _source(path: Path, parsed: NiftiHeader, placement: Placement, *, is_gzip: bool) -> ByteSource:
    if is_gzip:
        return InflatedBytes(path, "gzip", placement.end())
    return FileBytes(existing_file(path.with_suffix(".img"), path) if parsed.is_pair else path)
