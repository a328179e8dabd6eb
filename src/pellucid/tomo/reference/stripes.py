"""The definition of which stripes of a sinogram come from the detector, and which from the sample, in plain NumPy.

Here: the profile of what is constant over all views, its concentric part, the columns that are wrong, and the removal
of their offsets: the definition of ring removal "auto".
Not here: anything fast (automatic_rings), algorithms that change every column (rings).

A ring and a thin wall around the axis both draw a line that is the same in all views. The wall is seen on both sides of
the axis, at the same distance from it; a wrong column only on its own side. Where that does not tell them apart, in
doubt it is the sample: a ring is a few columns that stand out from both sides, by more than the sample bends nearby,
and by the same in most parts of the scan.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import scipy  # Its parts load when they are used, and a viewer that only names them starts sooner.

from pellucid.tomo.reference.rings import Floats, Mask
from pellucid.tomo.scan import Indices

WRONG_SIGMAS = 6.0
"""By how many of its own standard deviations the median of a column over the views is off before it counts."""
DENSE_SHARE = 0.25
"""Of the columns: where more are wrong, too few are left to tell by how much."""
ALIKE = 0.75
"""The correlation of a profile with its mirror image, from which it is the sample's."""
NEIGHBOURS = 6
"""Columns on both sides over which that correlation is taken."""
AXIS_ERRORS = np.arange(-1.0, 1.01, 0.25)
"""Columns by which a mirrored line may be off: twice the error of the axis."""
NARROWEST = 4.0
"""A line of the sample is wider than a column: it has at most so many times what it has beside its highest column."""
WRONG_SHARE_OF_LINE = 0.2
"""Beside a line of the sample, a column has to be off by so much of that line before it counts."""
WRONG_TIMES_BEND = {1: 0.75, 2: 1.1, 3: 1.5, 4: 2.0}
"""Near an edge of the sample, so many columns side by side have to be off by so many times its sharpest bend before
they count: a curve rises above the ends of a short piece by less. One factor of 2 for all leaves 10 % more of single
rings in foams. With 0.5, 0.9 and 1.4, walls of 2 and 3 columns at the border of an offset scan count as rings."""
SLOPE_COLUMNS = 25
"""A slope of the sample is the median over so many columns. Without this, a ring on a slope does not stand out from
both sides: of rings of 2 to 4 columns in foams 32 % are left, with it 17 %. With 11 columns more of the sample counts
as rings, with 35 more rings are left."""
NEAR_AXIS = 6.0
"""Columns beside the axis, where a part of the sample moves so little that it may look like a ring."""
OPPOSITE_SHARE_OF_RING = 0.4
"""Of how far a ring stands out: columns as far on the other side of the axis do so by at most as much."""
LEAST_PARTS, LASTING_SHARE, LEAST_ALONE = 0.25, 0.35, 0.6
"""In this share of the scan, where a ring stands out least, it does so by at least so much of what it does in all of
it. Each of its columns may do so by this much less. Of 4,000 random parts, those that look like a ring reach 0.3."""
MOVING_SHARE, MOVING_SMOOTH = 0.7, 0.4
"""What lasts for less, and is so alike from one part of the scan to the next, moves."""
SAME_RING = 0.5
"""Of the height of a ring that was found: columns next to it that are as high belong to it too."""
MIN_SMOOTHING = 0.6
"""Of the second differences of a ring, that those of the profile have: with half of them it is as rough without it."""
WRONG_SHARE_OF_RANGE = 0.002
"""Of the range of a profile: less is not seen in a slice, and may come from rounding."""
WIDEST = 4
"""Columns side by side that can be a ring; more are left alone."""
PARTS, STEADY_SHARE, UNSTEADY = 16, 0.75, 0.7
"""A ring is the same in this share of the parts of a scan, but for so much of itself."""
CURVE_REACH, CURVE_COLUMNS = 3, 12
"""Good columns on either side of a ring that say what it hides, and how far apart the outermost of them may be. A line
between the nearest two cuts off the curves of the sample: with it, 18 % of random rings are left instead of 17."""
QUARTILES_TO_MEDIAN_ERROR = 1.253 / 1.349
"""From the distance of the quartiles to the standard deviation of the median of one value."""
ERRATIC_FACTOR, ERRATIC_SHARE = 4.0, 0.25
"""An erratic column is more restless than so many of its neighbours and, besides, this share of the most restless ones
of the sinogram."""
OPPOSITE, OPPOSITE_SHARE = 2, 0.5
"""Columns by which the other side of a restless column may be off, and the share of its restlessness that it has."""
FROZEN = 0.05
"""Of what columns on both sides change over the views: a column that changes by less is dead."""
SMOOTH = 0.5
"""The correlation of one view with the next from which what a column has more than others is the sample's."""


