"""What an HDF5 output will be: its datasets, their chunks and filters.

Here: OutputPlan, kept as JSON beside an unfinished output, and creating the file it describes.
Not here: the voxels (writer), where chunks wait (chunk_stores).
"""

import json
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np

from pellucid.box import Shape
from pellucid.errors import InvalidInput, UnsupportedType
from pellucid.formats.byte_sources import disk_full_errors
from pellucid.formats.hdf5.filters import DEFLATE, SHUFFLE, Pipeline, pipeline_for_writing, prefer_plugins
from pellucid.formats.hdf5.lookup import LEVELS_ATTRIBUTE
from pellucid.formats.limits import refuse_shards
from pellucid.formats.location import Location
from pellucid.formats.orientation import Orientation, to_attributes
from pellucid.formats.protocol import VOXEL_TYPES, Layout, Spacing

DEFAULT_NAME = "/data"
DEFAULT_CODEC = "gzip"
# What HDF5 1.10 and everything since can read; it also has the indices that need no search.
_LIBRARY_VERSIONS = ("v110", "v110")
_MAX_CHUNK_BYTES = 2**32 - 1


@dataclass(frozen=True)
class PlannedLevel:
    """One dataset of the output."""

    name: str
    shape: Shape
    chunk: Shape
    spacing: Spacing


@dataclass(frozen=True)
class OutputPlan:
    """The whole output. dtype by its name in native byte order."""

    levels: tuple[PlannedLevel, ...]
    dtype: str
    unit: str
    codec: str
    orientation: Orientation | None = None

    def pipeline(self, level: int) -> Pipeline:
        itemsize = np.dtype(self.dtype).itemsize
        return pipeline_for_writing("", self.codec, prod(self.levels[level].chunk) * itemsize, itemsize)

    def as_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def plan_output(location: Location, layout: Layout) -> OutputPlan:
    """What a layout asks for, once it is known to fit into HDF5."""
    dtype = np.dtype(layout.dtype).newbyteorder("=")
    if dtype.name not in VOXEL_TYPES:
        raise UnsupportedType("HDF5", dtype, VOXEL_TYPES)
    refuse_shards("HDF5", location, layout)
    codec = layout.codec or DEFAULT_CODEC
    pipeline_for_writing(location.path, codec, 0, dtype.itemsize)
    name = location.dataset or DEFAULT_NAME
    levels = tuple(
        PlannedLevel(
            name if number == 0 else f"/levels/{number}",
            level.shape,
            fitting_chunk(level.chunk, level.shape, dtype.itemsize),
            level.spacing,
        )
        for number, level in enumerate(layout.levels)
    )
    return OutputPlan(levels, dtype.name, layout.unit, codec, layout.orientation)


def fitting_chunk(chunk: Shape, shape: Shape, itemsize: int) -> Shape:
    """A chunk no larger than the volume."""
    z, y, x = (max(1, min(c, n)) for c, n in zip(chunk, shape, strict=True))
    if z * y * x * itemsize > _MAX_CHUNK_BYTES:
        raise InvalidInput(
            f"Chunks of {(z, y, x)} voxels (z, y, x) are too large for HDF5.",
            remedy="Choose chunks of less than 4 GiB.",
        )
    return (z, y, x)


def create_file(target: Path | BinaryIO, plan: OutputPlan, output: Path) -> Any:
    """The HDF5 file with all its datasets, still without voxels. Uncompressed chunks get their places at once."""
    if plan.codec not in ("none", "gzip"):
        prefer_plugins()

    with disk_full_errors(output):
        file = h5py.File(target, "w", libver=_LIBRARY_VERSIONS)
        for number, level in enumerate(plan.levels):
            _create_dataset(file, plan, number)
            dataset = file[level.name]
            dataset.attrs["spacing"] = np.array(level.spacing, np.float64)
            dataset.attrs["unit"] = plan.unit
            for axis, label in enumerate("zyx"):
                dataset.dims[axis].label = label
        file[plan.levels[0].name].attrs.update(to_attributes(plan.orientation))
        coarser = [level.name for level in plan.levels[1:]]
        if coarser:
            file[plan.levels[0].name].attrs[LEVELS_ATTRIBUTE] = coarser
    return file


def _create_dataset(file: Any, plan: OutputPlan, number: int) -> None:
    level = plan.levels[number]
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk(level.chunk)
    properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER if plan.codec == "none" else h5py.h5d.FILL_TIME_IFSET)
    if plan.codec == "none":
        properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    for step in plan.pipeline(number).filters:
        if step.number == SHUFFLE:
            properties.set_shuffle()
        elif step.number == DEFLATE:
            properties.set_deflate(step.values[0])
        else:
            properties.set_filter(step.number, h5py.h5z.FLAG_OPTIONAL, step.values)
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    kind = h5py.h5t.py_create(np.dtype(plan.dtype))
    space = h5py.h5s.create_simple(level.shape)
    h5py.h5d.create(file.id, level.name.encode(), kind, space, dcpl=properties, lcpl=links)
