"""How well a column fits as the rotation axis: how much of a quick slice about it is below zero.

Here: QuickSlices of one row, small and by plain filtered back projection; the curve of their scores and its valleys.
Not here: columns that are worth a try, and the choice among them (axis).

No sample has a negative attenuation. A slice about a wrong axis has doubled or open edges, and beside them values
below zero, for smooth samples as for detailed ones. The share of these is the score: lower is better.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy  # Its parts load when they are used, and a viewer that only names them starts sooner.

from pellucid.tomo.geometry.half_turn import HalfTurn
from pellucid.tomo.scan import Floats


@dataclass(frozen=True, eq=False)
class QuickSlices:
    """filtered: views (view, column) of a half turn, with ``factor`` columns of the detector averaged in each."""

    filtered: Floats
    angles_rad: Floats
    factor: int
    detector_columns: int

    @classmethod
    def of(cls, half: HalfTurn, max_columns: int, max_views: int) -> "QuickSlices":
        """max_columns, max_views: that are used; more are thinned."""
        count, columns = half.views.shape
        factor = -(-columns // max_columns)
        width = columns // factor
        some = slice(None, None, -(-count // max_views))
        binned = half.views[some, : width * factor].reshape(-1, width, factor).mean(axis=2, dtype=np.float64)
        return cls(_filter(binned), half.angles_rad[some], factor, columns)

    def score(self, column: float, reach: float | None = None) -> float:
        """The share of a slice about a column of the detector that is below zero, by its squares; infinite where the
        slice is empty. reach: columns on both sides of it that the slice covers, by default to the nearer border."""
        reach = min(column, self.detector_columns - 1 - column) if reach is None else reach
        values = self._slice((column - (self.factor - 1) / 2) / self.factor, max(1.0, reach / self.factor))
        total = float((values**2).sum())
        return float((np.minimum(values, 0) ** 2).sum()) / total if total > 0 else np.inf

    def scores(self, columns: Floats) -> Floats:
        return np.array([self.score(float(column)) for column in columns])

    def valley(self, column: float, step: float) -> float:
        """The column with the lowest score near one, by steps downhill from it and a parabola through the last three.

        nan where it goes downhill as far as the border of the detector.
        """
        known: dict[int, float] = {}
        lowest, reach = 0, min(column, self.detector_columns - 1 - column)
        while True:
            for number in (lowest - 1, lowest, lowest + 1):
                if number not in known:
                    known[number] = self.score(column + number * step, reach)
            best = min((lowest, lowest - 1, lowest + 1), key=known.__getitem__)
            if best == lowest:
                break
            lowest = best
            if not 0 < column + (lowest - 1) * step < column + (lowest + 1) * step < self.detector_columns - 1:
                return float("nan")
        left, middle, right = (known[lowest + number] for number in (-1, 0, 1))
        curve = left - 2 * middle + right
        return column + step * (lowest + (0.5 * (left - right) / curve if np.isfinite(curve) and curve > 0 else 0.0))

    def _slice(self, axis: float, radius: float) -> Floats:
        """The values of a slice within so many pixels of the axis, as one row of numbers."""
        pixels = np.arange(-np.floor(radius), np.floor(radius) + 1)
        x, y = (one.ravel() for one in np.meshgrid(pixels, pixels))
        is_inside = x**2 + y**2 <= radius**2
        x, y = x[is_inside], y[is_inside]
        columns, values = np.arange(self.filtered.shape[1]), np.zeros(len(x))
        for view, angle in zip(self.filtered, self.angles_rad, strict=True):
            values += np.interp(x * np.cos(angle) + y * np.sin(angle) + axis, columns, view)
        return values


def _filter(views: Floats) -> Floats:
    """A ramp with little of the highest frequencies; views go on beyond the detector with the values at its borders."""
    columns = views.shape[1]
    length = scipy.fft.next_fast_len(3 * columns, real=True)
    padded = np.pad(views, ((0, 0), (columns, length - 2 * columns)), "edge")
    frequencies = np.fft.rfftfreq(length)
    ramp = frequencies * np.cos(np.pi * frequencies) ** 2
    return np.asarray(scipy.fft.irfft(scipy.fft.rfft(padded) * ramp, length)[:, columns : 2 * columns])


def valleys(places: Floats, values: Floats) -> Iterator[float]:
    """Places that are lower than both neighbours; the ends are none.

    >>> list(valleys(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([1.0, 0.5, 2.0, 3.0, 0.0])))
    [1.0]
    """
    is_lower = (values[1:-1] < values[:-2]) & (values[1:-1] <= values[2:])
    yield from places[1:-1][is_lower].tolist()
