"""How many files an output is made of, and keeping to a number of them.

Here: count_files, with_max_files.
Not here: writing them (the formats), how much memory larger ones take (engines).

File systems of clusters limit how many files a user may have, and are slow with millions of them.
"""

from dataclasses import replace
from math import prod

from pellucid.box import Shape, triple
from pellucid.errors import InvalidInput
from pellucid.formats.chunked.levels import level_chunk, level_shard
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout
from pellucid.formats.registry import format_for_writing, has_shards

CHUNKED = ("zarr", "n5")
"""Formats that store every chunk, or shard, in a file."""
METADATA_FILES = 3
"""Of a volume, and of each of its levels, at most."""


def with_max_files(location: Location, layout: Layout, max_files: int | None) -> Layout:
    """The layout with shards, or where the format has none with chunks, that are large enough."""
    if max_files is None or format_for_writing(location) not in CHUNKED:
        return layout
    found, is_sharded = layout, has_shards(location)
    while (count := count_files(found, is_sharded=is_sharded)) > max_files:
        larger = _larger_shards(found) if is_sharded else _larger_chunks(found)
        if larger is found:
            raise InvalidInput(
                f"{location.path} needs at least {count:,} files, which is more than {max_files:,}.",
                remedy=f"Allow {count:,}, write fewer levels, or write HDF5: one file.",
            )
        found = larger
    return found


def count_files(layout: Layout, *, is_sharded: bool) -> int:
    """At most so many, of a format that stores every chunk or shard in a file."""
    total = METADATA_FILES * (1 + len(layout.levels))
    for level in layout.levels:
        unit = level_shard(level, layout) if is_sharded else level_chunk(level)
        total += prod(-(-n // u) for n, u in zip(level.shape, unit, strict=True))
    return total


def _larger_shards(layout: Layout) -> Layout:
    """Twice as large; across slices first, because slabs of slices are made at a time."""
    full = layout.levels[0]
    chunk, shard = level_chunk(full), layout.shard or level_shard(full, layout)
    across = _doubled(shard, (0, *full.shape[1:]))
    larger = across if across != shard else _doubled(shard, full.shape)
    levels = (replace(full, chunk=chunk), *layout.levels[1:])
    return layout if larger == shard else replace(layout, levels=levels, shard=larger)


def _larger_chunks(layout: Layout) -> Layout:
    """Twice as large; those of coarser levels are at most as large as their level."""
    full = layout.levels[0]
    chunk = level_chunk(full)
    larger = _doubled(chunk, full.shape)
    levels = tuple(replace(level, chunk=triple(map(min, larger, level.shape))) for level in layout.levels)
    return layout if larger == chunk else replace(layout, levels=levels)


def _doubled(unit: Shape, shape: Shape) -> Shape:
    """Along the shortest edge that does not cover the volume.

    >>> _doubled((64, 64, 64), (64, 500, 500)), _doubled((64, 128, 64), (64, 500, 500))
    ((64, 64, 128), (64, 128, 128))
    """
    open_axes = [axis for axis in (2, 1, 0) if unit[axis] < shape[axis]]
    if not open_axes:
        return unit
    axis = min(open_axes, key=lambda axis: unit[axis])
    return triple(2 * n if i == axis else n for i, n in enumerate(unit))
