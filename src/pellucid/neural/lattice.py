"""The bricks of an ensemble: how many, where, and how many bytes each one gets.

Here: brick_lattice, choose_counts, default_ghost, brick_sizes.
Not here: training the models of bricks (ensemble), blending them (pellucid.formats.neural_field.neural_volume).

A brick is trained on its own voxels and on ghost cells: voxels of its neighbours around it. Over the ghost cells of
both sides one model fades into the next.
"""

import math
from collections.abc import Sequence

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.errors import InvalidInput
from pellucid.volume.blocks import Block
from pellucid.volume.volume import Volume

MAX_EDGE = 256
"""Automatic bricks have no longer edge: larger volumes have more detail than one decoder can represent."""
MIN_BYTES = 32_768
"""Automatic bricks have at least so many bytes each: every brick pays for a decoder of its own."""
GHOST_PART = 16
"""Of an edge. On one scan with bricks of 62 voxels, 4 ghost cells left no seam and cost 0.3 dB; 16 cost 1.4 dB."""
MAX_GHOST = 16
ALLOTMENT = 0.6
"""The bytes of a brick grow with this power of its detail: the error falls with about the power 2/3 of the bytes."""
MIN_SHARE = 0.25
"""Of an equal share."""


def choose_counts(shape: Shape, size: int) -> Shape:
    """Bricks along (z, y, x) for a volume and the bytes of its field.

    >>> choose_counts((512, 300, 200), 1_000_000), choose_counts((512, 300, 200), 80_000)
    ((2, 2, 1), (2, 1, 1))
    """
    counts = [-(-n // MAX_EDGE) for n in shape]
    while math.prod(counts) > max(1, size // MIN_BYTES):
        longest = max((axis for axis in range(3) if counts[axis] > 1), key=lambda axis: counts[axis] / shape[axis])
        counts[longest] -= 1
    return triple(counts)


def default_ghost(shape: Shape, counts: Shape) -> int:
    """Ghost cells on each side of a brick: a sixteenth of the shortest edge that is cut, 2 to 16.

    >>> default_ghost((256, 256, 256), (2, 2, 2)), default_ghost((256, 64, 3), (1, 2, 1))
    (8, 2)
    """
    edges = [n // count for n, count in zip(shape, counts, strict=True) if count > 1]
    return max(min(2, min(edges) // 2), min(MAX_GHOST, min(edges) // GHOST_PART)) if edges else 0


def brick_lattice(shape: Shape, counts: Shape, ghost: int) -> list[Block]:
    """Blocks of about equal size, x fastest: core, the brick, and outer, with its ghost cells."""
    for n, count, axis in zip(shape, counts, "zyx", strict=True):
        if not 1 <= count <= max(1, n // 2):
            raise InvalidInput(
                f"{count} bricks do not fit into the {n} voxels of the {axis} axis.",
                remedy=f"Use 1 to {max(1, n // 2)} bricks along {axis}.",
            )
    edges = [n // count for n, count in zip(shape, counts, strict=True) if count > 1]
    if edges and not 0 <= ghost <= min(edges) // 2:
        raise InvalidInput(
            f"{ghost} ghost cells are too many for bricks of {min(edges)} voxels.",
            remedy=f"Use 0 to {min(edges) // 2} ghost cells, or fewer bricks.",
        )
    whole = Box.whole(shape)
    blocks = []
    for index, cell in enumerate(np.ndindex(*counts)):
        start, stop = (
            triple(n * (i + end) // k for n, i, k in zip(shape, cell, counts, strict=True)) for end in (0, 1)
        )
        core = Box(start, stop)
        grown = core.grow((ghost, ghost, ghost)).intersect(whole)
        blocks.append(Block(index, core, grown))
    return blocks


def brick_sizes(volume: Volume, blocks: Sequence[Block], size: int, smallest: int) -> list[int]:
    """Bytes of every brick, ``size`` together: more where the volume has more detail. smallest: of any brick."""
    count = len(blocks)
    if count == 1:
        return [size]
    if size < smallest * count:
        raise InvalidInput(
            f"{size:,} bytes are too few for {count} bricks.",
            remedy=f"Use at least {smallest * count:,} bytes, or fewer bricks.",
        )
    details = np.array([_detail(volume, block.core) for block in blocks]) ** ALLOTMENT
    shares = details / details.sum() if details.sum() > 0 else np.full(count, 1 / count)
    least = max(MIN_SHARE / count, smallest / size)
    shares = np.maximum(shares, least)
    above = shares - least
    shares = least + above * ((1 - least * count) / above.sum() if above.any() else 0)
    return [int(size * share) for share in shares]


def _detail(volume: Volume, box: Box) -> float:
    """The squared differences between neighbouring voxels, summed."""
    total = 0.0
    for part in box.tiles((64, *volume.shape[1:])):
        values = volume.read(part).astype(np.float32)
        total += sum(float((np.diff(values, axis=axis) ** 2).sum()) for axis in range(3) if values.shape[axis] > 1)
    return total
