"""What tasks that fill a volume have in common.

Here: OutputTask.
Not here: the protocol (task), particular tasks (level_task, conversion, tomo).
"""

from pellucid.box import Shape
from pellucid.formats.protocol import Layout
from pellucid.jobs.resources import Resources
from pellucid.volume.blocks import Block


class OutputTask:
    """A Task whose blocks are parts of level 0 of a volume, and whose memory follows from the shape of a block.

    output_chunk: the smallest block that the target can be written in.
    """

    layout: Layout
    output_chunk: Shape

    @property
    def shape(self) -> Shape:
        """Of the level that is filled."""
        return self.layout.levels[0].shape

    @property
    def min_block(self) -> Shape:
        return self.output_chunk

    @property
    def preferred_block(self) -> Shape:
        return self.output_chunk

    def needs(self, block: Block) -> Resources:
        return Resources(self.cost(block.core.shape))

    def cost(self, shape: Shape) -> int:
        """Bytes that a block takes."""
        raise NotImplementedError
