"""Headerless voxels: shape and type come from the name or from the location's options.

Here: names such as ``foo_512x512x361_int16_be.raw`` (x first, as in Open SciVis names), options ``shape=``, ``dtype=``,
``order=le|be``, ``offset=``; reading and writing.
Not here: guessing. What the name does not say must be given.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.box import Shape
from pellucid.errors import InvalidInput
from pellucid.formats.byte_sources import FileBytes, existing_file, local_path
from pellucid.formats.flat.placement import Placement
from pellucid.formats.flat.reader_writer import FlatReader, FlatWriter, one_level, open_array
from pellucid.formats.limits import FormatLimits
from pellucid.formats.location import Location
from pellucid.formats.protocol import VOXEL_TYPES, Header, Layout, Reader, Writer
from pellucid.formats.text_options import parse_dtype, parse_shape, print_shape, spacing_option
from pellucid.formats.units import short_unit

LIMITS = FormatLimits("raw")
_SHAPE = re.compile(r"(?<![0-9a-z])\d+x\d+x\d+(?![0-9x])", re.IGNORECASE)
_DTYPE = re.compile(rf"(?<![a-z])({'|'.join(VOXEL_TYPES)})(?![0-9])")
_ORDER = re.compile(r"[_.-](le|be|little|big)(?![a-z])")


@dataclass(frozen=True)
class RawSpec:
    """What is said of headerless voxels; None where nothing is."""

    shape: Shape | None
    dtype: np.dtype[Any] | None


def open_reader(location: Location) -> Reader:
    path = existing_file(local_path(location))
    text = raw_spec(location)
    if text.shape is None or text.dtype is None:
        lacking = " and ".join(name for name in ("shape", "dtype") if getattr(text, name) is None)
        raise InvalidInput(
            f"{location.path} has no header, and its {lacking} was not given.",
            remedy=f"Write {location.path}:shape=Z,Y,X,dtype=uint16 (with order=be or offset=BYTES if needed).",
        )
    placement = Placement.dense(text.shape, text.dtype, location.number("offset") or 0)
    _refuse_other_size(location, placement, path.stat().st_size)
    unit = short_unit(location.option("unit") or "")
    header = Header(one_level(text.shape, spacing_option(location)), text.dtype.newbyteorder("="), unit)
    return FlatReader(header, placement, FileBytes(path))


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    path, level = local_path(location), LIMITS.check(location, layout)
    text, wanted = raw_spec(location), layout.dtype.newbyteorder("=")
    if text.dtype is None or text.shape != level.shape or text.dtype.newbyteorder("=") != wanted:
        name = f"{path.stem}_{print_shape(level.shape)}_{wanted.name}_le{path.suffix or '.raw'}"
        raise InvalidInput(
            f"A raw file has no header, and the name {path.name} does not contain the shape and type of this volume.",
            remedy=f"Write it as {path.with_name(name)}.",
        )
    return FlatWriter(open_array(path, b"", level.shape, text.dtype, resume=resume), b"")


def raw_spec(location: Location) -> RawSpec:
    """Shape and type from the options, else from the name."""
    name = location.local.name.lower()
    shape = location.option("shape") or _found(_SHAPE, name)
    dtype = location.option("dtype") or _found(_DTYPE, name)
    order = location.option("order") or (_found(_ORDER, name) or "_le")[1:]
    return RawSpec(parse_shape(shape) if shape else None, parse_dtype(dtype, order) if dtype else None)


def _found(pattern: "re.Pattern[str]", name: str) -> str | None:
    found = pattern.search(name)
    return found.group() if found else None


def _refuse_other_size(location: Location, placement: Placement, size: int) -> None:
    """No header can be wrong here: either the file is not whole, or what was asked for is not what is in it."""
    needs = placement.end()
    request = f"{print_shape(placement.shape)} voxels of {placement.dtype.newbyteorder('=')}"
    request += f" after {placement.offset:,} bytes" if placement.offset else ""
    if size < needs:
        raise InvalidInput(
            f"{location.path} is truncated, or has another shape or type: "
            f"{request} need {needs:,} bytes, but it has {size:,}.",
            remedy="Correct the shape, type or offset; if they are right, copy the file again.",
        )
    if size > needs and location.option("offset") is None:
        raise InvalidInput(
            f"{location.path} has {size:,} bytes, but {request} need {needs:,} bytes.",
            remedy=f"Correct the shape or type, or add offset={size - needs} if the file has a header.",
        )
