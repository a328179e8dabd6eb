"""Statistics of voxels: the range of every brick and the histogram, in one pass each with bounded memory.

Here: BrickRanges, Histogram, Percentiles, NonFiniteCounts, and VolumeStatistics, which computes each once
and remembers it.
Not here: reading (Volume), turning ranges into visibility (rendering).
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import Any, Protocol

import numpy as np

from pellucid import progress
from pellucid.box import Box, Shape, grid_shape
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.settings import current
from pellucid.volume.cache import load, store

BRICK = 32
PIECE_BYTES = 32 * 2**20
PIECES_AT_ONCE = 1024
MEMORY_SHARE = 8
"""The pieces of all threads together take at most this part of the memory that the settings allow."""
FINEST = 2**-50
COUNTED_TOGETHER = 2**17
EXACT_BYTES = 2**26
"""Percentiles of a volume of up to this size are computed from its sorted voxels."""
PERCENTILE_BINS = 4096


class Readable(Protocol):
    """What statistics need of a volume."""

    location: Location

    @property
    def shape(self) -> Shape: ...
    @property
    def chunk(self) -> Shape: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def read(self, box: Box) -> Voxels: ...


@dataclass(frozen=True)
class BrickRanges:
    """Smallest and largest value of every brick of ``brick``³ voxels; NaN and infinite voxels are left out."""

    brick: int
    lowest: Voxels
    highest: Voxels

    @property
    def overall(self) -> tuple[float, float]:
        return float(np.fmin.reduce(self.lowest, axis=None)), float(np.fmax.reduce(self.highest, axis=None))


@dataclass(frozen=True)
class Histogram:
    """counts[i] voxels lie between edges[i] and edges[i + 1]; the last bin includes its upper edge."""

    counts: Voxels
    edges: Voxels

    def percentile(self, percent: float) -> float:
        """The value below which so many per cent of the voxels lie, linear inside a bin."""
        below = np.concatenate([[0], np.cumsum(self.counts)])
        return float(np.interp(below[-1] * percent / 100, below, self.edges))


@dataclass(frozen=True)
class Percentiles:
    """values: by per cent; NaN where no voxel is finite. tolerance: how far each may be off; 0 where they are exact."""

    values: dict[float, float]
    tolerance: float


@dataclass(frozen=True)
class NonFiniteCounts:
    """Voxels that are left out of all other statistics: nan, and infinite of either sign."""

    nan: int
    infinite: int


class VolumeStatistics:
    """A volume's statistics: computed when first asked for, kept here and in the cache folder."""

    def __init__(self, volume: Readable) -> None:
        self._volume = volume
        self._known: dict[str, Any] = {}

    def brick_ranges(self, brick: int = BRICK) -> BrickRanges:
        low, high = self._once(f"ranges-{brick}", lambda: _ranges(self._volume, brick))
        return BrickRanges(brick, low, high)

    def histogram(self, bins: int = 256, within: tuple[float, float] | None = None) -> Histogram:
        """within: count only values between these two; without it, all that there are."""
        name = f"histogram-{bins}" + (f"-{within[0]!r}-{within[1]!r}" if within else "")
        counts, edges = self._once(name, lambda: self._count(bins, within or self.brick_ranges().overall))
        return Histogram(counts, edges)

    def percentiles(self, percents: tuple[float, ...]) -> Percentiles:
        """Exact for volumes of up to EXACT_BYTES; of larger ones, within one bin of a histogram."""
        volume = self._volume
        if prod(volume.shape) * volume.dtype.itemsize > EXACT_BYTES:
            histogram = self.histogram(PERCENTILE_BINS)
            values = {percent: histogram.percentile(percent) for percent in percents}
            return Percentiles(values, float(histogram.edges[1] - histogram.edges[0]))
        voxels = volume.read(Box.whole(volume.shape))
        finite = voxels[np.isfinite(voxels)].astype(np.float64)
        found = np.percentile(finite, percents) if finite.size else np.full(len(percents), np.nan)
        return Percentiles(dict(zip(percents, found.tolist(), strict=True)), 0.0)

    def non_finite(self) -> NonFiniteCounts:
        """Whole numbers are all finite, and are not read."""
        if self._volume.dtype.kind != "f":
            return NonFiniteCounts(0, 0)
        nan, infinite = self._once("non-finite", lambda: _non_finite(self._volume))
        return NonFiniteCounts(int(nan), int(infinite))

    def forget(self) -> None:
        """The voxels changed: what was computed holds no longer."""
        self._known.clear()

    def _count(self, bins: int, ends: tuple[float, float]) -> tuple[Voxels, Voxels]:
        low, high = ends
        if np.isnan(low):  # No voxel has a value.
            low, high = 0.0, 1.0
        # Bins must be wide enough that float64 distinguishes their edges.
        high = max(high if high > low else low + 1, low + FINEST * bins * abs(low))
        edges = np.linspace(low, high, bins + 1)
        # In float64, or float32 counts in its own precision, and refuses a small range far from 0.
        low, high = np.float64(low), np.float64(high)
        pieces = each_piece(self._volume, "Counting voxels", lambda _, voxels: count_values(voxels, bins, (low, high)))
        counts = np.zeros(bins, np.int64)
        for counted in pieces:
            counts += counted
        return counts, edges

    def _once(self, name: str, compute: Any) -> tuple[Voxels, Voxels]:
        if name not in self._known:
            found = load(self._volume.location, name)
            if found is None:
                found = compute()
                store(self._volume.location, name, found)
            self._known[name] = found
        pair: tuple[Voxels, Voxels] = self._known[name]
        return pair


