"""NetCDF 3 (classic, 64-bit offset, CDF-5): volumes as variables. NetCDF 4 is HDF5 and is read as such.

Here: choosing the variable, spacing from coordinate variables, packed values, reading and writing.
Not here: the header's bytes (netcdf_header), NetCDF 4 (hdf5).
"""

import math
from pathlib import Path

import numpy as np

from pellucid.box import Shape
from pellucid.errors import DatasetAmbiguous, DatasetMissing, UnsupportedType
from pellucid.formats.axis_guess import refuse_empty_axes, unnamed_letters
from pellucid.formats.byte_sources import FileBytes, local_path, read_head
from pellucid.formats.flat.netcdf_header import TYPES, Contents, Variable, parse_header, print_header
from pellucid.formats.flat.placement import Placement
from pellucid.formats.flat.reader_writer import (
    MISSING,
    FlatReader,
    FlatWriter,
    one_level,
    open_array,
    refuse_unfinished,
    with_values,
)
from pellucid.formats.limits import FormatLimits
from pellucid.formats.location import Location
from pellucid.formats.protocol import VOXEL_TYPES, Header, Layout, Reader, Spacing, Writer
from pellucid.formats.units import short_unit

LIMITS = FormatLimits("NetCDF", tuple(name for name in VOXEL_TYPES if name in TYPES))
_HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
_CHANNEL_NAMES = ("c", "channel", "channels", "band", "bands", "component", "components")


def open_reader(location: Location) -> Reader:
    path = local_path(location)
    head = read_head(path, 64)
    if head.startswith(_HDF5_MAGIC):
        from pellucid.formats.hdf5.format import open_reader as open_hdf5

        return open_hdf5(location)
    refuse_unfinished(path, head)
    contents = parse_header(path)
    variable = _choose(location, contents)
    placement, times, channels = _placement(path, contents, variable)
    spacing, unit = _spacing(path, contents, variable)
    dtype = placement.dtype.newbyteorder("=")
    header = Header(one_level(placement.shape, spacing), dtype, unit, times, channels)
    reader = FlatReader(header, placement, FileBytes(path))
    slope, intercept = variable.number("scale_factor", 1.0), variable.number("add_offset", 0.0)
    return with_values(reader, slope, intercept, [variable.number(name, math.nan) for name in MISSING])


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    path, level = local_path(location), LIMITS.check(location, layout)
    name = location.dataset.strip("/") or "volume"
    head = print_header(name, level, layout)
    array = open_array(path, head, level.shape, layout.dtype.newbyteorder(">"), resume=resume)
    return FlatWriter(array, head)


def _choose(location: Location, contents: Contents) -> Variable:
    volumes = {f"/{one.name}": one for one in contents.variables if len(one.dimensions) >= 3}
    if location.dataset:
        named = {f"/{one.name}": one for one in contents.variables}
        if location.dataset not in named:
            raise DatasetMissing(location.path, location.dataset, list(volumes))
        return named[location.dataset]
    if len(volumes) != 1:
        raise DatasetAmbiguous(location.path, list(volumes))
    return next(iter(volumes.values()))


def _placement(path: Path, contents: Contents, variable: Variable) -> tuple[Placement, int, int]:
    shape, strides = contents.shape(variable), contents.strides(variable)
    refuse_empty_axes(f"{path}:/{variable.name}", shape)
    if variable.dtype.newbyteorder("=").name not in VOXEL_TYPES:
        raise UnsupportedType(str(path), variable.dtype, LIMITS.dtypes)
    axes = _axes(path, contents, variable)
    lengths, steps = dict(zip(axes, shape, strict=True)), dict(zip(axes, strides, strict=True))
    inside: Shape = (steps["z"], steps["y"], steps["x"])
    volume: Shape = (lengths["z"], lengths["y"], lengths["x"])
    placement = Placement(volume, variable.dtype, variable.begin, inside, steps.get("t", 0), steps.get("c", 0))
    return placement, lengths.get("t", 1), lengths.get("c", 1)


def _axes(path: Path, contents: Contents, variable: Variable) -> str:
    """Letters of the axes: the last three are space; one before them is a channel where it is named so."""
    letters = unnamed_letters(f"{path}:/{variable.name}", contents.shape(variable))
    name = contents.dimensions[variable.dimensions[0]].name.lower()
    return "czyx" if len(letters) == 4 and name in _CHANNEL_NAMES else letters


def _spacing(path: Path, contents: Contents, variable: Variable) -> tuple[Spacing, str]:
    """From the variables that carry the positions along the last three dimensions."""
    names = [contents.dimensions[index].name for index in variable.dimensions[-3:]]
    coordinates = [contents.coordinate(name) for name in names]
    z, y, x = (_step(path, contents, one) for one in coordinates)
    units = [one.text("units") for one in coordinates if one is not None]
    return (z, y, x), short_unit(units[-1] if units else "")


def _step(path: Path, contents: Contents, coordinate: Variable | None) -> float:
    """The mean distance between positions; 1 where there are no positions."""
    if coordinate is None:
        return 1.0
    request = coordinate.number("spacing", 0.0)  # exact, and known for a single position too
    count = contents.shape(coordinate)[0]
    if request > 0 or count < 2:
        return request or 1.0
    (stride,) = contents.strides(coordinate)
    first, last = (_value(path, coordinate, index * stride) for index in (0, count - 1))
    return abs(last - first) / (count - 1) or 1.0


def _value(path: Path, variable: Variable, position: int) -> float:
    stored = read_head(path, variable.dtype.itemsize, variable.begin + position)
    return float(np.frombuffer(stored, variable.dtype)[0])
