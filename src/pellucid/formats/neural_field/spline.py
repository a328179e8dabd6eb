"""A cubic spline under a neural field: what is smooth in a volume, in few numbers.

Here: SplineGrid, its values on lattices and at points.
Not here: choosing and fitting one (pellucid.neural.spline_fitting), the network above it (field).

A feature grid is interpolated linearly, so that its error falls with the square of its cells; that of a cubic spline
falls with the fourth power. For simulations, which are smooth, it needs a fraction of the numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float32]]
SUPPORT = 4
"""Coefficients that count at a point, along one axis."""


@dataclass(frozen=True)
class SplineGrid:
    """coefficients: (z, y, x), of a uniform cubic B-spline over [-1, 1]; along each axis three more than cells."""

    coefficients: Floats

    @property
    def cells(self) -> tuple[int, int, int]:
        """Along (z, y, x)."""
        z, y, x = (n - SUPPORT + 1 for n in self.coefficients.shape)
        return z, y, x


def spline_on(grid: SplineGrid, axes: Sequence[Floats]) -> Floats:
    """Values on a lattice with these positions in [-1, 1] along (z, y, x)."""
    values: Any = grid.coefficients
    for axis, (positions, cells) in enumerate(zip(axes, grid.cells, strict=True)):
        first, weights = spline_weights(positions, cells)
        low, high = int(first.min()), int(first.max()) + SUPPORT
        matrix = weight_matrix(first - low, weights, high - low)
        part = np.take(values, range(low, high), axis=axis)
        values = np.moveaxis(np.tensordot(matrix, part, axes=(1, axis)), 0, axis)
    return np.ascontiguousarray(values, np.float32)


def spline_at(grid: SplineGrid, points: Floats) -> Floats:
    """Values at (n, 3) points (x, y, z) in [-1, 1]."""
    places = [spline_weights(points[:, 2 - axis], cells) for axis, cells in enumerate(grid.cells)]
    total = np.zeros(len(points), np.float32)
    for k in range(SUPPORT):
        for j in range(SUPPORT):
            for i in range(SUPPORT):
                (z, a), (y, b), (x, c) = places
                total += grid.coefficients[z + k, y + j, x + i] * (a[:, k] * b[:, j] * c[:, i])
    return total


def spline_weights(positions: Floats, cells: int) -> tuple[Any, Floats]:
    """For positions in [-1, 1]: the first of the four coefficients that count, and their weights, (n, 4)."""
    place = np.clip((np.asarray(positions, np.float64) + 1) * (0.5 * cells), 0, cells)
    first = np.minimum(place.astype(np.int64), cells - 1)
    t = place - first
    weights = [(1 - t) ** 3, 3 * t**3 - 6 * t**2 + 4, -3 * t**3 + 3 * t**2 + 3 * t + 1, t**3]
    return first, np.asarray(np.stack(weights, axis=1) / 6, np.float32)


def weight_matrix(first: Any, weights: Floats, count: int) -> Floats:
    """(n, count): a row of weights for every position."""
    matrix = np.zeros((len(first), count), weights.dtype)
    for k in range(SUPPORT):
        matrix[np.arange(len(first)), first + k] = weights[:, k]
    return matrix
