"""Halos: the voxels around a block, which are those of its neighbours.

Here: HaloPart, extract_halo, append_halo; plan_halos, the same for all blocks at once.
Not here: copying voxels (worker.block_exchange), shuffling with Spark (spark.shuffle).

Blocks are named by their places (z, y, x) in a regular grid. No voxel moves when a halo is extracted: what travels is
the handle of the neighbour, and which of its voxels are meant. They are pulled where they are appended.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from pellucid.box import Box, Shape, triple
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.handles import Handle
from pellucid.cluster.operations import BlockPart, FillBlock
from pellucid.errors import InvalidInput

SIDES = tuple(triple(side) for side in product((-1, 0, 1), repeat=3) if any(side))
FACES = tuple(side for side in SIDES if sum(map(abs, side)) == 1)


@dataclass(frozen=True)
class HaloPart:
    """Voxels of a neighbour. side: where the neighbour is along (z, y, x), seen from the block whose halo they are: -1
    before it, 1 behind it. box: in the neighbour."""

    handle: Handle
    box: Box
    side: Shape

    def part(self) -> BlockPart:
        """Where they go."""
        widths = self.box.shape
        at = triple(-n if s < 0 else 0 for n, s in zip(widths, self.side, strict=True))
        z, y, x = (s > 0 for s in self.side)
        return BlockPart(str(self.handle), self.box, at, (z, y, x))


def extract_halo(pair: Any = None, *, halo: int | Shape = 1, sides: Iterable[Shape] = SIDES) -> Any:
    """Return the parts of a block that its neighbours need, as pairs of a neighbour's key and a HaloPart.

    pair: the key (z, y, x) of the block, and the block; without it, returns a function of such a pair, for flatMap().
    sides: all 26 neighbours, or FACES for the six that share a face.
    """
    wanted = as_triple(halo)
    chosen = _within(sides, wanted)
    if pair is not None:
        return list(_extracted(pair, wanted, chosen))
    return lambda each: list(_extracted(each, wanted, chosen))


def append_halo(block: DeviceBlock, parts: Iterable[HaloPart], halo: int | Shape = 1) -> DeviceBlock:
    """Return the block with the voxels of its neighbours in its halo. Without a neighbour, the halo does not change (a
    new one is 0). The block is changed in place: older handles to it refer to the same voxels, and this halo."""
    return block.then(FillBlock(tuple(part.part() for part in parts), as_triple(halo)))


def plan_halos(
    blocks: Mapping[Shape, tuple[Handle, Shape]], halo: int | Shape = 1, sides: Iterable[Shape] = SIDES
) -> dict[Shape, tuple[HaloPart, ...]]:
    """The halo of every block, from the handle and the shape of each."""
    width = as_triple(halo)
    chosen = _within(sides, width)
    planned: dict[Shape, tuple[HaloPart, ...]] = {}
    for key in blocks:
        neighbours = ((side, blocks.get(_moved(key, side))) for side in chosen)
        planned[key] = tuple(_part(*found, side, width) for side, found in neighbours if found is not None)
    return planned


def as_triple(halo: int | Shape) -> Shape:
    """A halo along (z, y, x)."""
    return (halo, halo, halo) if isinstance(halo, int) else triple(halo)


def _extracted(
    pair: tuple[Shape, DeviceBlock], halo: Shape, sides: tuple[Shape, ...]
) -> Iterator[tuple[Shape, HaloPart]]:
    key, block = pair
    for side in sides:
        # Seen from the neighbour, the block is on the other side.
        yield _moved(key, side), _part(block.handle, block.shape, _moved((0, 0, 0), side, -1), halo)


def _within(sides: Iterable[Shape], halo: Shape) -> tuple[Shape, ...]:
    """Those along axes on which there is a halo."""
    return tuple(side for side in sides if all(h > 0 for h, s in zip(halo, side, strict=True) if s))


def _moved(key: Shape, side: Shape, by: int = 1) -> Shape:
    return triple(k + by * s for k, s in zip(key, side, strict=True))


def _part(handle: Handle, shape: Shape, side: Shape, halo: Shape) -> HaloPart:
    """side: where the block of this handle is, seen from the other."""
    if any(h > n for h, n, s in zip(halo, shape, side, strict=True) if s):
        what = f"A halo of {halo} is wider than a block of {shape} (z, y, x)."
        raise InvalidInput(what, remedy="Use larger blocks, or a narrower halo.")
    starts = (n - h if s < 0 else 0 for n, h, s in zip(shape, halo, side, strict=True))
    stops = (h if s > 0 else n for n, h, s in zip(shape, halo, side, strict=True))
    return HaloPart(handle, Box(triple(starts), triple(stops)), side)
