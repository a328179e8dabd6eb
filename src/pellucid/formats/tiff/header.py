"""The parts of a TIFF file around its pixels: what descriptions say, and the head of an uncompressed stack.

Here: spacing and unit from ImageJ, OME and our own descriptions; printing the head of a stack, classic or BigTIFF.
Not here: pixels (pages), folders (folder).

The head holds every page's directory, so that the voxels after it are one flat array.
"""

import json
import struct
from dataclasses import dataclass
from fractions import Fraction
from math import nan, prod
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from pellucid.errors import Corrupted, LinkBroken
from pellucid.formats.byte_sources import existing_file
from pellucid.formats.local_files import check_allowed
from pellucid.formats.protocol import Layout, Level, Spacing
from pellucid.formats.units import short_unit

MAX_PLANES = 10_000_000
IMAGEJ_TYPES = ("uint8", "uint16", "float32")
_MAX_CLASSIC = 2**32 - 2**16
_SHORT, _LONG, _TEXT, _RATIONAL, _LONG8 = 3, 4, 2, 5, 16
_FORMATS = {_SHORT: "H", _LONG: "I", _LONG8: "Q"}
_SAMPLE_FORMATS = {"u": 1, "i": 2, "f": 3}
# ImageJ ignores lines that it does not know; its own fields are rounded fractions.
_EXACT = "voxel_spacing"


@dataclass(frozen=True)
class TiffVoxelInfo:
    """What a file says of its voxels beyond shape and type."""

    spacing: Spacing = (1.0, 1.0, 1.0)
    unit: str = ""


def read_voxel_info(tif: Any) -> TiffVoxelInfo:
    """Spacing and unit of an open tifffile.TiffFile."""
    if tif.is_ome and tif.ome_metadata:
        return _from_ome(tif.ome_metadata)
    if tif.is_imagej and tif.imagej_metadata:
        return _from_imagej(tif.imagej_metadata, tif.pages.first)
    return _from_json(tif.pages.first.description)


def _from_json(description: str) -> TiffVoxelInfo:
    try:
        fields = json.loads(description)
        z, y, x = map(float, fields["spacing"])
        return TiffVoxelInfo((z, y, x), short_unit(str(fields.get("unit", ""))))
    except (ValueError, TypeError, KeyError, RecursionError):
        return TiffVoxelInfo()


def _from_imagej(fields: dict[str, Any], page: Any) -> TiffVoxelInfo:
    unit = short_unit(str(fields.get("unit", "")))
    exact = str(fields.get(_EXACT, "")).split()
    if len(exact) == 3:
        z, y, x = map(float, exact)
        return TiffVoxelInfo((z, y, x), unit)
    y, x = (_per_pixel(page.tags.get(name)) for name in ("YResolution", "XResolution"))
    return TiffVoxelInfo((abs(float(fields.get("spacing", 1.0))) or 1.0, y, x), unit)


def _per_pixel(tag: Any) -> float:
    """The size of a pixel from the tag that says how many there are per unit."""
    if tag is None:
        return 1.0
    pixels, units = tag.value
    return float(units / pixels) if pixels and units else 1.0


def _from_ome(xml: str) -> TiffVoxelInfo:
    try:
        pixels = ElementTree.fromstring(xml).find(".//{*}Pixels")
    except ElementTree.ParseError:
        return TiffVoxelInfo()
    if pixels is None:
        return TiffVoxelInfo()
    z, y, x = (_length(pixels.get(f"PhysicalSize{axis}", "1")) for axis in "ZYX")
    unit = pixels.get("PhysicalSizeXUnit", "µm" if pixels.get("PhysicalSizeX") else "")
    return TiffVoxelInfo((z, y, x), short_unit(unit))


def _length(text: str) -> float:
    """nan where it is no number."""
    try:
        return float(text)
    except ValueError:
        return nan


def check_ome(path: Path, tif: Any) -> None:
    """Refuse OME metadata that names files which may not be read, or more planes than there can be."""
    if not tif.is_ome or not tif.ome_metadata:
        return
    try:
        elements = list(ElementTree.fromstring(tif.ome_metadata).iter())
    except ElementTree.ParseError as error:
        raise Corrupted(str(path), f"its OME metadata is not XML ({error})") from error
    for element in elements:
        for name in filter(None, (element.get(key) for key in ("FileName", "MetadataFile"))):
            if check_allowed(path.parent / name, path).exists():
                existing_file(path.parent / name, path)
        planes = prod(_count(element, f"Size{axis}") for axis in "ZCT")
        if planes > MAX_PLANES:
            raise Corrupted(str(path), f"its OME metadata states {planes:,} planes")
    if sum(element.tag.endswith("}Image") for element in elements) == 1:
        require_members(path, tif)


def require_members(path: Path, tif: Any) -> None:
    """Raise LinkBroken where a file of the set that OME metadata describes is missing: it would be read as zeros."""
    for name in members(tif):
        if not (path.parent / name).exists():
            raise LinkBroken(str(path), "The OME metadata", str(path.parent / name))


