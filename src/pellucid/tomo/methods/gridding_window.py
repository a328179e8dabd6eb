"""The window that samples of a spectrum are laid on a grid with, and what it does to the image.

Here: the size of the grid, the window's table and its fading.
Not here: laying samples with it (gridding_cpu, gridding_cuda).
"""

from functools import cache
from typing import Any

import numpy as np
import scipy.fft

from pellucid.tomo.scan import Floats

FINER = 1.5
"""Cells of the grid for a column of the image."""


def grid_size(columns: int) -> int:
    """Cells along the edge of the grid: even, and quick to transform (a product of 2, 3 and 5).

    >>> grid_size(2048)
    3072
    """
    size = scipy.fft.next_fast_len(max(int(np.ceil(FINER * columns)), 32), real=True)
    while size % 2:
        size = scipy.fft.next_fast_len(size + 1, real=True)
    return int(size)


def steepness() -> float:
    """Of the window's exponential."""
    from pellucid.tomo.kernels import gridding

    return float(0.97 * np.pi * gridding.TAPS * (1 - 0.5 / FINER))


def _window(place: Floats) -> Floats:
    """At a distance from its middle, in cells."""
    from pellucid.tomo.kernels import gridding

    inside = 1 - (2 * place / gridding.TAPS) ** 2
    return np.where(inside >= 0, np.exp(steepness() * (np.sqrt(np.maximum(inside, 0)) - 1)), 0.0)


@cache
def window_table() -> Any:
    """(step, tap): the window at taps that begin a step behind the window's border, with alternating signs."""
    from pellucid.tomo.kernels import gridding

    steps, taps = np.arange(gridding.STEPS + 2) / gridding.STEPS, np.arange(gridding.WIDE)
    values = _window(steps[:, None] + taps - gridding.TAPS / 2) * (-1.0) ** taps
    values[:, gridding.TAPS :] = 0
    return values.astype(np.float32)


@cache
def window_fading(columns: int, size: int) -> Floats:
    """What to multiply a row or column of the transformed grid by; not to be changed."""
    from pellucid.tomo.kernels import gridding

    nodes, weights = np.polynomial.legendre.leggauss(64)
    places = nodes * gridding.TAPS / 2
    pixels = np.arange(columns) - columns // 2
    waves = np.cos(2 * np.pi * pixels[:, None] * places / size)
    spectrum = waves @ (weights * _window(places)) * gridding.TAPS / 2
    return np.asarray(size * (-1.0) ** pixels / spectrum)
