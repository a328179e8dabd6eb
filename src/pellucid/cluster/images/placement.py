"""Where blocks are in their volume, and what that means for images of them.

Here: BlockPlace; which samples belong to a block, which rows of an image it is in, in which order rays meet blocks.
Not here: drawing them (compute.drawing), putting images together (compositing).

Samples of all blocks lie at the same distances from the eye, and each belongs to one block: the one in whose part of
the world it lies. So images of blocks, one over the other, are the image of the whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pellucid.box import Box, Shape
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.rendering.camera import Camera
from pellucid.rendering.drawing.partition import HIGH, LOW, RenderPart, SplitPlane, plane_of
from pellucid.rendering.scene import Transform

PARALLEL_DISTANCE = 1e7
"""From how many times the size of a volume parallel rays come, where blocks are put in order."""


@dataclass(frozen=True)
class BlockPlace:
    """A block of a volume. box: of its voxels, without halo. shape, spacing, transform: of the volume."""

    box: Box
    shape: Shape
    spacing: Spacing
    transform: Transform

    @property
    def to_voxel(self) -> tuple[Voxels, Voxels]:
        """(3, 3) and (3,): voxel = matrix @ world + shift, both (x, y, z)."""
        return self.transform.world_to_voxel(self.spacing)

    @property
    def part(self) -> RenderPart:
        """The samples that are this block's."""
        found = []
        for axis in range(3):
            if self.box.start[axis] > 0:
                found.append((SplitPlane(axis, self.box.start[axis]), HIGH))
            if self.box.stop[axis] < self.shape[axis]:
                found.append((SplitPlane(axis, self.box.stop[axis]), LOW))
        borders = tuple(plane_of(cut, self.to_voxel) for cut, _ in found)
        return RenderPart(borders, tuple(side for _, side in found), is_last=False)

    def moved(self, start: Shape) -> Transform:
        """Where an array stands whose first voxel is at start in the volume."""
        matrix, _ = self.to_voxel
        by = np.linalg.solve(matrix, np.array(start[::-1], float))
        x, y, z = (float(a + b) for a, b in zip(self.transform.translation, by, strict=True))
        return replace(self.transform, translation=(x, y, z))

    def rows(self, camera: Camera, height: int) -> tuple[int, int]:
        """The first row of an image in which the block may be, and the one behind the last."""
        matrix, shift = self.to_voxel
        ends = [(a - 0.5, b - 0.5) for a, b in zip(self.box.start[::-1], self.box.stop[::-1], strict=True)]
        corners = np.stack(np.meshgrid(*ends, indexing="ij"), -1).reshape(-1, 3)
        seen = np.linalg.solve(matrix, (corners - shift).T).T - np.asarray(camera.position)
        _, up, forward = camera.axes()
        above = seen @ up
        if camera.field_of_view_deg is not None:
            depth = seen @ forward
            if depth.min() < 1e-3 * camera.distance:
                return 0, height
            above = above * camera.distance / depth
        rows = height / 2 - above * height / camera.visible_height
        return max(0, int(np.floor(rows.min())) - 1), min(height, int(np.ceil(rows.max())) + 1)


def front_to_back(places: Sequence[BlockPlace], camera: Camera) -> list[int]:
    """The numbers of blocks of one volume, in an order in which no block hides one before it."""
    starts = np.array([place.box.start for place in places])
    stops = np.array([place.box.stop for place in places])
    eye = _eye(places[0], camera)
    # [i, j]: along some axis i lies on the eye's side of j.
    low = (stops[:, None] <= starts[None]) & (eye < starts[None] - 0.5)
    high = (starts[:, None] >= stops[None]) & (eye >= stops[None] - 0.5)
    nearer: Voxels = np.any(low | high, axis=-1)
    hides: Voxels = nearer & ~nearer.T
    order: list[int] = []
    waiting = np.ones(len(places), bool)
    behind = hides.sum(0)
    while waiting.any():
        ready = np.flatnonzero(waiting & (behind == 0))
        if not len(ready):
            raise InvalidInput(
                "The blocks cannot be ordered from front to back.", remedy="Cut the volume into a regular grid."
            )
        order.extend(ready.tolist())
        waiting[ready] = False
        behind = behind - hides[ready].sum(0)
    return order


def _eye(place: BlockPlace, camera: Camera) -> Voxels:
    """In voxels of the volume, (z, y, x)."""
    position = np.asarray(camera.position, float)
    if camera.field_of_view_deg is None:
        position = position - PARALLEL_DISTANCE * camera.distance * np.asarray(camera.axes()[2])
    matrix, shift = place.to_voxel
    eye: Voxels = (matrix @ position + shift)[::-1]
    return eye


def within(box: Box, halo: Shape, shape: Shape) -> Box:
    """A box with its halo, as far as that is in the volume."""
    return box.grow(halo).intersect(Box.whole(shape))
