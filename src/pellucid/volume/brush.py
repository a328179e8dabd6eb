"""The voxels that a brush touches.

Here: BrushPath, the box around it and the mask in that box.
Not here: which label they get, and undo (instance).
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pellucid.box import Box, triple
from pellucid.errors import Cancelled
from pellucid.formats.protocol import Spacing, Voxels

Place = tuple[float, float, float]
ROUNDING = 1e-9
TILE = (32, 64, 128)
"""Distances are computed for so many voxels at once: they stay in the processor's cache."""


@dataclass(frozen=True)
class BrushPath:
    """A brush drawn through places (z, y, x), in voxels. radius: in units of the spacing. axis: of a disc that lies
    in the slice of the first place, across this axis; None for a ball."""

    places: tuple[Place, ...]
    radius: float
    axis: int | None = None

    def box(self, spacing: Spacing, whole: Box) -> Box:
        """The voxels that it may touch, inside a volume."""
        return _around(self._in_slice(), self._reach(spacing), whole)

    def work(self, spacing: Spacing, box: Box) -> int:
        """How many distances mask() computes at most: voxels around every part of the path."""
        return sum(part.size for _, part in self._parts(spacing, box))

    def mask(self, spacing: Spacing, box: Box, cancel: threading.Event | None = None) -> Voxels:
        """Which voxels of a box it touches: those at most ``radius`` from the line through its places.

        >>> path = BrushPath(((0.0, 0.0, 1.0),), 1.0)
        >>> path.mask((1.0, 1.0, 1.0), Box((0, 0, 0), (1, 1, 4)))[0, 0].tolist()
        [True, True, True, False]
        """
        touched = np.zeros(box.shape, bool)
        for ends, part in self._parts(spacing, box):
            for tile in part.tiles(TILE):
                if cancel is not None and cancel.is_set():
                    raise Cancelled("Painting")
                inside = touched[tile.relative_to(box.start).slices]
                if not inside.all():
                    inside |= _near_segment(tile, np.array(ends), np.array(spacing), self.radius)
        return touched

    def _parts(self, spacing: Spacing, box: Box) -> Iterator[tuple[tuple[Place, Place], Box]]:
        """The ends of every part of the path, with the voxels of a box that it may touch."""
        places, reach = self._in_slice(), self._reach(spacing)
        for ends in list(pairwise(places)) or [(places[0], places[0])]:
            part = _around(ends, reach, box)
            if not part.is_empty:
                yield ends, part

    def _in_slice(self) -> tuple[Place, ...]:
        if self.axis is None:
            return self.places
        flat = np.array(self.places)
        flat[:, self.axis] = round(flat[0, self.axis])
        return tuple((float(z), float(y), float(x)) for z, y, x in flat)

    def _reach(self, spacing: Spacing) -> Voxels:
        reach = self.radius / np.array(spacing)
        if self.axis is not None:
            reach[self.axis] = 0.0
        return reach


def _around(places: tuple[Place, ...], reach: Voxels, whole: Box) -> Box:
    low, high = np.min(places, axis=0) - reach, np.max(places, axis=0) + reach
    start = np.clip(np.ceil(low - ROUNDING), whole.start, whole.stop).astype(int)
    stop = np.clip(np.floor(high + ROUNDING) + 1, whole.start, whole.stop).astype(int)
    return Box(triple(start.tolist()), triple(np.maximum(start, stop).tolist()))


def _near_segment(box: Box, ends: Voxels, spacing: Voxels, radius: float) -> Voxels:
    first, way = ends[0] * spacing, (ends[1] - ends[0]) * spacing
    axes = [np.arange(a, b) * step for a, b, step in zip(box.start, box.stop, spacing, strict=True)]
    z, y, x = (one - start for one, start in zip(axes, first, strict=True))
    offsets = (z[:, None, None], y[None, :, None], x[None, None, :])
    square = float(way @ way)
    along = sum(offset * part for offset, part in zip(offsets, way, strict=True)) / square if square else 0.0
    share = np.clip(along, 0, 1)
    distance = sum((offset - share * part) ** 2 for offset, part in zip(offsets, way, strict=True))
    near: Voxels = np.broadcast_to(distance <= (radius + ROUNDING) ** 2, box.shape)
    return near