@dataclass(frozen=True, eq=False)
class Stripes:
    """Of one sinogram.

    profile: what is constant over the views, against neighbouring columns. concentric: the part of it that is the
    sample's. shape: the profile, not against neighbours; parts: the same of every part of the scan. heights: how far
    the remainder stands out from both sides. noise: what that has to exceed where the slice shows a ring too. is_wrong:
    the columns where it is a ring.
    """

    profile: Floats
    concentric: Floats
    shape: Floats
    parts: Floats
    heights: Floats
    noise: Floats
    is_wrong: Mask

    @classmethod
    def of(cls, steps: Floats, spread: Floats, size: int, views: int, axis: float) -> "Stripes":
        """steps, spread: as measured(), of so many views; size: columns to compare with; axis: its column."""
        shape, *shapes = np.cumsum(np.vstack([np.median(steps, axis=0), steps]), axis=1)
        profile = against_neighbours(shape, size)
        kept = concentric(profile, axis)
        level = without_slopes(shape)
        heights = {widest: spike_heights(level, kept, widest) for widest in WRONG_TIMES_BEND}
        error = np.maximum(spread, np.median(spread)) * QUARTILES_TO_MEDIAN_ERROR / np.sqrt(2 * views)
        line = scipy.ndimage.maximum_filter1d(np.abs(kept), 2 * NEIGHBOURS + 1)
        least = np.full_like(line, WRONG_SHARE_OF_RANGE * np.ptp(shape) + 1e-7)
        bent = bends(level)
        stands_out = []
        for widest, factor in WRONG_TIMES_BEND.items():
            # From one side to the other, the errors of so many steps add up.
            sigmas = WRONG_SIGMAS * np.sqrt((widest + 1) / 2)
            limits = (sigmas * error, WRONG_SHARE_OF_LINE * line, factor * bent, least)
            stands_out.append(heights[widest] > np.maximum.reduce(limits))
        away = np.abs([against_neighbours(part, size) - profile for part in shapes])
        usual = np.quantile(away, STEADY_SHARE, axis=0)
        is_steady = usual <= UNSTEADY * heights[WIDEST] + 3 * np.sqrt(len(shapes)) * error
        found = np.logical_or.reduce(stands_out) & is_steady
        # It is not known whether these stand out from both sides, or are the edge of the sample.
        found[:WIDEST] = found[-WIDEST:] = False
        whole = whole_rings(found, np.where(heights[WIDEST] > sigmas * error, heights[WIDEST], 0.0))
        noise = np.maximum.reduce((sigmas * error, WRONG_SHARE_OF_LINE * line, least))
        is_wrong = smoothing_rings(shape - kept, whole)
        found_all = cls(profile, kept, shape, np.array(shapes), heights[WIDEST], noise, is_wrong)
        return replace(found_all, is_wrong=found_all.without_parts_near(axis, is_wrong))

    @property
    def signed(self) -> Floats:
        """The heights, negative where columns stand out downwards."""
        return np.copysign(self.heights, self.profile)

    @property
    def are_dense(self) -> bool:
        return bool(self.is_wrong.mean() > DENSE_SHARE)

    @property
    def rough_offsets(self) -> Floats:
        """Of wrong columns, where they are too dense for a better estimate; 0 elsewhere."""
        return np.where(self.is_wrong & self.are_dense, self.profile - self.concentric, 0.0)

    def without_parts_near(self, axis: float, found: Mask) -> Mask:
        """found, less the columns near the axis that may see a part of the sample there. A ring may be right beside
        what looks like one, so that the smoothing piece of a group is also tried by itself."""
        certain = found.copy()
        groups, count = scipy.ndimage.label(found)
        for (group,) in scipy.ndimage.find_objects(groups, count):
            if max(group.start - axis, axis - group.stop + 1) < NEAR_AXIS:
                certain[group] = False
                for piece in (group, _best_piece(self.shape - self.concentric, group)):
                    certain[piece] |= self.is_no_part(piece, axis)
        return certain

    def is_no_part(self, group: slice, axis: float) -> bool:
        """Whether columns stand out all the time, and on one side of the axis. A part of the sample that is away from
        the axis moves, and one on the axis is on both sides of it."""
        whole = _above_both_sides(self.shape, group)
        if not whole.all() or not whole.mean():
            return False
        return self._opposite(group, axis) < OPPOSITE_SHARE_OF_RING and self._lasting(group) > LASTING_SHARE

    def is_moving(self, group: slice) -> bool:
        """Whether columns stand out for a part of the scan only, which begins and ends slowly: noise does not."""
        heights = _above_both_sides(self.parts, group).mean(axis=1)
        away = heights - heights.mean()
        together = float(away[1:] @ away[:-1])
        return together > MOVING_SMOOTH * float(away @ away) and self._lasting(group) < MOVING_SHARE

    def _lasting(self, group: slice) -> float:
        """How far columns stand out in the parts of the scan where they do so least, as a share of all of it."""
        whole, parts = (_above_both_sides(one, group) for one in (self.shape, self.parts))
        least = max(1, round(LEAST_PARTS * len(parts)))
        together = np.sort(parts.mean(axis=1) / whole.mean())[:least].mean()
        alone = np.sort(parts / whole, axis=0)[:least].mean(axis=0)
        return float(min(together, alone.min() + LEAST_ALONE))

    def _opposite(self, group: slice, axis: float) -> float:
        """How far the columns on the other side of the axis stand out, as a share of what these do."""
        columns = np.arange(len(self.shape))
        others = np.array([np.interp(2 * axis - columns + error, columns, self.shape) for error in AXIS_ERRORS])
        own = _above_both_sides(self.shape, group).mean()
        return float((_above_both_sides(others, group).mean(axis=1) / own).max())


