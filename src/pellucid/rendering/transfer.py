"""Transfer functions: which colour and how much opacity a value gets.

Here: TransferFunction, with what gradients make of it, and baking it into the tables that kernels read.
Not here: named colour maps (color_maps), choosing one from a histogram (first_view).
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels

TABLE_SIZE = 4096
EDGE_TABLE_SIZE = 1024

ColorPoint = tuple[float, tuple[float, float, float]]
OpacityPoint = tuple[float, float]


@dataclass(frozen=True)
class Edges:
    """A second axis of a transfer function: the gradient changes the opacity.

    factors: (position, factor), linear in between, constant outside; positions run from 0 to 1 over ``gradient_range``,
    the change of the value per voxel (along its shortest edge). A factor multiplies the density: half of the material
    with a factor of 0.5, none with 0. It is a product of two curves, not a table over both axes, because users can draw
    and read two curves, and boundaries stay visible while the inside becomes transparent.

    >>> Edges(((0.0, 0.0), (1.0, 1.0)), (0.0, 10.0)).table()[[0, -1]].tolist()
    [0.0, 1.0]
    """

    factors: tuple[OpacityPoint, ...] = ((0.0, 0.0), (1.0, 1.0))
    gradient_range: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        low, high = self.gradient_range
        if not (isfinite(low) and isfinite(high) and 0 <= low < high):
            raise InvalidInput(
                f"Invalid gradient range: {low} to {high}.", remedy="Use 0 or more, then a higher value."
            )
        _check_points("edge", [position for position, _ in self.factors], [factor for _, factor in self.factors])

    def table(self) -> Voxels:
        """(EDGE_TABLE_SIZE,) float32: the factor from the low to the high end of the range."""
        place = np.linspace(0, 1, EDGE_TABLE_SIZE)
        factors: Voxels = np.interp(place, [at for at, _ in self.factors], [factor for _, factor in self.factors])
        return factors.astype(np.float32)

    @property
    def least_visible(self) -> float:
        """A gradient, per voxel, below which every factor is 0."""
        low, high = self.gradient_range
        invisible = int((np.cumsum(self.table()) == 0).sum())
        return low + (high - low) * (invisible - 0.5) / (EDGE_TABLE_SIZE - 1) if invisible else 0.0


@dataclass(frozen=True)
class TransferFunction:
    """Colour and opacity between control points, linear in between, constant outside.

    colors: (position, (red, green, blue)); opacities: (position, opacity). Positions run from 0 to 1 over
    ``value_range``; colours and opacities from 0 to 1. Opacity is the share of the light that one voxel of material
    absorbs. gamma: changes the mapping from value to position. edges: how the gradient changes the opacity.
    is_preintegrated: whether a step uses all values between its two ends instead of the value in its middle; then no
    narrow peak of the opacity is missed, and it takes about twice the time.
    """

    colors: tuple[ColorPoint, ...] = ((0.0, (0.0, 0.0, 0.0)), (1.0, (1.0, 1.0, 1.0)))
    opacities: tuple[OpacityPoint, ...] = ((0.0, 0.0), (1.0, 1.0))
    value_range: tuple[float, float] = (0.0, 1.0)
    gamma: float = 1.0
    edges: Edges | None = None
    is_preintegrated: bool = False

    def __post_init__(self) -> None:
        low, high = self.value_range
        if not (isfinite(low) and isfinite(high) and low < high):
            raise InvalidInput(f"Invalid value range: {low} to {high}.", remedy="Use a low end below the high end.")
        if not 0 < self.gamma < float("inf"):
            raise InvalidInput(f"Invalid gamma: {self.gamma}.", remedy="Use a positive number; 1 changes nothing.")
        _check_points("colour", [position for position, _ in self.colors], [c for _, rgb in self.colors for c in rgb])
        _check_points("opacity", [position for position, _ in self.opacities], [a for _, a in self.opacities])

    def table(self, step: float, size: int = TABLE_SIZE) -> Voxels:
        """(size, 4) float32 of red, green, blue and the opacity of ``step`` voxels of material.

        The opacity is corrected for the step, so that sampling twice as often gives the same brightness.

        >>> bool(abs(TransferFunction(opacities=((0.0, 0.5), (1.0, 0.5))).table(2.0)[0, 3] - 0.75) < 1e-6)
        True
        """
        position = np.linspace(0, 1, size) ** self.gamma
        table = np.empty((size, 4), np.float32)
        where = [at for at, _ in self.colors]
        for channel in range(3):
            table[:, channel] = np.interp(position, where, [rgb[channel] for _, rgb in self.colors])
        opacity = np.interp(position, [at for at, _ in self.opacities], [a for _, a in self.opacities])
        table[:, 3] = 1 - (1 - np.minimum(opacity, 0.999999)) ** step
        table[opacity == 0, 3] = 0
        return table

    def index(self, values: Voxels, size: int = TABLE_SIZE) -> Voxels:
        """The row of the table for every value."""
        low, high = self.value_range
        scaled = (np.asarray(values, np.float32) - np.float32(low)) * np.float32((size - 1) / (high - low))
        rows: Voxels = np.clip(np.nan_to_num(scaled) + np.float32(0.5), 0, size - 1)
        return rows.astype(np.int64)


def summed(table: Voxels) -> Voxels:
    """(rows + 1, 4) float64: sums of a table's rows before each row: red, green, blue times density, and density.

    What lies between two values is a difference of two rows of this: no table over pairs of values is needed, and a
    peak of a single row is met. Double precision keeps small densities beside large sums.
    """
    density = -np.log1p(-np.minimum(table[:, 3:].astype(np.float64), 1 - 1e-12))
    rows = np.concatenate([table[:, :3] * density, density], axis=1)
    sums: Voxels = np.concatenate([np.zeros((1, 4)), np.cumsum(rows, axis=0)])
    return sums


def _check_points(name: str, positions: list[float], levels: list[float]) -> None:
    if not positions or positions != sorted(positions) or not all(0 <= value <= 1 for value in (*positions, *levels)):
        raise InvalidInput(
            f"Invalid {name} points: {positions}.",
            remedy="Use at least one point, ascending positions, and numbers from 0 to 1.",
        )
