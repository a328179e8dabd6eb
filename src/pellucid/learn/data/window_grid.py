"""Where windows lie in several volumes.

Here: WindowGrid, windows that cover every volume; RandomWindows, windows anywhere; both number them.
Not here: reading them (datasets).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.errors import InvalidInput


class WindowPlaces(Protocol):
    """Where windows are, by the number of the volume and of the window in it."""

    @property
    def counts(self) -> tuple[int, ...]:
        """Windows of each volume."""

    def box(self, volume: int, number: int, random: np.random.Generator) -> Box:
        """Of one window; in a volume that is smaller than it, the whole axis."""


@dataclass(frozen=True)
class WindowGrid:
    """Windows at equal distances, the last ones at the border.

    >>> grid = WindowGrid(((8, 8, 10),), window=(8, 8, 4), step=(8, 8, 4))
    >>> [str(grid.box(0, number, np.random.default_rng())) for number in range(3)]
    ['0:8,0:8,0:4', '0:8,0:8,4:8', '0:8,0:8,6:10']
    """

    shapes: Sequence[Shape]
    window: Shape
    step: Shape

    def __post_init__(self) -> None:
        if min(self.step) < 1 or any(s > w for s, w in zip(self.step, self.window, strict=True)):
            raise InvalidInput(
                f"Windows of {self.window} at distances of {self.step} (z, y, x) leave gaps.",
                remedy="Use distances from 1 to the window.",
            )

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(prod(self._numbers(shape)) for shape in self.shapes)

    def box(self, volume: int, number: int, random: np.random.Generator) -> Box:
        shape = self.shapes[volume]
        place = np.unravel_index(number, self._numbers(shape))
        starts = (
            min(int(i) * s, max(0, n - w)) for i, s, n, w in zip(place, self.step, shape, self.window, strict=True)
        )
        return _box(triple(starts), self.window, shape)

    def _numbers(self, shape: Shape) -> Shape:
        """Of windows along each axis."""
        axes = zip(shape, self.window, self.step, strict=True)
        return triple(1 + max(0, -(-(length - window) // step)) for length, window, step in axes)


@dataclass(frozen=True)
class RandomWindows:
    """So many windows anywhere; a volume has as many as is its share of all voxels."""

    shapes: Sequence[Shape]
    window: Shape
    count: int

    @property
    def counts(self) -> tuple[int, ...]:
        sizes = np.cumsum([0, *(prod(shape) for shape in self.shapes)])
        ends = np.rint(sizes / sizes[-1] * self.count).astype(int)
        return tuple(int(n) for n in np.diff(ends))

    def box(self, volume: int, number: int, random: np.random.Generator) -> Box:
        shape = self.shapes[volume]
        starts = (int(random.integers(0, max(0, n - w) + 1)) for n, w in zip(shape, self.window, strict=True))
        return _box(triple(starts), self.window, shape)


def _box(start: Shape, window: Shape, shape: Shape) -> Box:
    return Box(start, triple(min(a + w, n) for a, w, n in zip(start, window, shape, strict=True)))
