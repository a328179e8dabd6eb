"""Sinograms with columns that are wrong in every way a detector has."""

from typing import Any

import numpy as np

Sinogram = np.ndarray[Any, np.dtype[np.float32]]


def clean(views: int = 181, columns: int = 300, seed: int = 0) -> Sinogram:
    """Discs, by their line integrals, with a little noise."""
    random = np.random.default_rng(seed)
    angles, x = np.linspace(0, np.pi, views)[:, None], np.arange(columns) - columns / 2
    total = np.zeros((views, columns))
    for _ in range(12):
        radius = random.uniform(5, columns / 5)
        away, turned = random.uniform(0, columns / 2 - radius - 25), random.uniform(0, 6)
        total += 2 * np.sqrt(np.clip(radius**2 - (x - away * np.cos(angles - turned)) ** 2, 0, None)) / columns
    return (total + random.normal(0, 0.002, total.shape)).astype(np.float32)


def striped(sinogram: Sinogram, seed: int = 1) -> tuple[Sinogram, list[int]]:
    """Columns with another gain, offsets three columns wide, and dead ones that only give noise; and which they are."""
    random = np.random.default_rng(seed)
    views, columns = sinogram.shape
    wrong = sinogram.copy()
    places = random.choice(np.arange(columns // 4, 3 * columns // 4, 6), 12, replace=False).tolist()
    for column in places[:6]:
        wrong[:, column] *= random.choice([0.9, 1.1])
    for column in places[6:9]:
        wrong[:, column - 1 : column + 2] += 0.1
    for column in places[9:]:
        wrong[:, column] = random.normal(1, 0.5, views)
    return wrong, places
