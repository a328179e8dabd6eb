"""The definition of shadows and ambient occlusion, in plain NumPy.

Here: how much light reaches points inside a volume.
Not here: the rest of the image (reference.volumes), speed (kernels.light_rays).

Kernels use the light of one sample for others near it; here every sample has its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.rendering.drawing.light_rays import (
    BEFORE,
    DARK,
    FAR_AWAY,
    FIRST,
    MIN_OPEN,
    OPEN_SKY,
    SKY_STEPS,
    around,
    sky_step,
    taken_light,
)
from pellucid.rendering.scene import VolumeLayer
from pellucid.volume.interpolate import trilinear


@dataclass(frozen=True)
class LitVolume:
    """A volume that takes light away. to_voxel: from the world, without the shift; voxel: world units along its
    shortest edge; factors: how much of the material counts at places (n, 3) in voxel coordinates (x, y, z)."""

    voxels: Voxels
    layer: VolumeLayer
    to_voxel: Voxels
    voxel: float
    factors: Callable[[Voxels], Voxels]

    def shadow(self, places: Voxels, directions: Voxels, towards: Voxels) -> Voxels:
        """What comes from one light to samples at places in voxel coordinates. directions: of their rays, in the world;
        towards: a voxel to the light."""
        to_eye = self._to_eye(directions)
        return self._passes(places + to_eye * BEFORE, towards, 1.0, FAR_AWAY)

    def sky(self, places: Voxels, directions: Voxels) -> Voxels:
        """What comes from all around, 1 where half of the rays carry as much as the one to the eye."""
        step = sky_step((self.voxels.shape[0], self.voxels.shape[1], self.voxels.shape[2]))
        to_eye, reach = self._to_eye(directions), (SKY_STEPS + 1) * step
        starts = places + to_eye * BEFORE
        rays = [self._passes(starts, ray, step, reach) for ray in around(self.to_voxel)]
        is_open = np.maximum(self._passes(starts, to_eye, step, reach), MIN_OPEN)
        sky: Voxels = np.minimum(OPEN_SKY * np.mean(rays, axis=0) / is_open, 1.0)
        return sky

    def _to_eye(self, directions: Voxels) -> Voxels:
        """(n, 3): a voxel towards the eye."""
        towards: Voxels = directions @ self.to_voxel.T * -self.voxel
        return towards

    def _passes(self, starts: Voxels, towards: Voxels, step: float, reach: float) -> Voxels:
        """towards: one way for all, (3,), or one for each, (n, 3)."""
        table, low, scale = taken_light(self.layer, step)
        last, light = np.array(self.voxels.shape[::-1]), np.ones(len(starts))
        longest = 4 * last.max() / np.linalg.norm(towards, axis=-1).min()
        count = int(np.floor(min(reach, longest) / step - FIRST)) + 1
        for distance in (np.arange(count) + FIRST) * step:
            at = starts + towards * distance
            marching = ((at >= -0.5) & (at <= last - 0.5)).all(axis=1) & (light > DARK)
            values = trilinear(self.voxels, at[marching][:, ::-1]).astype(np.float32)
            rows = np.nan_to_num((values - np.float32(low)) * np.float32(scale) + np.float32(0.5), nan=0.0)
            taken = table[np.clip(rows, 0, len(table) - 1).astype(int)].astype(float)
            light[marching] *= (1 - taken) ** self.factors(at[marching])
        return light
