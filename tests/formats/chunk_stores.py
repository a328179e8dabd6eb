"""What the tests of chunk stores share: known voxels, and writing and reading them."""

from pathlib import Path

import numpy as np

from pellucid.box import Box, Shape
from pellucid.formats import registry
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level, Reader, Voxels

SHAPE: Shape = (20, 30, 26)
HALF: Shape = (10, 15, 13)


def ramp(shape: tuple[int, ...] = SHAPE, dtype: str = "uint16") -> Voxels:
    """Every voxel another number, as far as the type goes, and none of them zero."""
    size = int(np.prod(shape))
    return (np.arange(size) % 250 + 1).reshape(shape).astype(dtype)


def layout(codec: str | None = None, dtype: str = "uint16", shard: Shape | None = None) -> Layout:
    """Two levels, spacing (2, 1, 0.5) micrometres."""
    levels = (Level(SHAPE, (8, 16, 16), (2.0, 1.0, 0.5)), Level(HALF, (8, 16, 16), (4.0, 2.0, 1.0)))
    return Layout(levels, np.dtype(dtype), "um", shard, codec)


def write(where: str | Path, plan: Layout, *, is_finished: bool = True) -> Voxels:
    """Write the ramp as both levels; returns the full resolution."""
    voxels = ramp(SHAPE, plan.dtype.name)
    writer = registry.open_writer(Location.parse(where), plan)
    writer.write(Box.whole(SHAPE), voxels)
    writer.write(Box.whole(HALF), voxels[::2, ::2, ::2], level=1)
    if is_finished:
        writer.finish()
    writer.close()
    return voxels


def open_at(where: str | Path) -> Reader:
    return registry.open_reader(Location.parse(where))


def read(reader: Reader, level: int = 0, t: int = 0, c: int = 0) -> Voxels:
    box = Box.whole(reader.header.levels[level].shape)
    out: Voxels = np.empty(box.shape, reader.header.dtype)
    reader.read(box, out, level=level, t=t, c=c)
    return out
