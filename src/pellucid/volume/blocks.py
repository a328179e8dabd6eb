"""Splitting a volume into blocks, and joining blocks again.

Here: Block, split, stitch.
Not here: running something on many blocks (engines), choosing how large they are (engines.budget).
"""

from dataclasses import dataclass

from pellucid.box import Box, Shape
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels


@dataclass(frozen=True, slots=True)
class Block:
    """A unit of work: core, the voxels of its result, and outer, the voxels that it may read.

    The cores of a split tile the volume; outer is the core extended by the halo and clipped at the border of the
    volume.
    """

    index: int
    core: Box
    outer: Box

    @property
    def core_in_outer(self) -> Box:
        """The core, relative to the first voxel of outer: the part of a result on outer to keep."""
        return self.core.relative_to(self.outer.start)

    def padding(self, halo: Shape) -> tuple[tuple[int, int], ...]:
        """How far the halo extends beyond the border of the volume, as widths for np.pad."""
        requested = self.core.grow(halo)
        lows = (have - want for have, want in zip(self.outer.start, requested.start, strict=True))
        highs = (want - have for have, want in zip(self.outer.stop, requested.stop, strict=True))
        return tuple(zip(lows, highs, strict=True))


def split(shape: Shape, block: Shape, halo: Shape = (0, 0, 0)) -> list[Block]:
    """Split a volume into blocks of at most the given shape (z, y, x), x fastest.

    >>> [str(b.outer) for b in split((4, 1, 1), block=(2, 1, 1), halo=(1, 0, 0))]
    ['0:3,0:1,0:1', '1:4,0:1,0:1']
    """
    if min(block) < 1 or min(halo) < 0:
        raise InvalidInput(f"Invalid block {block} or halo {halo} (z, y, x).", remedy="Use edges >= 1 and halos >= 0.")
    whole = Box.whole(shape)
    return [Block(index, core, core.grow(halo).intersect(whole)) for index, core in enumerate(whole.tiles(block))]


def stitch(volume: Voxels, block: Block, result: Voxels) -> None:
    """Copy the result of a block (of the shape of outer, or of core) to its place in the whole volume."""
    kept = result if result.shape == block.core.shape else result[block.core_in_outer.slices]
    volume[block.core.slices] = kept
