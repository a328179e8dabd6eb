"""The largest value of a trilinear field along rays, in plain NumPy: what the kernel is compared with.

Here: crossing the planes on which voxels lie, and the cubic polynomial between two crossings.
Not here: rays, colours (volumes), speed (fields.kernels.extremes).
"""

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.volume.interpolate import trilinear

THIRDS = np.arange(4) / 3
TO_CUBIC = np.linalg.inv(np.vander(THIRDS, increasing=True))
"""From values at 0, 1/3, 2/3 and 1 to the coefficients of the cubic through them, the constant first."""


def largest_along(voxels: Voxels, origins: Voxels, speeds: Voxels, near: Voxels, far: Voxels) -> tuple[Voxels, Voxels]:
    """(n,) the largest value between two distances along every ray, and the smallest distance at which it is reached.

    origins, speeds: (n, 3) in voxel coordinates (x, y, z); voxels: (z, y, x). Parts of a ray beside a voxel that is NaN
    have no value; a ray with no value at all has -inf, infinitely far.
    """
    cuts = _crossings(voxels.shape, origins, speeds, near, far)
    starts, lengths = cuts[:, :-1], np.diff(cuts, axis=1)
    distances = starts[..., None] + lengths[..., None] * THIRDS
    points = origins[:, None, None] + distances[..., None] * speeds[:, None, None]
    values = trilinear(voxels, points.reshape(-1, 3)[:, ::-1]).reshape(distances.shape)
    cubic = values @ TO_CUBIC.T
    fractions = np.concatenate(
        [np.zeros((*lengths.shape, 1)), _turning_points(cubic), np.ones((*lengths.shape, 1))], -1
    )
    found = np.sum(cubic[..., None, :] * fractions[..., None] ** np.arange(4), axis=-1).reshape(len(origins), -1)
    found = np.where(np.isnan(found), -np.inf, found)
    best = found.argmax(axis=1)[:, None]
    at = (starts[..., None] + lengths[..., None] * fractions).reshape(len(origins), -1)
    value = np.take_along_axis(found, best, axis=1)[:, 0]
    return value, np.where(np.isfinite(value), np.take_along_axis(at, best, axis=1)[:, 0], np.inf)


def _crossings(shape: tuple[int, ...], origins: Voxels, speeds: Voxels, near: Voxels, far: Voxels) -> Voxels:
    """(n, m) distances, in order, between which a ray stays between the same eight voxels."""
    found = [near[:, None], far[:, None]]
    for axis, count in enumerate(shape[::-1]):
        with np.errstate(divide="ignore", invalid="ignore"):
            found.append((np.arange(count) - origins[:, axis, None]) / speeds[:, axis, None])
    cuts = np.nan_to_num(np.concatenate(found, axis=1), nan=0.0)
    return np.sort(np.clip(cuts, near[:, None], far[:, None]), axis=1)


def _turning_points(cubic: Voxels) -> Voxels:
    """(..., 2) where the derivatives of cubics are zero between 0 and 1; 0 where they are not."""
    _, b, c, d = np.moveaxis(cubic, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(c * c - 3 * d * b)
        q = -c - np.where(c >= 0, 1, -1) * root
        roots = np.stack([q / (3 * d), b / q], axis=-1)
        return np.where((roots > 0) & (roots < 1), roots, 0.0)