def members(tif: Any) -> list[str]:
    """Names of the other files of the set that OME metadata describes; a renamed file is known by its UUID."""
    if not tif.is_ome or not tif.ome_metadata:
        return []
    root = ElementTree.fromstring(tif.ome_metadata)
    named = [(element.text, element.get("FileName", "")) for element in root.iter() if element.tag.endswith("}UUID")]
    own = {root.get("UUID"), *(uuid for uuid, name in named if name.lower() == tif.filename.lower())}
    return list(dict.fromkeys(name for uuid, name in named if name and uuid not in own))


def _count(element: ElementTree.Element, name: str) -> int:
    text = element.get(name, "1")
    return int(text) if text.isdecimal() and len(text) < 20 else MAX_PLANES + 1


def describe(level: Level, layout: Layout) -> str:
    """The description that carries spacing and unit: ImageJ's where it knows the type, JSON otherwise."""
    planes, rows, columns = level.shape
    unit = layout.unit.encode("ascii", "backslashreplace").decode()
    if layout.dtype.newbyteorder("=").name not in IMAGEJ_TYPES:
        shape = [rows, columns] if planes == 1 else [planes, rows, columns]
        return json.dumps({"shape": shape, "spacing": list(level.spacing), "unit": unit})
    lines = ["ImageJ=1.54f", f"images={planes}", f"slices={planes}", "loop=false", f"spacing={level.spacing[0]!r}"]
    lines += [f"unit={unit}"] if unit else []
    return "\n".join([*lines, f"{_EXACT}={' '.join(repr(float(step)) for step in level.spacing)}", ""])


def print_head(level: Level, layout: Layout) -> bytes:
    """Everything before the voxels of an uncompressed little-endian stack."""
    planes = level.shape[0]
    voxels = prod(level.shape) * layout.dtype.itemsize
    is_big = voxels + 512 * planes > _MAX_CLASSIC
    text = describe(level, layout).encode() + b"\0"
    first, other = (len(_directory(level, layout, is_big, 0, 0, at)) for at in (1, 0))
    extra = (16 if is_big else 8) + first + (planes - 1) * other
    start = -(-(extra + 16 + len(text)) // 16) * 16
    head = [struct.pack("<2sHHHQ", b"II", 43, 8, 0, 16) if is_big else struct.pack("<2sHI", b"II", 42, 8)]
    position, plane_bytes = len(head[0]), voxels // planes
    for plane in range(planes):
        position += first if plane == 0 else other
        following = position if plane + 1 < planes else 0
        offset = start + plane * plane_bytes
        head.append(_directory(level, layout, is_big, offset, following, extra if plane == 0 else 0))
    return (b"".join(head) + _resolutions(level) + text).ljust(start, b"\0")


def _directory(level: Level, layout: Layout, is_big: bool, offset: int, following: int, extra: int) -> bytes:
    """One page's directory. extra: where resolutions and description are; 0 for pages without them."""
    _, rows, columns = level.shape
    where, dtype = _LONG8 if is_big else _LONG, np.dtype(layout.dtype)
    entries = [
        (256, _LONG, 1, columns), (257, _LONG, 1, rows), (258, _SHORT, 1, dtype.itemsize * 8), (259, _SHORT, 1, 1),
        (262, _SHORT, 1, 1), (273, where, 1, offset), (277, _SHORT, 1, 1), (278, _LONG, 1, rows),
        (279, where, 1, rows * columns * dtype.itemsize), (339, _SHORT, 1, _SAMPLE_FORMATS[dtype.kind]),
    ]  # fmt: skip
    if extra:
        count = len(describe(level, layout)) + 1
        entries += [(270, _TEXT, count, extra + 16), (282, _RATIONAL, 1, extra), (283, _RATIONAL, 1, extra + 8)]
        entries += [(296, _SHORT, 1, 1)]
    body = b"".join(_entry(is_big, *entry) for entry in sorted(entries))
    count_code, next_code = ("<Q", "<Q") if is_big else ("<H", "<I")
    return struct.pack(count_code, len(entries)) + body + struct.pack(next_code, following)


def _entry(is_big: bool, tag: int, kind: int, count: int, value: int) -> bytes:
    """One field of a directory; texts and fractions never fit into it and are named by their position."""
    position = _LONG8 if is_big else _LONG
    packed = struct.pack(f"<{_FORMATS.get(kind, _FORMATS[position])}", value)
    return struct.pack("<HHQ" if is_big else "<HHI", tag, kind, count) + packed.ljust(8 if is_big else 4, b"\0")


def _resolutions(level: Level) -> bytes:
    """Pixels per unit along x and y, as fractions of 32-bit numbers."""
    return b"".join(struct.pack("<II", *_fraction(1.0 / step if step > 0 else 1.0)) for step in level.spacing[:0:-1])


def _fraction(number: float) -> tuple[int, int]:
    limit = 2**32 - 1
    fraction = Fraction(number).limit_denominator(max(1, min(limit, int(limit / max(number, 1.0)))))
    return min(fraction.numerator, limit), fraction.denominator