def _above_both_sides(values: Floats, group: slice) -> Floats:
    """How far columns are above the two beside them; the last axis is theirs."""
    beside = (values[..., group.start - 1] + values[..., group.stop]) / 2
    return np.asarray(values[..., group] - beside[..., None])


def measured(sinogram: Floats) -> tuple[Floats, Floats]:
    """Per part of the views and column, the median of its difference from the column before; per column, the distance
    of the quartiles of all of them."""
    steps = np.diff(sinogram, axis=1, prepend=sinogram[:, :1])
    ranks = [
        np.quantile(part, [0.25, 0.5, 0.75], axis=0, method="closest_observation")
        for part in np.array_split(steps, min(PARTS, len(steps)))
    ]
    low, middle, high = np.swapaxes(ranks, 0, 1)
    return middle, np.median(high - low, axis=0)


def against_neighbours(shape: Floats, size: int) -> Floats:
    """A shape less the median of so many columns. Slopes are taken away first: on a slope the middle column is the
    median, whatever its offset."""
    level = shape - scipy.ndimage.uniform_filter1d(shape, size, mode="reflect")
    return np.asarray(level - scipy.ndimage.median_filter(level, size, mode="reflect"))


def without_slopes(shape: Floats) -> Floats:
    """A shape whose slopes are level, so that what stands out on a slope stands out from both sides."""
    steps = np.diff(shape, prepend=shape[:1])
    return np.cumsum(steps - scipy.ndimage.median_filter(steps, SLOPE_COLUMNS, mode="reflect"))


def whole_rings(found: Mask, heights: Floats) -> Mask:
    """The columns that were found, and those next to them that are as high: a ring of which one column is taken for a
    good neighbour keeps most of its offset. More columns than a ring has are the top of the sample: only those that
    were found.

    >>> whole_rings(np.array([0, 1, 0, 0, 0], bool), np.array([0.0, 2.0, 1.8, 0.5, 2.0])).tolist()
    [False, True, True, False, False]
    >>> whole_rings(np.array([0, 1, 0, 0, 0], bool), np.full(5, 2.0)).tolist()
    [False, True, False, False, False]
    """
    highest = scipy.ndimage.maximum_filter1d(np.where(found, heights, 0.0), 2 * WIDEST - 1)
    groups, _ = scipy.ndimage.label(found | ((highest > 0) & (heights > SAME_RING * highest)))
    is_ring = np.bincount(groups.ravel()) <= WIDEST
    return np.asarray(found | (is_ring[groups] & np.isin(groups, groups[found])))


def smoothing_rings(shape: Floats, found: Mask) -> Mask:
    """Of columns that were found, those without whose offsets a shape is smoother: the best pieces of every group, one
    after another. What is left of a group is the top or the flank of the sample beside a ring.

    >>> smoothing_rings(np.array([0.0, 4, 7, 14, 10, 10, 9, 7, 4, 0]), np.arange(10) // 3 == 1).nonzero()[0].tolist()
    [3]
    """
    taken, smoothed = np.zeros(len(found), bool), shape.copy()
    groups, count = scipy.ndimage.label(found)
    for group in scipy.ndimage.find_objects(groups, count):
        first, stop = group[0].start, group[0].stop
        while pieces := list(_smoothing_pieces(smoothed, taken, first, stop)):
            _, start, end = max(pieces)
            smoothed[start:end] -= _offsets_between(smoothed, start, end)
            taken[start:end] = True
    return taken


