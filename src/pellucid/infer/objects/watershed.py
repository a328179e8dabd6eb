"""Fragments of objects by a watershed: basins of the boundary map, in which all voxels drain into one minimum.

Here: heights, drain, Drainage.
Not here: which fragments are one object (agglomeration), blocks (object_tasks).

A voxel drains into the lowest of its six neighbours, which follows from its surroundings alone. A block knows the way
of its voxels up to its border, and two blocks agree about every voxel: it does not matter where blocks are.
"""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from pellucid.box import Box, Shape
from pellucid.formats.protocol import Voxels

SCALES, TRUNCATE = (1.0, 2.0, 4.0), 3.0
"""Standard deviations of the Gaussians that are added up: a wide one gives large objects a slope to their middle."""
HALO = int(max(SCALES) * TRUNCATE + 0.5) + 1
"""Voxels around a block that its basins depend on: those under the Gaussians, for one neighbour further."""


def heights(boundary: Voxels) -> Voxels:
    """The boundary map, smoothed over several scales. boundary: (z, y, x), 0 to 1."""
    total = np.zeros(boundary.shape, np.float32)
    for scale in SCALES:
        total += ndimage.gaussian_filter(boundary.astype(np.float32), scale, mode="nearest", truncate=TRUNCATE)
    return total


@dataclass(frozen=True)
class Drainage:
    """fragments: of every voxel of a box, the number of the voxel where its way ends, or leaves the box, plus 1; voxels
    are numbered through the volume. exits: (fragment, voxel outside the box into which it drains)."""

    fragments: Voxels
    exits: Voxels


def drain(height: Voxels, region: Box, core: Box, shape: Shape) -> Drainage:
    """height: of the voxels of a region, which contains the core and its neighbours. shape: of the volume."""
    numbers = _numbers(core, shape)
    lowest, target = height[core.relative_to(region.start).slices].copy(), numbers.copy()
    for axis in range(3):
        for step in (-1, 1):
            _lower(height, (region, core), (axis, step), (lowest, target), shape)
    return _followed(numbers, target, core, shape)


def _numbers(box: Box, shape: Shape) -> Voxels:
    z, y, x = (np.arange(a, b, dtype=np.int64) for a, b in zip(box.start, box.stop, strict=True))
    return (z[:, None, None] * shape[1] + y[:, None]) * shape[2] + x


def _lower(
    height: Voxels, boxes: tuple[Box, Box], way: tuple[int, int], found: tuple[Voxels, Voxels], shape: Shape
) -> None:
    """Look at one neighbour of every voxel; of equal heights, the one with the larger number counts as lower."""
    (region, core), (axis, step) = boxes, way
    shift = (step * (axis == 0), step * (axis == 1), step * (axis == 2))
    inside = core.shift(shift).intersect(Box.whole(shape))
    if inside.is_empty:
        return
    back = (-shift[0], -shift[1], -shift[2])
    place = inside.shift(back).relative_to(core.start).slices
    other = height[inside.relative_to(region.start).slices]
    lowest, target = (one[place] for one in found)
    number = _numbers(inside, shape)
    is_lower = (other < lowest) | ((other == lowest) & (number > target))
    lowest[is_lower], target[is_lower] = other[is_lower], number[is_lower]


def _followed(numbers: Voxels, target: Voxels, core: Box, shape: Shape) -> Drainage:
    """Follow every voxel to its end by doubling the steps."""
    z, rest = np.divmod(target, shape[1] * shape[2])
    y, x = np.divmod(rest, shape[2])
    is_inside = np.ones(target.shape, bool)
    for axis, places in enumerate((z, y, x)):
        is_inside &= (places >= core.start[axis]) & (places < core.stop[axis])
    depth, height, width = core.shape
    local = ((z - core.start[0]) * height + y - core.start[1]) * width + x - core.start[2]
    own = np.arange(depth * height * width)
    parents = np.where(is_inside.ravel(), local.ravel(), own)
    while True:
        further = parents[parents]
        if np.array_equal(further, parents):
            break
        parents = further
    flat = numbers.ravel()
    leaving = np.flatnonzero(~is_inside.ravel())
    exits = np.stack([flat[leaving] + 1, target.ravel()[leaving]], axis=1)
    return Drainage((flat[parents] + 1).reshape(core.shape), exits)
