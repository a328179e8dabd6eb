"""Which parts of a volume the rays of an image saw.

Here: VisibleBricks, sorted on first use.
Not here: counting what rays see (sampling), reading what was seen too coarsely (bricks).
"""

from collections.abc import Callable
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.fields.sizes import BRICK
from pellucid.formats.protocol import Voxels


class _Sorted(NamedTuple):
    indices: Voxels
    weights: Voxels
    is_full: Voxels


class VisibleBricks:
    """What the rays of an image saw of a volume, the most visible first.

    indices: (n, 3) bricks along (z, y, x), each of 32³ voxels; weights: (n,) samples taken in each, by how much of the
    ray's light was left; is_full: (n,) which were drawn at full resolution.
    """

    def __init__(self, shape: Shape, indices: Voxels, weights: Voxels, is_full: Voxels) -> None:
        self.shape = shape
        self._unsorted: tuple[Voxels, Voxels | None] = weights, is_full
        self._sort: Callable[[], _Sorted] = lambda: _Sorted(indices, weights, is_full)

    @classmethod
    def of_all(cls, shape: Shape, wanted: Voxels, is_full: Voxels | None) -> "VisibleBricks":
        """From the weights of all bricks (z, y, x), and which are there at full resolution; None: all of them.

        Sorting them takes longer than drawing a large volume: that is done when it is asked for, and before, nothing
        looks at wanted, which may still be on its way from the device.
        """
        nothing = np.empty(0)
        visible = cls(shape, nothing, nothing, nothing.astype(bool))
        visible._unsorted, visible._sort = (wanted, is_full), partial(_sort, wanted, is_full)
        return visible

    @cached_property
    def total_weight(self) -> float:
        """The sum of all weights."""
        return float(self._unsorted[0].sum())

    @cached_property
    def missing_weight(self) -> float:
        """The sum of the weights of bricks that were not drawn at full resolution."""
        weights, is_full = self._unsorted
        return 0.0 if is_full is None else float(weights[~is_full].sum())

    @cached_property
    def _sorted(self) -> _Sorted:
        return self._sort()

    @property
    def indices(self) -> Voxels:
        return self._sorted.indices

    @property
    def weights(self) -> Voxels:
        return self._sorted.weights

    @property
    def is_full(self) -> Voxels:
        return self._sorted.is_full

    def boxes(self, most: int | None = None) -> list[Box]:
        """The voxels of the most visible bricks."""
        corners = self.indices[:most] * BRICK
        ends = np.minimum(corners + BRICK, self.shape)
        return [Box(triple(map(int, start)), triple(map(int, stop))) for start, stop in zip(corners, ends, strict=True)]


def _sort(wanted: Voxels, is_full: Voxels | None) -> _Sorted:
    weights = wanted.ravel()
    order = np.flatnonzero(weights)
    order = order[np.argsort(-weights[order], kind="stable")]
    indices = np.stack(np.unravel_index(order, wanted.shape), axis=-1)
    return _Sorted(indices, weights[order], np.ones(len(order), bool) if is_full is None else is_full.ravel()[order])
