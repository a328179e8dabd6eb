"""Tasks whose blocks are whole planes of their output.

Here: PlaneTask, what such tasks have in common.
Not here: slices (slab_task), prepared projections (preparation), how blocks are run (engines).
"""

from typing import ClassVar

from pellucid.box import Shape
from pellucid.engines.output_task import OutputTask


class PlaneTask(OutputTask):
    """most: planes in a block, where memory allows it."""

    source: str
    most: ClassVar[int]

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.source,)

    @property
    def min_block(self) -> Shape:
        return (self.output_chunk[0], *self.shape[1:])

    @property
    def preferred_block(self) -> Shape:
        return (max(self.output_chunk[0], self.most), *self.shape[1:])
