"""Tasks whose blocks are whole planes of their output.

Here: PlaneTask, what such tasks have in common.
Not here: slices (slab_task), prepared projections (preparation), how blocks are run (engines).
"""

from typing import ClassVar

from pellucid.box import Shape
from pellucid.formats.protocol import Layout
from pellucid.jobs.resources import Resources
from pellucid.volume.blocks import Block


class PlaneTask:
    """grain: the smallest block that the target can be written in. most: planes in a block, where memory allows it."""

    source: str
    layout: Layout
    output_chunk: Shape
    most: ClassVar[int]

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.source,)

    @property
    def shape(self) -> Shape:
        return self.layout.levels[0].shape

    @property
    def min_block(self) -> Shape:
        return (self.output_chunk[0], *self.shape[1:])

    @property
    def preferred_block(self) -> Shape:
        return (max(self.output_chunk[0], self.most), *self.shape[1:])

    def needs(self, block: Block) -> Resources:
        return Resources(self.cost(block.core.shape))

    def cost(self, shape: Shape) -> int:
        """Bytes that a block takes."""
        raise NotImplementedError
