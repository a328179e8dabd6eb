"""Values between voxels.

Here: trilinear interpolation in NumPy: the definition that every kernel is tested against.
Not here: kernels (fields, rendering).
"""

from itertools import product

import numpy as np

from pellucid.formats.protocol import Voxels


def trilinear(voxels: Voxels, points: Voxels) -> Voxels:
    """Values at (n, 3) points (z, y, x) in voxel coordinates; outside, the nearest voxel's.

    >>> trilinear(np.array([[[0.0, 1.0]]]), np.array([[0.0, 0.0, 0.25]]))
    array([0.25])
    """
    last = np.array(voxels.shape) - 1
    inside = np.clip(points, 0, last)
    lower = np.minimum(inside.astype(np.int64), np.maximum(last - 1, 0))
    fraction = inside - lower
    values = np.zeros(len(points))
    for corner in product((0, 1), repeat=3):
        weight = np.prod(np.where(corner, fraction, 1 - fraction), axis=1)
        z, y, x = np.minimum(lower + corner, last).T
        values += weight * voxels[z, y, x]
    return values
