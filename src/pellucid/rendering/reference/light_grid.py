"""The definition of shadows and ambient occlusion, in plain NumPy.

Here: how much light reaches points inside a volume, and the coarse grid on which it is known.
Not here: the rest of the image (reference), speed (kernels.light_grid).
"""

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pellucid.formats.protocol import Voxels
from pellucid.rendering.drawing.illumination import EVERY, coarse_shape
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.interpolate import trilinear

DARK = 0.004
"""A way that lets less through than this counts as dark."""


Factors = Callable[[Voxels], Voxels]
"""How much of the material counts at places (n, 3) in voxel coordinates (x, y, z)."""


def light_grid(voxels: Voxels, transfer: TransferFunction, towards: Voxels, reach: float, factors: Factors) -> Voxels:
    """Brightness (z, y, x) at every third voxel: the mean over directions (n, 3) of what comes through from there."""
    z, y, x = voxels.shape
    shape = coarse_shape((z, y, x))
    starts = np.indices(shape).reshape(3, -1).T[:, ::-1] * float(EVERY)
    opacity = transfer.table(1.0)[:, 3].astype(float)

    def lets_through(places: Voxels) -> Voxels:
        left: Voxels = (1 - opacity[transfer.index(trilinear(voxels, places[:, ::-1]))]) ** factors(places)
        return left

    total = sum(_passes(lets_through, voxels.shape, starts, direction, reach) for direction in towards)
    return _softened(np.asarray(total / len(towards)).reshape(shape))


def _softened(grid: Voxels) -> Voxels:
    """The mean of every place and the 26 around it; beyond the border, the nearest."""
    padded = np.pad(grid, 1, mode="edge")
    soft: Voxels = sliding_window_view(padded, (3, 3, 3)).mean(axis=(3, 4, 5))
    return soft


def light_at(grid: Voxels, places: Voxels) -> Voxels:
    """Brightness at places (n, 3) in voxel coordinates (x, y, z), trilinear on the coarse grid."""
    return trilinear(grid, places[:, ::-1] / EVERY)


def _passes(lets_through: Factors, shape: tuple[int, ...], starts: Voxels, towards: Voxels, reach: float) -> Voxels:
    last = np.array(shape[::-1])
    light = np.ones(len(starts))
    outside = np.zeros(len(starts), bool)
    for way in np.arange(1.5, reach, 1.0):
        at = starts + towards * way
        outside |= ((at < -0.5) | (at > last - 0.5)).any(axis=1)
        marching = ~outside & (light > DARK)
        if not marching.any():
            break
        light[marching] *= lets_through(at[marching])
    return light