def count_values(voxels: Voxels, bins: int, ends: tuple[float, float]) -> Voxels:
    """How many values lie in each of so many equal bins between two ends.

    >>> count_values(np.array([0, 1, 1, 3], np.uint8), 2, (0.0, 4.0)).tolist()
    [3, 1]
    """
    # Not by the edges: that equal bins are asked for makes it several times faster.
    if voxels.dtype.kind not in "iu" or voxels.dtype.itemsize > 2:
        counted: Voxels = np.histogram(voxels, bins, ends)[0]
        return counted
    # There are fewer values than voxels: each value finds its bin once.
    bits, unsigned = np.iinfo(voxels.dtype).bits, np.dtype(f"u{voxels.dtype.itemsize}")
    values = np.arange(2**bits).astype(unsigned).view(voxels.dtype.newbyteorder("="))
    flat, times = voxels.reshape(-1).astype(values.dtype, copy=False).view(unsigned), np.zeros(2**bits, np.int64)
    for start in range(0, flat.size, COUNTED_TOGETHER):
        times += np.bincount(flat[start : start + COUNTED_TOGETHER], minlength=times.size)
    weighed: Voxels = np.histogram(values, bins, ends, weights=times)[0]
    return weighed.astype(np.int64)


def _ranges(volume: Readable, brick: int) -> tuple[Voxels, Voxels]:
    grid = grid_shape(volume.shape, (brick, brick, brick))
    # Empty: of a damaged file that states too large a shape, no page is touched before reading fails.
    low: Voxels = np.empty(grid, volume.dtype)
    high: Voxels = np.empty(grid, volume.dtype)

    def reduce(box: Box, voxels: Voxels) -> None:
        z, y, x = (slice(a // brick, -(-b // brick)) for a, b in zip(box.start, box.stop, strict=True))
        if voxels.dtype.kind == "f":
            voxels[np.isinf(voxels)] = np.nan
        lowest, highest = (_per_brick(one, voxels, brick) for one in (np.fmin, np.fmax))
        is_first = box.start[0] % brick == 0  # Of the parts of a brick, which one thread reads one after another.
        low[z, y, x] = lowest if is_first else np.fmin(low[z, y, x], lowest)
        high[z, y, x] = highest if is_first else np.fmax(high[z, y, x], highest)

    for _ in each_piece(volume, "Finding value ranges", reduce, brick):
        pass
    return low, high


def _non_finite(volume: Readable) -> tuple[Voxels, Voxels]:
    def count(_: Box, voxels: Voxels) -> tuple[int, int]:
        return int(np.isnan(voxels).sum()), int(np.isinf(voxels).sum())

    counts = list(each_piece(volume, "Counting voxels", count))
    return np.array(sum(nan for nan, _ in counts)), np.array(sum(infinite for _, infinite in counts))


def _per_brick(smaller: np.ufunc, voxels: Voxels, brick: int) -> Voxels:
    # z first, then y: the two passes over many voxels run along whole rows, which is where NumPy is fast.
    for axis in range(3):
        voxels = np.moveaxis(_per_slab(smaller, np.moveaxis(voxels, axis, 0), brick), 0, axis)
    return voxels


def _per_slab(smaller: np.ufunc, planes: Voxels, brick: int) -> Voxels:
    """Of every ``brick`` planes one; whole planes are compared at once, which is far faster than ufunc.reduceat."""
    found: Voxels = planes[::brick].copy()
    for offset in range(1, min(brick, len(planes))):
        rest = planes[offset::brick]
        smaller(found[: len(rest)], rest, out=found[: len(rest)])
    return found


def each_piece(volume: Readable, name: str, work: Any, multiple: int = 1) -> Iterator[Any]:
    """Results of ``work(box, voxels)`` for pieces that tile the volume, on as many threads as fit into memory.

    Edges of pieces are multiples of ``multiple``. A piece of large planes is read, and worked on, in several parts.
    """
    _, rows, columns = shape = piece_shape(volume, multiple)
    depth = _depth_at_once(volume, shape, multiple)

    def piece(box: Box) -> list[Any]:
        results = []
        for part in box.tiles((depth, rows, columns)):
            results.append(work(part, volume.read(part)))
            bar.advance(part.size * volume.dtype.itemsize)
        return results

    boxes = Box.whole(volume.shape).tiles(shape)
    total = prod(volume.shape) * volume.dtype.itemsize
    # A part, and what is computed from it.
    needed = 2 * depth * rows * columns * volume.dtype.itemsize
    threads = max(1, min(current().threads, current().memory_bytes // needed))
    with progress.task(name, total=total, unit="B") as bar, ThreadPoolExecutor(threads) as pool:
        while some := list(islice(boxes, PIECES_AT_ONCE)):
            for results in pool.map(piece, some):
                yield from results


def _depth_at_once(volume: Readable, piece: Shape, multiple: int) -> int:
    """Planes of a piece that are read together: all, or a divisor of ``multiple``, so that no brick is cut twice."""
    depth, rows, columns = piece
    plane = rows * columns * volume.dtype.itemsize
    if depth * plane <= PIECE_BYTES or volume.chunk[0] >= multiple:
        return depth
    fewest = max(volume.chunk[0], min(multiple, PIECE_BYTES // plane))
    return max(n for n in range(1, fewest + 1) if multiple % n == 0)


def piece_shape(volume: Readable, multiple: int) -> Shape:
    """Whole chunks, edges multiples of ``multiple``, grown along x, y, z in turn up to a few MiB.

    Where that is more than a thread's share of the memory, such as a few planes that are very wide, parts of chunks.
    """
    edges = [min(-(-c // multiple) * multiple, n) for c, n in zip(volume.chunk, volume.shape, strict=True)]
    edges = [max(e, min(multiple, n)) for e, n in zip(edges, volume.shape, strict=True)]
    room = PIECE_BYTES // volume.dtype.itemsize
    for axis in (2, 1, 0):
        factor = max(1, room // prod(edges))
        edges[axis] = min(volume.shape[axis], edges[axis] * factor)
    share = max(PIECE_BYTES, current().memory_bytes // (MEMORY_SHARE * current().threads)) // volume.dtype.itemsize
    for axis in (1, 2, 0):
        fitting = share * edges[axis] // prod(edges) // multiple * multiple
        edges[axis] = min(edges[axis], max(multiple, fitting))
    z, y, x = edges
    return (z, y, x)
