"""A sample volume to try things with.

Here: one analytic sample with the features real scans have: air, two materials, thin walls, grains, noise.
Not here: simulated projections (tomo).
"""

import numpy as np

from pellucid.formats.protocol import Voxels

AIR, MATRIX, GRAIN = 2_000, 21_000, 46_000
NOISE = 900


def sample(edge: int = 192, seed: int = 7) -> Voxels:
    """A ball of porous foam with dense grains in a shell, cut open; (edge, edge, edge) uint16, reproducible.

    >>> sample(16).shape, sample(16).dtype.name
    ((16, 16, 16), 'uint16')
    """
    random = np.random.default_rng(seed)
    z, y, x = np.meshgrid(*(np.linspace(-1, 1, edge, dtype=np.float32),) * 3, indexing="ij", sparse=True)
    radius = np.sqrt(z * z + y * y + x * x)
    foam = _soft(_gyroid(z, y, x, frequency=13.0), edge) * _soft(0.86 - radius, edge)
    shell = _soft(0.035 - np.abs(radius - 0.88), edge)
    density = AIR + (MATRIX - AIR) * np.maximum(foam, shell)
    for centre, size in zip(random.uniform(-0.5, 0.5, (24, 3)), random.uniform(0.04, 0.1, 24), strict=True):
        distance = np.sqrt((z - centre[0]) ** 2 + (y - centre[1]) ** 2 + (x - centre[2]) ** 2)
        inside = _soft(np.float32(size) - distance, edge)
        density += (GRAIN - density) * inside
    # A corner is cut out, so that an image from outside shows the inside.
    density[: edge // 2, edge // 2 :, edge // 2 :] = AIR
    noisy: Voxels = density + NOISE * random.standard_normal(density.shape, dtype=np.float32)
    return noisy.clip(0, 65_535).astype(np.uint16)


def _gyroid(z: Voxels, y: Voxels, x: Voxels, frequency: float) -> Voxels:
    """Distance-like function, positive inside the walls of a gyroid."""
    # Turned against the axes: every slice then cuts it differently.
    a = frequency * (0.80 * z + 0.48 * y + 0.36 * x)
    b = frequency * (-0.60 * z + 0.64 * y + 0.48 * x)
    c = frequency * (-0.60 * y + 0.80 * x)
    time_limit: Voxels = 0.45 - np.abs(np.sin(a) * np.cos(b) + np.sin(b) * np.cos(c) + np.sin(c) * np.cos(a))
    return time_limit / np.float32(frequency)


def _soft(distance: Voxels, edge: int) -> Voxels:
    """1 inside, 0 outside, one voxel of slope between: what a detector of finite size sees."""
    slope: Voxels = np.clip(distance * np.float32(edge / 2) + np.float32(0.5), 0, 1)
    return slope