def _best_piece(shape: Floats, group: slice) -> slice:
    """The piece of a group without whose offsets a shape is smoothest; all of it where it is as smooth with them."""
    pieces = list(_smoothing_pieces(shape, np.zeros(len(shape), bool), group.start, group.stop))
    return slice(*max(pieces)[1:]) if pieces else group


def _smoothing_pieces(shape: Floats, taken: Mask, first: int, stop: int) -> Iterator[tuple[float, int, int]]:
    """Pieces of first to stop that are not taken and smoother without their offsets: by how much, start and end. Of two
    that are as good, the narrower one: wider ones also level the sample's curves."""
    for start in range(max(first, 1), stop):
        for end in range(start + 1, min(stop, start + WIDEST, len(shape) - 1) + 1):
            if taken[start:end].any():
                break
            near = slice(max(0, start - 2), end + 2)
            offsets = np.zeros(len(shape))
            offsets[start:end] = _offsets_between(shape, start, end)
            own, ring = np.diff(shape[near], 2), np.diff(offsets[near], 2)
            together, alone = float(own @ ring), float(ring @ ring)
            if together > MIN_SMOOTHING * alone > 0:
                yield (2 * together - alone) / sqrt(end - start), start, end


def _offsets_between(shape: Floats, start: int, end: int) -> Floats:
    """Of columns from start to end, against a straight line between those beside them."""
    before, after = shape[start - 1], shape[end]
    return np.asarray(shape[start:end] - np.linspace(before, after, end - start + 2)[1:-1])


def spikes(shape: Floats, widest: int = WIDEST) -> Floats:
    """How far columns stand out from both sides, no more than so many together; an edge or a slope does not."""
    up, down = (getattr(scipy.ndimage, name)(shape, widest + 1) for name in ("white_tophat", "black_tophat"))
    return np.asarray(np.where(up > down, up, -down))


def spike_heights(shape: Floats, kept: Floats, widest: int) -> Floats:
    """The same without signs, both with and without what is concentric; 0 where these two disagree."""
    whole, remainder = spikes(shape, widest), spikes(shape - kept, widest)
    return np.asarray(np.where(whole * remainder < 0, 0.0, np.minimum(np.abs(whole), np.abs(remainder))))


def bends(shape: Floats) -> Floats:
    """How sharply a shape bends near every column, without its spikes: an edge of the sample does."""
    opened, closed = (getattr(scipy.ndimage, name) for name in ("grey_opening", "grey_closing"))
    first, second = closed(opened(shape, WIDEST + 1), WIDEST + 1), opened(closed(shape, WIDEST + 1), WIDEST + 1)
    bent = [np.abs(np.diff(np.pad(one, 1, "edge"), 2)) for one in (shape - spikes(shape), (first + second) / 2)]
    # Rings close to each other leave traces in the one or the other.
    return np.asarray(np.minimum(*scipy.ndimage.maximum_filter1d(bent, 2 * NEIGHBOURS + 1)))


def concentric(profile: Floats, axis: float) -> Floats:
    """The part of a profile that is also seen, mirrored, on the other side of the axis; 0 where that is not seen."""
    columns = np.arange(len(profile))
    mirrored = 2 * axis - columns
    is_seen = (mirrored >= 0) & (mirrored <= len(profile) - 1)

    def summed(values: Floats) -> Floats:
        return np.convolve(np.where(is_seen, values, 0.0), np.ones(2 * NEIGHBOURS + 1), "same")[: len(profile)]

    alike = np.full(len(profile), -1.0)
    for error in AXIS_ERRORS:
        other = np.interp(mirrored + error, columns, profile)
        scale = np.sqrt(summed(profile**2) * summed(other**2))
        found = np.divide(summed(profile * other), scale, out=np.zeros(len(profile)), where=scale > 0)
        alike = np.maximum(alike, found)
    near = scipy.ndimage.maximum_filter1d(alike > ALIKE, 2 * NEIGHBOURS + 1)
    low = np.interp(mirrored, columns, scipy.ndimage.minimum_filter1d(profile, 3))
    high = np.interp(mirrored, columns, scipy.ndimage.maximum_filter1d(profile, 3))
    beside = NARROWEST * np.maximum(np.abs(np.roll(profile, 1)), np.abs(np.roll(profile, -1)))
    kept = np.clip(np.clip(profile, np.minimum(low, 0), np.maximum(high, 0)), -beside, beside)
    return np.where(near & is_seen, kept, 0.0)


