"""Which stored axis is which: from any order of t, c, z, y, x to (z, y, x) and back.

Here: Axes.
Not here: where the names come from (ome, zarr, n5), the guess for arrays that do not name theirs (axis_guess).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from pellucid.box import Box
from pellucid.errors import WrongDimensions
from pellucid.formats.axis_guess import unnamed_letters
from pellucid.formats.protocol import Voxels

SPATIAL = ("z", "y", "x")

Number = TypeVar("Number", int, float)
Index = tuple[int, ...]


@dataclass(frozen=True)
class Axes:
    """The axes of a stored array, slowest first: z, y and x in any order, with or without t and c.

    >>> Axes(("c", "x", "y", "z")).spatial((2, 10, 20, 30))
    (30, 20, 10)
    """

    names: tuple[str, ...]

    def spatial(self, numbers: Sequence[Number]) -> tuple[Number, Number, Number]:
        """Of one number per stored axis, those of (z, y, x)."""
        z, y, x = (numbers[self.names.index(axis)] for axis in SPATIAL)
        return (z, y, x)

    def length(self, shape: Sequence[int], axis: str) -> int:
        """How long an axis is; one where the array does not have it."""
        return shape[self.names.index(axis)] if axis in self.names else 1

    def corners(self, box: Box, t: int, c: int) -> tuple[Index, Index]:
        """First and past-the-last index of a box in the stored array."""
        first = {"t": t, "c": c, **dict(zip(SPATIAL, box.start, strict=True))}
        last = {"t": t + 1, "c": c + 1, **dict(zip(SPATIAL, box.stop, strict=True))}
        return tuple(first[axis] for axis in self.names), tuple(last[axis] for axis in self.names)

    def stored(self, voxels: Voxels) -> Voxels:
        """A view of (z, y, x) voxels with the stored array's axes."""
        order = [SPATIAL.index(axis) for axis in self.names if axis in SPATIAL]
        extra = tuple(i for i, axis in enumerate(self.names) if axis not in SPATIAL)
        return np.expand_dims(voxels.transpose(order), extra)


def unnamed_axes(path: str, shape: Sequence[int]) -> Axes:
    """Axes by their number alone."""
    return Axes(tuple(unnamed_letters(path, shape)))


def named_axes(path: str, names: Sequence[str | None], shape: Sequence[int]) -> Axes:
    """Axes by their names; names that say nothing leave the guess."""
    lowered = tuple((name or "").lower() for name in names)
    if len(lowered) != len(shape):
        raise WrongDimensions(path, shape)
    if len(set(lowered)) == len(lowered) and set(SPATIAL) <= set(lowered) <= {*SPATIAL, "t", "c"}:
        return Axes(lowered)
    if set(lowered) <= {*SPATIAL, "t", "c"}:
        raise WrongDimensions(path, shape)
    return unnamed_axes(path, shape)
