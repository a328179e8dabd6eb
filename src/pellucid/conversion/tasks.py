"""The task behind convert: copying blocks.

Here: CopyTask.
Not here: coarser levels (engines.level_task), the plan (convert), how blocks are run (engines).
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import prod

from pellucid.box import Shape
from pellucid.conversion.values import ValueMap
from pellucid.engines.output_task import OutputTask
from pellucid.engines.task import TaskContext, Work
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout
from pellucid.formats.registry import open_writer
from pellucid.volume.blocks import Block
from pellucid.volume.volume import open_volume


@dataclass(frozen=True)
class CopyTask(OutputTask):
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
    def preferred_block(self) -> Shape:
        """The block that reads every chunk of the source once."""
        return self.source_chunk

    def cost(self, shape: Shape) -> int:
        """Bytes that a block takes: as read, as converted, as encoded, and two chunks being decoded."""
        copies = self.source_itemsize + 2 * self.layout.dtype.itemsize
        if self.values.value_range is not None:
            copies += 8
        return prod(shape) * copies + 2 * prod(self.source_chunk) * self.source_itemsize

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        target = Location.parse(self.target)
        with open_volume(self.source) as volume, closing(open_writer(target, self.layout, resume=True)) as writer:

            def copy(block: Block) -> int:
                """How many voxels were NaN and are not any more."""
                voxels = volume.read(block.core.shift(self.origin))
                writer.write(block.core, self.values.apply(voxels))
                return self.values.count_nan(voxels)

            yield copy
