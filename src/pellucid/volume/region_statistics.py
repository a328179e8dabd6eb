"""Statistics of the voxels in a region, at full resolution.

Here: measure_region, which reads a box of any size in pieces; EllipsoidRegion, what a sphere of the world is in voxels.
Not here: statistics of all voxels (statistics), of labels (label_statistics).
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

import numpy as np

from pellucid.box import Box, triple
from pellucid.errors import Cancelled
from pellucid.formats.protocol import Voxels
from pellucid.volume.statistics import Readable, count_values

PIECE = (64, 128, 128)
BINS = 64


@dataclass(frozen=True)
class EllipsoidRegion:
    """The voxels (x, y, z) for which |to_world @ voxel - center| is at most radius. to_world: (3, 3); center: (3,)."""

    to_world: Voxels
    center: Voxels
    radius: float

    def bounds(self) -> tuple[Voxels, Voxels]:
        """The lowest and the highest coordinates (z, y, x) in it."""
        inverse = np.linalg.inv(self.to_world)
        middle, reach = inverse @ self.center, self.radius * np.linalg.norm(inverse, axis=1)
        return (middle - reach)[::-1], (middle + reach)[::-1]

    def contains(self, box: Box) -> Voxels:
        """Which voxels of a box are in it, in the box's shape."""
        z, y, x = (np.arange(a, b, dtype=float) for a, b in zip(box.start, box.stop, strict=True))
        square = np.zeros(box.shape)
        for row, middle in zip(self.to_world, self.center, strict=True):
            square += (row[2] * z[:, None, None] + row[1] * y[:, None] + row[0] * x - middle) ** 2
        inside: Voxels = square <= self.radius**2
        return inside


@dataclass(frozen=True)
class RegionStatistics:
    """voxels: those with a finite value. sigma: the standard deviation of all of them. counts: in the bins of
    histogram_bins. mean to high are NaN where there is no such voxel."""

    voxels: int
    mean: float
    sigma: float
    low: float
    high: float
    counts: Voxels


def box_between(low: Voxels, high: Voxels, whole: Box) -> Box:
    """The voxels of a volume whose centres lie between two coordinates (z, y, x), in any order.

    >>> box_between(np.array([2.5, 0.2, 3.0]), np.array([0.6, 9.0, 3.0]), Box.whole((5, 5, 5)))
    Box(start=(1, 1, 3), stop=(3, 5, 4))
    """
    # Rounding of the world's coordinates must not decide about a voxel whose centre was chosen.
    first, last = np.minimum(low, high) - 1e-6, np.maximum(low, high) + 1e-6
    far = np.iinfo(np.int32).max
    start, stop = np.clip(np.ceil(first), -1, far), np.clip(np.floor(last) + 1, -1, far)
    return Box(triple(start.astype(int).tolist()), triple(stop.astype(int).tolist())).intersect(whole)


def histogram_bins(low: float, high: float, *, is_whole: bool) -> tuple[int, tuple[float, float]]:
    """How many bins, and from where to where. Each has the same number of whole numbers: else some would stand out.

    >>> histogram_bins(10.0, 109.0, is_whole=True)
    (50, (9.5, 109.5))
    """
    if not is_whole:
        return BINS, (low, high if high > low else low + 1)
    width = -(-int(high - low + 1) // BINS)
    bins = -(-int(high - low + 1) // width)
    return bins, (low - 0.5, low - 0.5 + bins * width)


def measure_region(
    volume: Readable, box: Box, inside: EllipsoidRegion | None = None, cancel: threading.Event | None = None
) -> RegionStatistics:
    """Read the box twice: for the mean and the ends, then for deviations from the mean and the histogram.

    >>> from pellucid.volume.volume import Volume
    >>> found = measure_region(Volume.from_array(np.arange(8.0).reshape(2, 2, 2)), Box((0, 0, 0), (1, 2, 2)))
    >>> found.voxels, found.mean, found.low, found.high
    (4, 1.5, 0.0, 3.0)
    """
    count, total, low, high = 0, 0.0, np.inf, -np.inf
    for values in _pieces(volume, box, inside, cancel):
        count, total = count + values.size, total + float(values.sum(dtype=np.float64))
        low, high = min(low, float(values.min())), max(high, float(values.max()))
    if count == 0:
        nan = float("nan")
        return RegionStatistics(0, nan, nan, nan, nan, np.zeros(BINS, np.int64))
    mean, squares = total / count, 0.0
    bins, ends = histogram_bins(low, high, is_whole=volume.dtype.kind in "iu")
    counts = np.zeros(bins, np.int64)
    for values in _pieces(volume, box, inside, cancel):
        squares += float(((values.astype(np.float64) - mean) ** 2).sum())
        counts += count_values(values, bins, ends)
    return RegionStatistics(count, mean, sqrt(squares / count), low, high, counts)


def _pieces(
    volume: Readable, box: Box, inside: EllipsoidRegion | None, cancel: threading.Event | None
) -> Iterator[Voxels]:
    """The finite values of each part, where there are any."""
    for part in () if box.is_empty else box.tiles(PIECE):
        if cancel is not None and cancel.is_set():
            raise Cancelled("Measuring a region")
        voxels = volume.read(part)
        values = voxels.reshape(-1) if inside is None else voxels[inside.contains(part)]
        values = values[np.isfinite(values)] if values.dtype.kind == "f" else values
        if values.size:
            yield values
