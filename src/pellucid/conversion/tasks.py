"""The two tasks behind convert: copying blocks, and making a coarser level.

Here: CopyTask, ReduceTask.
Not here: planning and the order of things (convert), how blocks are run (engines).
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import prod

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.conversion.values import ValueMap
from pellucid.engines.task import Work
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Voxels, Writer
from pellucid.formats.registry import open_writer
from pellucid.jobs.resources import Resources
from pellucid.volume.blocks import Block
from pellucid.volume.levels import reduce_voxels
from pellucid.volume.volume import open_volume


@dataclass(frozen=True)
class CopyTask:
    """Copy a region of the source into level 0 of the target, block by block.

    origin: the region's first voxel in the source. source_itemsize and source_chunk: for the memory estimate.
    """

    source: str
    target: str
    layout: Layout
    values: ValueMap
    origin: Shape
    output_chunk: Shape
    source_itemsize: int
    source_chunk: Shape

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.source,)

    @property
    def shape(self) -> Shape:
        return self.layout.levels[0].shape

    @property
    def preferred_block(self) -> Shape:
        """The block that reads every chunk of the source once."""
        return self.source_chunk

    @property
    def min_block(self) -> Shape:
        return self.output_chunk

    def needs(self, block: Block) -> Resources:
        return Resources(self.cost(block.core.shape))

    def cost(self, shape: Shape) -> int:
        """Bytes that a block takes: as read, as converted, as encoded, and two chunks being decoded."""
        copies = self.source_itemsize + 2 * self.layout.dtype.itemsize
        if self.values.value_range is not None:
            copies += 8
        return prod(shape) * copies + 2 * prod(self.source_chunk) * self.source_itemsize

    @contextmanager
    def open(self) -> Iterator[Work]:
        with open_volume(self.source) as volume, closing(_attach(self.target, self.layout)) as writer:

            def copy(block: Block) -> int:
                """How many voxels were NaN and are not any more."""
                voxels = volume.read(block.core.shift(self.origin))
                writer.write(block.core, self.values.apply(voxels))
                return self.values.count_nan(voxels)

            yield copy


@dataclass(frozen=True)
class ReduceTask:
    """Make one level of the target from the level before it.

    after: the key of the job that made the level before, so that a new copy makes new levels.
    """

    target: str
    layout: Layout
    level: int
    how: str
    output_chunk: Shape
    after: str

    @property
    def inputs(self) -> tuple[str, ...]:
        return ()

    @property
    def factors(self) -> Shape:
        fine, coarse = self.layout.levels[self.level - 1], self.layout.levels[self.level]
        return triple(round(b / a) for a, b in zip(fine.spacing, coarse.spacing, strict=True))

    @property
    def shape(self) -> Shape:
        return self.layout.levels[self.level].shape

    @property
    def preferred_block(self) -> Shape:
        return self.output_chunk

    @property
    def min_block(self) -> Shape:
        return self.output_chunk

    def needs(self, block: Block) -> Resources:
        return Resources(self.cost(block.core.shape))

    def cost(self, shape: Shape) -> int:
        """Bytes that a block takes: the result, encoded, and one chunk's finer voxels with their sums."""
        itemsize = self.layout.dtype.itemsize
        copies = 12 if self.how == "mode" else 4
        finer = prod(self._tile) * prod(self.factors)
        return prod(shape) * 2 * itemsize + finer * copies * itemsize

    @property
    def _tile(self) -> Shape:
        # Chunk by chunk: the finer voxels of a whole block would be eight times the block.
        return self.layout.levels[self.level].chunk

    @contextmanager
    def open(self) -> Iterator[Work]:
        with closing(_attach(self.target, self.layout)) as writer:

            def reduce(block: Block) -> None:
                coarse: Voxels = np.empty(block.core.shape, self.layout.dtype)
                for tile in Box.whole(block.core.shape).tiles(self._tile):
                    fine = self._read_finer(writer, tile.shift(block.core.start))
                    coarse[tile.slices] = reduce_voxels(fine, self.factors, self.how)
                writer.write(block.core, coarse, level=self.level)

            yield reduce

    def _read_finer(self, writer: Writer, box: Box) -> Voxels:
        start = triple(a * f for a, f in zip(box.start, self.factors, strict=True))
        stop = triple(b * f for b, f in zip(box.stop, self.factors, strict=True))
        region = Box(start, stop).intersect(Box.whole(self.layout.levels[self.level - 1].shape))
        fine: Voxels = np.empty(region.shape, self.layout.dtype)
        writer.read(region, fine, level=self.level - 1)
        return fine


def _attach(target: str, layout: Layout) -> Writer:
    return open_writer(Location.parse(target), layout, resume=True)