def erratic_columns(restless: Floats, size: int, axis: float) -> Mask:
    """Columns that may not follow the sample; restless: as rings.restlessness(), size: columns to compare with. Where
    the other side of the axis is as restless, it is a wall through which hardly any light comes."""
    usual = scipy.ndimage.median_filter(restless, size, mode="reflect")
    is_wild = restless > ERRATIC_FACTOR * usual + ERRATIC_SHARE * np.quantile(restless, 0.95)
    columns, highest = np.arange(len(restless)), scipy.ndimage.maximum_filter1d(restless, 2 * OPPOSITE + 1)
    opposite = np.interp(2 * axis - columns, columns, highest, left=0, right=0)
    # At the axis a column is its own other side.
    beside = np.maximum(np.roll(restless, 1), np.roll(restless, -1))
    is_wild &= np.where(np.abs(columns - axis) <= OPPOSITE, beside, opposite) < OPPOSITE_SHARE * restless
    found = is_wild | (restless < FROZEN * usual)
    found[[0, -1]] = False
    return np.asarray(found)


def ignores_sample(own: Floats, before: Floats, after: Floats) -> Mask:
    """Whether columns (column, view) stand still while the good ones on both sides change, or jump from view to view;
    the sample moves smoothly."""
    is_frozen = own.std(axis=1) < FROZEN * np.minimum(before.std(axis=1), after.std(axis=1))
    away = own - (before + after) / 2
    away = away - away.mean(axis=1, keepdims=True)
    together = (away[:, 1:] * away[:, :-1]).sum(axis=1)
    return np.asarray(is_frozen | (together < SMOOTH * (away**2).sum(axis=1)))


def good_neighbours(is_wrong: Mask) -> tuple[Indices, Indices, Indices]:
    """The wrong columns, and the nearest good ones to the left and right of each."""
    wrong, around, _ = good_columns_around(is_wrong)
    return wrong, around[:, CURVE_REACH - 1], around[:, CURVE_REACH]


def good_columns_around(is_wrong: Mask) -> tuple[Indices, Indices, Floats]:
    """The wrong columns, the good ones nearest to each, and the weights with which these say what it should be: on the
    cubic through them by least squares or, where they are few or far apart, on the line between the nearest two.

    >>> is_wrong = np.isin(np.arange(12), [5, 6])
    >>> wrong, around, weights = good_columns_around(is_wrong)
    >>> around.tolist()
    [[2, 3, 4, 7, 8, 9], [2, 3, 4, 7, 8, 9]]
    >>> cubic = np.arange(12.0) ** 3
    >>> (weights * cubic[around]).sum(axis=1).round(6).tolist()
    [125.0, 216.0]
    """
    wrong, good = np.flatnonzero(is_wrong), np.flatnonzero(~is_wrong)
    place = np.searchsorted(good, wrong)
    around = good[np.clip(place[:, None] + np.arange(-CURVE_REACH, CURVE_REACH), 0, len(good) - 1)]
    away = around - wrong[:, None]
    left, right = away[:, CURVE_REACH - 1], away[:, CURVE_REACH]
    line = np.zeros(away.shape)
    line[:, CURVE_REACH] = np.divide(-left, right - left, out=np.zeros(len(wrong)), where=right > left)
    line[:, CURVE_REACH - 1] = 1 - line[:, CURVE_REACH]
    is_curve = (place >= CURVE_REACH) & (place <= len(good) - CURVE_REACH) & (np.ptp(away, axis=1) <= CURVE_COLUMNS)
    curve = np.linalg.pinv(away[:, :, None] ** np.arange(4.0))[:, 0]
    return wrong, around, np.where(is_curve[:, None], curve, line)


def remove_offsets(sinogram: Floats, stripes: Stripes) -> Floats:
    """Every wrong column less the median of how far it is from what the good columns around it say."""
    wrong, around, weights = good_columns_around(stripes.is_wrong)
    away = sinogram[:, wrong] - (sinogram[:, around] * weights).sum(axis=2)
    out = sinogram.copy()
    out[:, wrong] -= np.quantile(away, 0.5, axis=0, method="closest_observation")
    return out
