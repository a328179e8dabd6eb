"""MetaImage: .mha (header and voxels in one file) and .mhd (header beside a .raw or .zraw).

Here: the header; reading raw, zlib and text voxels and lists of files; writing uncompressed.
Not here: other MetaIO objects.

Directions and origin are in a patient's space to the left, back and head (LPS), as ITK has it.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.errors import Corrupted, InvalidInput, OutputExists, UnsupportedType, WrongDimensions
from pellucid.formats.axis_guess import refuse_empty_axes, unnamed_letters
from pellucid.formats.byte_sources import (
    ByteSource,
    FileBytes,
    JoinedBytes,
    Piece,
    existing_file,
    local_path,
    read_head,
)
from pellucid.formats.flat.inflate import InflatedBytes, numbers_in_text
from pellucid.formats.flat.placement import Placement, place
from pellucid.formats.flat.reader_writer import (
    DetachedWriter,
    FlatReader,
    FlatWriter,
    one_level,
    open_array,
    refuse_unfinished,
)
from pellucid.formats.limits import FormatLimits
from pellucid.formats.location import Location
from pellucid.formats.orientation import Orientation
from pellucid.formats.protocol import Header, Layout, Level, Reader, Spacing, Writer
from pellucid.formats.text_options import numbered_names
from pellucid.formats.units import short_unit

_TYPES = {
    "MET_UCHAR": "u1", "MET_CHAR": "i1", "MET_USHORT": "u2", "MET_SHORT": "i2", "MET_UINT": "u4", "MET_INT": "i4",
    "MET_ULONG": "u4", "MET_LONG": "i4", "MET_ULONG_LONG": "u8", "MET_LONG_LONG": "i8", "MET_FLOAT": "f4",
    "MET_DOUBLE": "f8",
}  # fmt: skip
# MET_ULONG and MET_LONG are read as 32 bits, as MetaIO does, and never written.
_NAMES = {np.dtype(code).name: name for name, code in _TYPES.items() if name not in ("MET_ULONG", "MET_LONG")}
_LPS = (-1.0, -1.0, 1.0)
_OPPOSITES = {"R": "L", "L": "R", "A": "P", "P": "A", "S": "I", "I": "S"}
_MATRICES, _ORIGINS = ("TransformMatrix", "Rotation", "Orientation"), ("Offset", "Origin", "Position")
LIMITS = FormatLimits("MetaImage", tuple(_NAMES))
_HEAD_BYTES = 64 * 1024


def open_reader(location: Location) -> Reader:
    path = local_path(location)
    head = read_head(path, _HEAD_BYTES)
    refuse_unfinished(path, head)
    fields, end = _parse(path, head)
    placement, times, channels = _placement(path, fields)
    codec = "zlib" if _is_true(fields.get("CompressedData")) else ""
    unit = short_unit(fields.get("DistanceUnits", ""))
    dtype = placement.dtype.newbyteorder("=")
    levels = one_level(placement.shape, _spacing(path, fields))
    header = Header(levels, dtype, unit, times, channels, codec, _orientation(path, fields))
    source, offset = _source(path, fields, end, placement.end(times, channels), placement.dtype)
    return FlatReader(header, replace(placement, offset=offset), source)


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    path, level = local_path(location), LIMITS.check(location, layout)
    is_detached = path.suffix.lower() == ".mhd"
    raw = path.with_name(f"{path.name}.raw")  # not foo.raw, which may be a user's input
    head = _header(level, layout, raw.name if is_detached else "LOCAL")
    dtype = layout.dtype.newbyteorder("<")
    if not is_detached:
        return FlatWriter(open_array(path, head, level.shape, dtype, resume=resume), head)
    if path.exists() and not resume:
        raise OutputExists(str(path))
    return DetachedWriter(open_array(raw, b"", level.shape, dtype, resume=resume), path, head)


def _header(level: Level, layout: Layout, voxels: str) -> bytes:
    lines = [
        "ObjectType = Image",
        "NDims = 3",
        "BinaryData = True",
        "BinaryDataByteOrderMSB = False",
        "CompressedData = False",
        *_placed(layout.orientation),
        f"ElementSpacing = {' '.join(repr(float(step)) for step in reversed(level.spacing))}",
        f"DimSize = {' '.join(str(length) for length in reversed(level.shape))}",
        *([f"DistanceUnits = {layout.unit}"] if layout.unit else []),
        f"ElementType = {_NAMES[layout.dtype.newbyteorder('=').name]}",
        f"ElementDataFile = {voxels}",
    ]
    return ("\n".join(lines) + "\n").encode()


def _placed(orientation: Orientation | None) -> list[str]:
    """Directions and origin; AnatomicalOrientation says from where each axis comes, the others where it goes."""
    if orientation is None:
        return []
    *axes, origin = (" ".join(repr(float(n)) for n in vector) for vector in orientation.mirrored(_LPS))
    names = "".join(_OPPOSITES[letter] for letter in orientation.code) if orientation.is_anatomical else "???"
    return [f"TransformMatrix = {' '.join(axes)}", f"Offset = {origin}", f"AnatomicalOrientation = {names}"]


def _orientation(path: Path, fields: dict[str, str]) -> Orientation | None:
    """TransformMatrix has a row for each axis; without it and without an origin, nothing is stated."""
    matrix, offset = ([name for name in names if name in fields] for names in (_MATRICES, _ORIGINS))
    origin = _numbers(path, fields, offset[0]) if offset else [0.0, 0.0, 0.0]
    numbers = _numbers(path, fields, matrix[0]) if matrix else list(np.eye(3).ravel())
    count = round(math.sqrt(len(numbers)))
    if (not matrix and not any(origin)) or count**2 != len(numbers) or min(count, len(origin)) < 3:
        return None
    axes = np.reshape(numbers, (count, count))[:3, :3]
    affine = (np.concatenate([axes, [origin[:3]]]) * _LPS).T
    is_anatomical = "?" not in fields.get("AnatomicalOrientation", "???")
    return Orientation.from_affine(affine, is_anatomical=is_anatomical)


def _parse(path: Path, head: bytes) -> tuple[dict[str, str], int]:
    """The fields up to ElementDataFile, which is always the last, and where the bytes after it begin."""
    fields: dict[str, str] = {}
    position = 0
    while position < len(head):
        end = head.find(b"\n", position)
        end = len(head) if end < 0 else end
        name, equals, value = head[position:end].decode("latin-1").partition("=")
        if not equals:
            break
        position = end + 1
        fields[name.strip()] = value.strip()
        if name.strip() == "ElementDataFile":
            return fields, position
    raise Corrupted(str(path), "its header has no ElementDataFile line")


def _placement(path: Path, fields: dict[str, str]) -> tuple[Placement, int, int]:
    sizes = [int(size) for size in _numbers(path, fields, "DimSize")]
    if len(sizes) not in (3, 4):  # channels have a field of their own
        raise WrongDimensions(str(path), sizes[::-1])
    axes = unnamed_letters(str(path), sizes[::-1])
    refuse_empty_axes(str(path), sizes[::-1])
    kind = fields.get("ElementType", "").removesuffix("_ARRAY")
    if kind not in _TYPES:
        raise UnsupportedType(str(path), kind or "(not stated)", _NAMES)
    is_big = _is_true(fields.get("ElementByteOrderMSB", fields.get("BinaryDataByteOrderMSB")))
    dtype: np.dtype[Any] = np.dtype(_TYPES[kind]).newbyteorder(">" if is_big else "<")
    channels = _whole(path, fields, "ElementNumberOfChannels", 1)
    if channels < 1:
        raise Corrupted(str(path), f"its number of channels, {channels}, is invalid")
    return place(f"{axes}c", [*sizes[::-1], channels], dtype)


def _spacing(path: Path, fields: dict[str, str]) -> Spacing:
    name = next((name for name in ("ElementSpacing", "ElementSize") if name in fields), None)
    if name is None:
        return (1.0, 1.0, 1.0)
    numbers = _numbers(path, fields, name, is_finite=False)
    if len(numbers) < 3:
        raise Corrupted(str(path), f"its header line {name} has {len(numbers)} numbers")
    x, y, z = map(abs, numbers[:3])
    return (z, y, x)


def _numbers(path: Path, fields: dict[str, str], name: str, *, is_finite: bool = True) -> list[float]:
    try:
        numbers = [float(word) for word in fields[name].split()]
    except (KeyError, ValueError):
        numbers = []
    if not numbers or (is_finite and not all(map(math.isfinite, numbers))):
        raise Corrupted(str(path), f"its header line {name} has no numbers")
    return numbers


def _source(path: Path, fields: dict[str, str], end: int, length: int, dtype: np.dtype[Any]) -> tuple[ByteSource, int]:
    """The voxels' bytes and where in them they begin: after the header, in a file beside it, or in several."""
    name = fields["ElementDataFile"]
    skip = _whole(path, fields, "HeaderSize", 0)
    if name == "LIST" or "%" in name:
        return JoinedBytes(_listed(path, name, end, length, max(skip, 0))), 0
    voxels, skip = (path, end) if name.upper() == "LOCAL" else (existing_file(path.parent / name, path), skip)
    if _is_true(fields.get("CompressedData")):
        return InflatedBytes(voxels, "zlib", length, max(skip, 0)), 0
    if fields.get("BinaryData", "True").lower() == "false":
        return InflatedBytes(voxels, f"text-{dtype.str}", length, max(skip, 0), numbers_in_text(dtype)), 0
    if skip < 0:  # the voxels are the last bytes of the file
        skip = max(0, voxels.stat().st_size - length)
    return FileBytes(voxels), skip


def _listed(path: Path, name: str, end: int, length: int, skip: int) -> list[Piece]:
    names = numbered_names(name) if name != "LIST" else read_head(path, 1 << 24, end).decode("latin-1").split()
    if not names or length % len(names):
        raise InvalidInput(
            f"{path} lists {len(names)} voxel files.", remedy="Use a number of files that divides the number of planes."
        )
    return [Piece(existing_file(path.parent / one, path), skip, length // len(names)) for one in names]


def _whole(path: Path, fields: dict[str, str], name: str, default: int) -> int:
    return int(_numbers(path, fields, name)[0]) if fields.get(name) else default


def _is_true(text: str | None) -> bool:
    return text is not None and text.lower() in ("true", "1")
