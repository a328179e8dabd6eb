"""The values that matter in a volume: without the few far outside, and without padding.

Here: the histogram from which the first image is chosen, its window, and which of its values are air.
Not here: colours and opacities (volumes), exact ranges and percentiles (volume.statistics).
"""

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.volume.statistics import Histogram
from pellucid.volume.volume import Volume

BINS = 1024
DARKEST_PERCENT, BRIGHTEST_PERCENT = 0.1, 99.9
FEW_BINS = BINS // 16
"""Where nearly all voxels are in so few bins, they are counted again in finer ones."""
MARGIN = 0.25
MAX_COUNTS = 8
FINEST = 2**-24
"""Of a value: float32 does not distinguish more."""
PADDING_PERCENT, PADDING_GAP = 1.0, 0.1
"""Padding is one value below 0 that so many voxels have, and this part of the range without any voxel above it."""
COARSE_BINS = 64
DARK_PEAK, DARK_VALLEY = 0.4, 0.5
FOOT = 0.02
VALLEY = 0.5
NOISE = 0.08
MIN_AIR_SHARE = 0.15
"""A scan whose darkest peak holds fewer of the voxels is taken to be filled with material."""


def informative_histogram(volume: Volume) -> Histogram:
    """The histogram of the values that matter.

    One hot voxel of 1e6 would leave everything else in one bin. Where most voxels do have one value, the few others are
    what there is to see, and all are counted. Padding is what scanners write where they measured nothing, below air.
    """
    return _narrowed(volume, _without_padding(volume, _narrowed(volume, volume.histogram(BINS))))


def _narrowed(volume: Volume, histogram: Histogram) -> Histogram:
    """The same, counted again in finer bins as long as nearly all voxels are in a few."""
    finer = histogram
    for _ in range(MAX_COUNTS):
        low, high = finer.percentile(DARKEST_PERCENT), finer.percentile(BRIGHTEST_PERCENT)
        width = float(finer.edges[1] - finer.edges[0])
        if high - low > FEW_BINS * width:
            return finer
        around = max(width, MARGIN * (high - low))
        ends = max(low - around, float(finer.edges[0])), min(high + around, float(finer.edges[-1]))
        if not ends[0] < ends[1] or ends == (finer.edges[0], finer.edges[-1]):
            break
        finer = volume.histogram(BINS, ends)
        if has_one_value(finer) and _is_as_fine_as_values(volume, finer):
            break
    return histogram


def _is_as_fine_as_values(volume: Volume, histogram: Histogram) -> bool:
    """Whether finer bins would part no more values: what is in one bin is one value."""
    low, high = float(histogram.edges[0]), float(histogram.edges[-1])
    is_whole = volume.dtype.kind in "iub"
    return (high - low) / BINS <= (1.0 if is_whole else FINEST * max(abs(low), abs(high)))


def informative_range(volume: Volume) -> tuple[float, float] | None:
    """The range of the values that matter; None where it is the range of all values."""
    edges, all_edges = informative_histogram(volume).edges, volume.histogram(BINS).edges
    is_narrower = edges[0] > all_edges[0] or edges[-1] < all_edges[-1]
    return (float(edges[0]), float(edges[-1])) if is_narrower else None


def has_one_value(histogram: Histogram) -> bool:
    return int(np.count_nonzero(histogram.counts)) <= 1


def _without_padding(volume: Volume, histogram: Histogram) -> Histogram:
    counts, edges = histogram.counts, histogram.edges
    filled = np.flatnonzero(counts)
    if len(filled) < 2 or filled[1] - filled[0] < PADDING_GAP * BINS:
        return histogram
    lowest, behind = filled[0], float(edges[filled[0] + 1])
    is_spike = edges[lowest] < 0 and counts[lowest] >= PADDING_PERCENT / 100 * counts.sum()
    if not is_spike or not _is_same_in_all_slices(volume, behind):
        return histogram
    rest = volume.histogram(BINS, (float(edges[filled[1]]), float(edges[-1])))
    return histogram if air_threshold(rest) is None else rest


def _is_same_in_all_slices(volume: Volume, below: float) -> bool:
    """Whether what lies below a value is the same part of the first, the middle and the last slice: around a circle."""
    last = volume.shape[0] - 1
    first, *others = (volume[z] < below for z in (0, last // 2, last))
    return not first.all() and all(np.array_equal(first, other) for other in others)


def air_threshold(histogram: Histogram) -> float | None:
    """The value that parts air, or whatever dark the scan is mostly filled with, from the rest; None without air.

    Air is a peak among the dark values, with a valley still among them, and enough voxels before that. The threshold is
    the foot of the peak, and a little more for its noise.
    """
    if has_one_value(histogram):
        return None
    counts, edges = _coarse(histogram)
    peak = int(counts[: round(DARK_PEAK * len(counts))].argmax())
    behind = counts[peak:]
    is_foot = behind < FOOT * counts[peak]
    is_valley = (behind < VALLEY * counts[peak]) & (behind <= np.append(behind[1:], np.inf))
    found = np.nonzero(is_foot | is_valley)[0]
    if (
        not len(found)
        or peak + found[0] > DARK_VALLEY * len(counts)
        or counts[: peak + found[0]].sum() < MIN_AIR_SHARE * counts.sum()
    ):
        return None
    foot, extent = float(edges[peak + found[0]]), float(edges[-1] - edges[0])
    return min(foot + NOISE * extent, float(edges[-2]))


def _coarse(histogram: Histogram) -> tuple[Voxels, Voxels]:
    """Few bins over the window, smoothed: whole numbers spread over many bins leave gaps that are no valleys."""
    edges = np.linspace(*value_window(histogram), COARSE_BINS + 1)
    below = np.concatenate([[0], np.cumsum(histogram.counts)])
    counts = np.diff(np.interp(edges, histogram.edges, below))
    return np.convolve(counts, (0.25, 0.5, 0.25), "same"), edges


def value_window(histogram: Histogram) -> tuple[float, float]:
    """From dark to bright, without the few voxels that lie far outside.

    Where nearly all voxels have one value, the few others are what is to be seen; if there are none, it is grey.
    """
    first, last = float(histogram.edges[0]), float(histogram.edges[-1])
    if has_one_value(histogram):
        around = max(last - first, abs(first))
        return first - around, first + around
    low, high = histogram.percentile(DARKEST_PERCENT), histogram.percentile(BRIGHTEST_PERCENT)
    one_bin = float(histogram.edges[1] - histogram.edges[0])
    return (low, high) if high - low > one_bin else (first, last)
