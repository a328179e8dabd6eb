"""Dividing a volume into overlapping windows.

Here: Windows: which windows a network computes to fill a box, and what each of them contributes.
Not here: how large a window may be (planning), running a network on them (prediction).

A window is the part that the network computes at once: a core, whose result is kept, and a halo around it. At the
border of the volume a window ends with the volume, so that the network pads there as it would pad the whole volume.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.formats.protocol import Voxels


@dataclass(frozen=True, slots=True)
class Window:
    """core: the voxels that are kept. outer: the voxels that are computed; it may reach beyond the end of the volume,
    where voxels are reflected, so that its edges are multiples of the network's step."""

    core: Box
    outer: Box

    @property
    def core_in_outer(self) -> Box:
        return self.core.relative_to(self.outer.start)


@dataclass(frozen=True)
class Windows:
    """size: the largest window, (z, y, x). halo: voxels around a core. step: what positions and edges of windows are
    multiples of, so that poolings see the same voxels as in the whole volume. is_fixed: every window has that size.
    is_blended: the halo is too small for the network, so that results of neighbouring windows are blended."""

    size: Shape
    halo: Shape
    step: Shape = (1, 1, 1)
    is_fixed: bool = False
    is_blended: bool = False

    def cover(self, box: Box, shape: Shape) -> list[Window]:
        """Windows whose cores tile a box of a volume of this shape.

        >>> windows = Windows(size=(1, 8, 8), halo=(0, 2, 2)).cover(Box.whole((1, 8, 12)), (1, 8, 12))
        >>> [(str(one.core), str(one.outer)) for one in windows]
        [('0:1,0:8,0:6', '0:1,0:8,0:8'), ('0:1,0:8,6:12', '0:1,0:8,4:12')]
        """
        axes = [list(self._along(axis, box.start[axis], box.stop[axis], shape[axis])) for axis in range(3)]
        return [Window(*_boxes(ranges)) for ranges in product(*axes)]

    def touching(self, box: Box, shape: Shape) -> list[Window]:
        """Windows of the whole volume whose result takes part in a box."""
        axes = []
        for axis in range(3):
            ramp, ranges = self.ramp[axis], self._along(axis, 0, shape[axis], shape[axis])
            first, last = box.start[axis], box.stop[axis]
            axes.append([one for one in ranges if one[0][0] - ramp < last and first < one[0][1] + ramp])
        return [Window(*_boxes(ranges)) for ranges in product(*axes)]

    def weights(self, window: Window, shape: Shape) -> list[Voxels]:
        """Along each axis of the window: 1 in its core, falling to 0 across the borders to other windows."""
        found = []
        for axis in range(3):
            (low, high), ramp = (window.core.start[axis], window.core.stop[axis]), self.ramp[axis]
            places = np.arange(window.outer.start[axis], window.outer.stop[axis]) + 0.5
            inside = np.full(len(places), np.inf)
            if low > 0:
                inside = np.minimum(inside, places - low)
            if high < shape[axis]:
                inside = np.minimum(inside, high - places)
            width = max(ramp, 0.5)
            found.append(np.clip(0.5 + inside / (2 * width), 0, 1).astype(np.float32))
        return found

    @property
    def ramp(self) -> Shape:
        """How far on either side of the border between two cores both results count."""
        return triple(h // 2 for h in self.halo) if self.is_blended else (0, 0, 0)

    def read_box(self, box: Box, shape: Shape) -> Box:
        """The voxels of the volume that the windows of a box need."""
        lows, highs = [], []
        for axis in range(3):
            ranges = list(self._along(axis, box.start[axis], box.stop[axis], shape[axis]))
            needed = reflected(np.arange(ranges[0][1][0], ranges[-1][1][1]), shape[axis])
            lows.append(int(needed.min()))
            highs.append(int(needed.max()) + 1)
        return Box(triple(lows), triple(highs))

    def computed(self, box: Box, shape: Shape) -> int:
        """Voxels that the windows of a box compute."""
        return prod(
            sum(outer[1] - outer[0] for _, outer in self._along(axis, box.start[axis], box.stop[axis], shape[axis]))
            for axis in range(3)
        )

    @property
    def margin(self) -> Shape:
        """The halo in whole steps."""
        return triple(-(-h // s) * s for h, s in zip(self.halo, self.step, strict=True))

    @property
    def min_size(self) -> Shape:
        """The smallest window that keeps a core between two halos."""
        return triple(2 * m + s for m, s in zip(self.margin, self.step, strict=True))

    def _along(
        self, axis: int, first: int, last: int, length: int
    ) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """(core, outer) along an axis: as few windows as possible, of the same length but for the last. At the border
        of the volume a window needs no halo, and keeps that much more."""
        step, margin = self.step[axis], self.margin[axis]
        end = max(_rounded_up(length, step), self.size[axis] if self.is_fixed else 0)
        low, last_kept = first // step * step, _rounded_up(last, step)
        size = self._even_size(axis, min(end, last_kept + margin) - max(0, low - margin))
        while low < last:
            start = max(0, low - margin)
            if self.is_fixed:
                start = max(0, min(start, end - size))
            reaches_end = start + size >= min(end, last_kept + margin)
            high = last_kept if reaches_end else start + size - margin
            stop = start + size if self.is_fixed else min(end, high + margin)
            yield (max(low, first), min(high, last)), (start, stop)
            low = high

    def _even_size(self, axis: int, extent: int) -> int:
        """The length of windows that cover an extent, halos included, with no more of them than the largest would."""
        step, margin, size = self.step[axis], self.margin[axis], self.size[axis]
        if self.is_fixed or extent <= size:
            return size
        count = -(-(extent - 2 * margin) // (size - 2 * margin))
        return min(size, _rounded_up(-(-(extent + 2 * margin * (count - 1)) // count), step))


def _rounded_up(length: int, step: int) -> int:
    return -(-length // step) * step


def reflected(positions: Voxels, length: int) -> Voxels:
    """Positions beyond the border, mirrored at the first and last voxel.

    >>> reflected(np.arange(-2, 6), 4).tolist()
    [2, 1, 0, 1, 2, 3, 2, 1]
    """
    if length == 1:
        return np.zeros_like(positions)
    period = 2 * (length - 1)
    folded = np.abs(positions) % period
    return np.where(folded < length, folded, period - folded)


def cut(voxels: Voxels, origin: Shape, box: Box, shape: Shape) -> Voxels:
    """The voxels of a box that may reach beyond the border, from an array whose first voxel is at origin.

    voxels: (channel, z, y, x).
    """
    if Box.whole(shape).contains(box):
        return voxels[(slice(None), *box.relative_to(origin).slices)]
    for axis in range(3):
        places = reflected(np.arange(box.start[axis], box.stop[axis]), shape[axis]) - origin[axis]
        is_straight = len(places) == places[-1] - places[0] + 1 and (np.diff(places) == 1).all()
        if is_straight:
            voxels = voxels[(slice(None),) * (axis + 1) + (slice(int(places[0]), int(places[-1]) + 1),)]
        else:
            voxels = np.take(voxels, places, axis=axis + 1)
    return voxels


def _boxes(ranges: tuple[tuple[tuple[int, int], tuple[int, int]], ...]) -> tuple[Box, Box]:
    (cz, oz), (cy, oy), (cx, ox) = ranges
    core = Box((cz[0], cy[0], cx[0]), (cz[1], cy[1], cx[1]))
    return core, Box((oz[0], oy[0], ox[0]), (oz[1], oy[1], ox[1]))


def input_box(box: Box, scale: Shape) -> Box:
    """The voxels of the input that a box of a scaled output lies on.

    >>> str(input_box(Box((0, 3, 4), (2, 8, 7)), (1, 4, 4)))
    '0:2,0:2,1:2'
    """
    start = triple(a // s for a, s in zip(box.start, scale, strict=True))
    return Box(start, triple(-(-b // s) for b, s in zip(box.stop, scale, strict=True)))


def output_box(box: Box, scale: Shape) -> Box:
    """The voxels of a scaled output on a box of the input."""
    start = triple(a * s for a, s in zip(box.start, scale, strict=True))
    return Box(start, triple(b * s for b, s in zip(box.stop, scale, strict=True)))
