"""Blocks of a running program, as a file that a viewer opens: their handles, and where they are in a volume.

Here: BlockFile, BlockRecord, PlacedBlock.
Not here: reading voxels (block_format), drawing (job_blocks), writing such files (client.cluster_viewer).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.cluster.handles import Handle
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Spacing
from pellucid.jobs.private_files import read_dataclass, write_json

SUFFIX = ".blocks"


@dataclass(frozen=True)
class PlacedBlock:
    """handle: as text. start: the first voxel of the block in the volume, (z, y, x); shape: without its halo."""

    handle: str
    start: Shape
    shape: Shape

    @property
    def box(self) -> Box:
        return Box.whole(self.shape).shift(self.start)


@dataclass(frozen=True)
class BlockRecord:
    """cluster: the path of the ClusterFile with the Workers. dtype: of the voxels, such as "<f4"."""

    cluster: str
    dtype: str
    spacing: Spacing
    blocks: tuple[PlacedBlock, ...]

    @property
    def shape(self) -> Shape:
        """Of the volume."""
        return triple(max(block.box.stop[axis] for block in self.blocks) for axis in range(3))


@dataclass(frozen=True)
class BlockFile:
    """Only its owner can read it. It is not changed: other blocks are another file."""

    path: Path

    def write(self, record: BlockRecord) -> None:
        write_json(self.path, asdict(record))

    def read(self) -> BlockRecord:
        found = read_dataclass(BlockRecord, self.path)
        if found is None or not found.blocks:
            raise InvalidInput(f"{self.path} names no blocks.", remedy="Show the blocks again, in the program.")
        return found


def check_placed(blocks: Sequence[PlacedBlock]) -> None:
    """Refuse blocks that are not the volume, each voxel once."""
    if not blocks:
        raise InvalidInput("There are no blocks to show.", remedy="Pass at least one.")
    shape = BlockRecord("", "", (1.0, 1.0, 1.0), tuple(blocks)).shape
    if sum(block.box.size for block in blocks) != Box.whole(shape).size or _overlap(blocks):
        what = f"The blocks do not cover a volume of {shape} voxels (z, y, x) once."
        raise InvalidInput(what, remedy="Pass the first voxel (z, y, x) of every block, and all blocks.")
    for block in blocks:
        Handle.parse(block.handle)


def _overlap(blocks: Sequence[PlacedBlock]) -> bool:
    starts, stops = (np.array([getattr(block.box, end) for block in blocks]) for end in ("start", "stop"))
    # [i, j]: along all axes block i starts before block j ends, and the other way around.
    meets = np.all((starts[:, None] < stops[None]) & (starts[None] < stops[:, None]), axis=-1)
    return int(meets.sum()) > len(blocks)
