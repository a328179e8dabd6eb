"""The definition of volumes of labels, in plain NumPy.

Here: LabelMedium: the nearest voxel's label, its colour, and which way the thing that it names ends.
Not here: rays (reference.volumes), colours (labels), speed (kernels.labels).
"""

from dataclasses import dataclass

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.rendering.labels import Labels
from pellucid.rendering.reference.volumes import Medium
from pellucid.volume.interpolate import trilinear


def nearest(voxels: Voxels, places: Voxels) -> Voxels:
    """The voxels nearest to places (n, 3) in voxel coordinates (z, y, x)."""
    z, y, x = (np.clip(places, 0, np.array(voxels.shape) - 1) + 0.5).astype(np.int64).T
    found: Voxels = voxels[z, y, x]
    return found


@dataclass(frozen=True)
class LabelMedium(Medium):
    """A volume of labels, whose layer has their colours."""

    def value(self, points: Voxels) -> Voxels:
        return nearest(self.voxels, self.places(points)[:, ::-1])

    def classified(self, points: Voxels, directions: Voxels) -> Voxels:
        labels = self.layer.labels or Labels()
        return labels.table(self.value(points), self.step / self.voxel).astype(float)

    def gradient(self, points: Voxels) -> Voxels:
        """How the part of its surroundings that has a point's own label grows: central differences, trilinear."""
        inside = np.clip(self.places(points), 0, np.array(self.voxels.shape[::-1]) - 1)
        slopes = np.zeros((len(points), 3))
        here = self.value(points)
        for label in np.unique(here):
            which = here == label
            has_it = (self.voxels == label).astype(float)
            for axis, side in enumerate(np.eye(3)):
                ahead, behind = ((inside[which] + way * side)[:, ::-1] for way in (1, -1))
                slopes[which, axis] = (trilinear(has_it, ahead) - trilinear(has_it, behind)) / 2
        in_world: Voxels = slopes @ self.to_voxel
        return in_world
