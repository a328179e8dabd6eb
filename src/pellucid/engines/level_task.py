"""The task that makes a coarser level of a volume.

Here: ReduceTask.
Not here: which levels there are (volume.levels), the task that makes level 0 (conversion, tomo).
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import prod

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.engines.output_task import OutputTask
from pellucid.engines.task import TaskContext, Work
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Voxels, Writer
from pellucid.formats.registry import open_writer
from pellucid.volume.blocks import Block
from pellucid.volume.levels import reduce_voxels


@dataclass(frozen=True)
class ReduceTask(OutputTask):
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
    def open(self, context: TaskContext) -> Iterator[Work]:
        with closing(open_writer(Location.parse(self.target), self.layout, resume=True)) as writer:

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
