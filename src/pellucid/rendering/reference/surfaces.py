"""The definition of surfaces together with volumes along a ray: opaque and translucent.

Here: ReferenceSurfaces, put together from images of points, meshes and slices; meeting its surfaces front to back.
Not here: those images (reference.geometry, reference.slices), volumes (reference.volumes).

Of equally near surfaces the later lies before the earlier. Of those that are seen through the nearest eight count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.formats.protocol import Voxels

MAX_SURFACES = 8
CLOSEST = 1e-5
"""Of the distance from the eye: triangles of a mesh that a ray meets closer together are one surface."""

ReferenceImage = tuple[Voxels, Voxels]
"""Colours (n, 4), multiplied by their opacity, and depths (n,), inf where nothing is."""


@dataclass(frozen=True)
class ReferenceSurfaces:
    """color (n, 4), depth (n,): what is opaque, and ends rays. surface_colors (m, n, 4), surface_depths (m, n): what is
    seen through, nearest first."""

    color: Voxels
    depth: Voxels
    surface_colors: Voxels
    surface_depths: Voxels


def nothing(count: int) -> ReferenceSurfaces:
    """For so many rays."""
    return arranged([], count)


def arranged(images: Sequence[ReferenceImage], count: int) -> ReferenceSurfaces:
    """From images in the order in which they are drawn: opaque where their opacity is 1, else seen through."""
    color, depth = np.zeros((count, 4)), np.full(count, np.inf)
    for one, distance in images:
        nearer = (one[:, 3] >= 1) & (distance <= depth)
        color, depth = np.where(nearer[:, None], one, color), np.where(nearer, distance, depth)
    colors = np.array([one for one, _ in images[::-1]]).reshape(-1, count, 4)
    depths = np.array([distance for _, distance in images[::-1]]).reshape(-1, count)
    is_clear = (colors[:, :, 3] > 0) & (colors[:, :, 3] < 1) & (depths <= depth)
    depths = np.where(is_clear, depths, np.inf)
    order = np.argsort(depths, axis=0, kind="stable")[:MAX_SURFACES]
    return ReferenceSurfaces(
        color, depth, np.take_along_axis(colors, order[:, :, None], 0), np.take_along_axis(depths, order, 0)
    )


class SurfaceWalk:
    """What rays accumulate on their way through surfaces; the caller adds the volume between them.

    color (n, 4), multiplied by opacity; depth (n,): where half of the opacity was reached.
    """

    def __init__(self, scenery: ReferenceSurfaces) -> None:
        self.scenery = scenery
        self.color, self.depth = np.zeros_like(scenery.color), np.full_like(scenery.depth, np.inf)
        self._gone = np.full_like(scenery.depth, -np.inf)

    def meet(self, far: Voxels) -> None:
        """Add the surfaces up to a distance (n,) that were not met before."""
        for surface, distance in zip(self.scenery.surface_colors, self.scenery.surface_depths, strict=True):
            here = np.isfinite(distance) & (distance > self._gone) & (distance <= far)
            added = np.where(here[:, None], (1 - self.color[:, 3:]) * surface, 0.0)
            reaches = (self.color[:, 3] < 0.5) & (self.color[:, 3] + added[:, 3] >= 0.5)
            self.depth[reaches] = distance[reaches]
            self.color += added
        self._gone = np.maximum(self._gone, far)

    def finish(self) -> ReferenceImage:
        """With the surfaces that are left, and opaque scenery behind everything."""
        self.meet(self.scenery.depth)
        return over(self.color, self.scenery.color), np.minimum(self.depth, self.scenery.depth)


def over(color: Voxels, behind: Voxels) -> Voxels:
    """Something, and behind it something else; colours (n, 4) multiplied by their opacity."""
    both: Voxels = color + (1 - color[:, 3:]) * behind
    return both
