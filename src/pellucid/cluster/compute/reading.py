"""A block read from its file, in the process that computes on it.

Here: read_block, the computation "read".
Not here: formats (pellucid.formats), which block is read where (images.volume_blocks).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.cluster.compute.registry import BlockView, ComputeContext
from pellucid.cluster.images.placement import within
from pellucid.dataclass_json import from_json
from pellucid.errors import InvalidInput
from pellucid.volume.volume import open_volume

PLANES = 64
"""Read at once: progress is reported after each."""


@dataclass(frozen=True)
class BlockReadRequest:
    """source: the location of a volume. start: the first voxel of the block, without its halo."""

    source: str
    start: Shape


def read_block(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> None:
    """Fill a block and its halo; beyond the border of the volume the halo is 0."""
    request: BlockReadRequest = from_json(BlockReadRequest, arguments, "read")
    if output is None:
        raise InvalidInput("Reading needs a block to read into.", remedy="Pass a shape and a type.")
    first = triple(a - h for a, h in zip(request.start, output.halo, strict=True))
    with open_volume(request.source) as volume:
        box = within(Box.whole(output.shape).shift(request.start), output.halo, volume.shape)
        place = box.relative_to(first).slices
        on_host = isinstance(output.outer, np.ndarray)
        outer = output.outer if on_host else np.empty(output.outer.shape, output.dtype)
        if box.shape != outer.shape:
            outer[...] = 0
        target, report = outer[place], context.touch
        for z in range(0, box.shape[0], PLANES):
            report()
            part = Box(triple((box.start[0] + z, *box.start[1:])), box.stop)
            slab = part.intersect(Box(part.start, triple((part.start[0] + PLANES, *box.stop[1:]))))
            volume.read(slab, target[z : z + PLANES])
    if not on_host:
        output.outer.assign(outer)
