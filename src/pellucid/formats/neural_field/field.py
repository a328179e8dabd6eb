"""The parts of a neural field: encodings that turn a point into features, and a decoder that turns those into a value.

Here: FeatureGrid, HashLevel, FourierFeatures, Decoder, NeuralField.
Not here: their values at points (evaluation), their bytes (coding, container), nor training.

A point is (x, y, z) in [-1, 1]; the centres of the first and the last voxel of an axis are at -1 and 1. Features of all
encodings are joined in the order of the fields below. Decoded values lie about [0, 1], and ``value_range`` maps them to
the volume's, or to those of what a spline leaves of it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.formats.neural_field.spline import SplineGrid

Floats = np.ndarray[Any, np.dtype[np.float32]]
ACTIVATIONS = ("relu", "snake")


@dataclass(frozen=True)
class FeatureGrid:
    """Features on a regular grid that lies anywhere in the volume; zero outside, and fading to zero over one cell.

    features: (features, z, y, x). transform: (3, 4), takes a point to the grid's own coordinates in [-1, 1].
    """

    features: Floats
    transform: Floats

    @property
    def width(self) -> int:
        return int(self.features.shape[0])

    @property
    def is_axis_aligned(self) -> bool:
        return not np.any(self.transform[:, :3] * (1 - np.eye(3, dtype=np.float32)))


@dataclass(frozen=True)
class HashLevel:
    """One level of a hash grid: nodes of a cubic lattice, each with a row of the table.

    resolution: cells along an axis. table: (rows, features).
    """

    resolution: int
    table: Floats

    @property
    def width(self) -> int:
        return int(self.table.shape[1])


@dataclass(frozen=True)
class FourierFeatures:
    """Sines and cosines of a point. frequencies: (count, 3), in half turns per unit."""

    frequencies: Floats

    @property
    def width(self) -> int:
        return 2 * len(self.frequencies)


@dataclass(frozen=True)
class Decoder:
    """A small network without biases. weights: one (inputs, outputs) matrix per layer; the last has one output."""

    weights: tuple[Floats, ...]
    activation: str = "relu"


@dataclass(frozen=True)
class NeuralField:
    """A function from points in [-1, 1]³ to values.

    kind: the model's name, for users. value_range: what decoded 0 and 1 stand for. spline: is added to that.
    """

    kind: str
    decoder: Decoder
    grids: tuple[FeatureGrid, ...] = ()
    hash_levels: tuple[HashLevel, ...] = ()
    fourier: FourierFeatures | None = None
    value_range: tuple[float, float] = (0.0, 1.0)
    spline: SplineGrid | None = None

    @property
    def width(self) -> int:
        """How many features a point has."""
        parts = (*self.grids, *self.hash_levels, *((self.fourier,) if self.fourier else ()))
        return sum(part.width for part in parts)

    @property
    def parameter_count(self) -> int:
        grids = sum(grid.features.size + grid.transform.size for grid in self.grids)
        tables = sum(level.table.size for level in self.hash_levels)
        spline = self.spline.coefficients.size if self.spline else 0
        return grids + tables + spline + sum(weights.size for weights in self.decoder.weights)
