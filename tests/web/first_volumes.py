"""Volumes whose first image has been wrong once.

Here: each of them, small, by name.
Not here: what their images look like (first_images), comparing (test_first_images).
"""

from collections.abc import Callable

import numpy as np

from pellucid.formats.protocol import Voxels

EDGE = 40
Z, Y, X = np.indices((EDGE, EDGE, EDGE), float) - (EDGE - 1) / 2
RADIUS = np.sqrt(X**2 + Y**2 + Z**2)


def _noise(sigma: float, shape: tuple[int, ...] = RADIUS.shape) -> Voxels:
    noise: Voxels = np.random.default_rng(1).normal(0, sigma, shape)
    return noise


def hot_voxel() -> Voxels:
    """One broken pixel of the detector."""
    levels: Voxels = ((RADIUS < 13) * 1.0 + _noise(0.05)).astype(np.float32)
    levels[4, 8, 12] = 1e6
    return levels


def padded_ct() -> Voxels:
    """In Hounsfield units, with what scanners write outside their circle."""
    levels = np.where(RADIUS < 14, np.where(RADIUS > 11, 700, 40), -1000) + _noise(15)
    levels[np.hypot(X, Y) > 18] = -3024
    stored: Voxels = levels.astype(np.int16)
    return stored


def labels() -> Voxels:
    """The names of objects."""
    found = np.zeros(RADIUS.shape, np.int32)
    for number, (z, y, x) in enumerate(((-8, -8, -8), (8, 8, -6), (-6, 9, 9), (9, -8, 8)), 1):
        found[(Z - z) ** 2 + (Y - y) ** 2 + (X - x) ** 2 < 64] = number
    return found


def smooth_ball() -> Voxels:
    """Without any surface: it fades out."""
    levels: Voxels = np.exp(-(RADIUS**2) / (2 * 7.0**2)).astype(np.float32)
    return levels


def two_slices() -> Voxels:
    """Images rather than a volume."""
    images = np.stack([np.hypot(X, Y)[0] + 3 * np.sin(X[0] / 3), np.hypot(X, Y)[0]]).astype(np.float32)
    images[:, :8, :8] = 40
    return images


def missing_values() -> Voxels:
    """No number outside of what was measured."""
    levels = np.where(RADIUS < 13, 1 + 0.3 * np.sin(X / 2), 0.0).astype(np.float32)
    levels[RADIUS > 19] = np.nan
    return levels


def projections() -> Voxels:
    """What a scanner writes, before anything is reconstructed."""
    rows, columns = np.indices((32, EDGE)) - np.array([[[0]], [[(EDGE - 1) / 2]]])
    frames = []
    for angle in np.linspace(0, np.pi, 24):
        small = np.maximum(4**2 - (columns - 10 * np.cos(angle)) ** 2, 0)
        large = np.maximum(12**2 - columns**2, 0) * (rows > 9)
        frames.append(50000 * np.exp(-np.sqrt(small) / 8 - np.sqrt(large) / 30))
    return (np.array(frames) + _noise(100, (24, 32, EDGE))).astype(np.uint16)


VOLUMES: dict[str, Callable[[], Voxels]] = {
    make.__name__: make for make in (hot_voxel, padded_ct, labels, smooth_ball, two_slices, missing_values, projections)
}
