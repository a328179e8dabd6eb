"""The definition of which columns draw rings in a slice, in plain NumPy.

Here: the slice along lines through the axis, what is the same along circles, its strength as offsets of columns, the
columns whose rings are certain, and those that the sinogram shows and the slice does not.
Not here: the same in the sinogram (stripes), anything fast (automatic_rings).

In a sinogram every ray passes all of the sample, in a slice a circle only passes what is on it. Where a line through
the axis is made of the views that see it from the side, a column of the detector draws on the same place of every line,
on its own side of the axis. A wall that is a little off the axis is at another place in every line.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy  # Its parts load when they are used, and a viewer that only names them starts sooner.

from pellucid.tomo.geometry.view_weights import view_weights
from pellucid.tomo.reference.rings import Floats, Mask
from pellucid.tomo.reference.stripes import (
    NEIGHBOURS,
    PARTS,
    WIDEST,
    WRONG_SHARE_OF_LINE,
    WRONG_SHARE_OF_RANGE,
    WRONG_TIMES_BEND,
    Stripes,
    against_neighbours,
    bends,
    concentric,
    smoothing_rings,
    spike_heights,
    whole_rings,
    without_slopes,
)
from pellucid.tomo.scan import Indices

LINES = 128
"""Through the axis at most: more cost more and find no more."""
LARGEST_GAP_RAD = np.pi / 8
"""Between the views of a full turn; a line is then made of the half turn that sees it from its own side."""
LEVEL_COLUMNS = 15
"""What a line has more than the median over so many columns may be a ring. Medians of the steps between columns, as of
the sinogram, follow the sample: their error is twice as large here."""
HOLE = 2.0
"""Columns next to the axis whose circles are too small."""
CERTAIN_HOLE, DOUBT_HOLE = 3.0, 5.0
"""Nearer to the axis, no ring is found in the slice, and none of the sinogram is doubted."""
BORDER = 3
"""Columns next to those whose other side is not seen."""
REACH = 64
"""Columns outside of a column whose rings count for its offset."""
CERTAIN_SIGMAS, SAME_RING_SIGMAS = 5.0, 2.5
"""By how many standard deviations a ring is off, and a column beside it that is a part of it."""
CERTAIN_SHARE, OWN_SHARE = 0.3, 0.5
"""Of a certain ring, what the sinogram has to show; of what stands out from both sides, what differs from the rest."""
CONCENTRIC_SHARE = 0.5
"""Of what the sinogram shows of it: what is concentric nearby is at most as much."""
BEND_SHARE = 0.5
"""Of WRONG_TIMES_BEND: edges of the sample hardly bend what is the same along circles."""
UNEVEN_TIMES, UNEVEN_SHARE = 1.5, 0.15
"""A ring differs from sector to sector by at most so many times what the columns near it do, and this share of it."""
UNEVEN_COLUMNS = 31
LIKELY_SIGMAS, LIKELY_UNEVEN_TIMES, LIKELY_UNEVEN_SHARE = 2.5, 2.0, 0.2
"""The same of rings that are too faint to be certain, where the sinogram shows them too."""
NOISE_SHARE = 0.5
"""Of the noise of the sinogram, that a ring exceeds there which is clear in the slice."""
SAME_IN_BOTH = 0.4
"""Of the height of a ring, both in the sinogram and in the slice: columns beside it that are as high belong to it."""
LIKE = 0.4, 2.0
"""Between so many times what the sinogram shows is the same ring."""
MIRRORED_COLUMNS = 16
"""At most between a line mirrored at the axis and the other side of the same wall, which is twice what the middle of
the wall is off the axis. Walls farther off move on before they look like a ring."""
MIRRORED_SHARE = 0.4
"""Of the height of a line, that of the other side of the same wall. Of 545 rings in foams, one in a hundred moves
like a wall and has such a line on the other side, by chance."""
FAINT = 0.4
"""Of what the sinogram shows: less in the slice is no ring."""
CLEAR_TIMES, CLEARLY_UNEVEN_TIMES, NEVER_UNEVEN_TIMES, CLEARLY_UNEVEN_SHARE = 15.0, 4.0, 8.0, 0.2
"""Of the unevenness nearby: what stands out by more is seen so well that if it is more uneven than this, and than this
share of itself, it is a wall near the axis. What stands out by less is one if it is even more uneven."""
ERROR_OF_SPREAD = 1.253 * 1.483
"""From the median distance of values to the standard deviation of their median, but for the root of their number."""


@dataclass(frozen=True, eq=False)
class AxisLines:
    """Lines through the axis, in the order of their angles.

    cosines, weights: of (line, view), by how much the places on a line are nearer to the axis in a view, and how much
    that view counts.
    """

    cosines: Floats
    weights: Floats

    @classmethod
    def of(cls, angles_rad: Floats) -> "AxisLines":
        angles = np.asarray(angles_rad, np.float64)
        order = np.argsort(angles, kind="stable")
        places = np.linspace(0, len(angles) - 1, min(LINES, len(angles))).round().astype(np.int64)
        cosines = np.cos(angles[order[places], None] - angles)
        folded = np.sort(np.mod(angles, 2 * np.pi))
        is_full = bool(np.diff(folded, append=folded[0] + 2 * np.pi).max() < LARGEST_GAP_RAD)
        weights = np.broadcast_to(view_weights(angles), cosines.shape)
        if is_full:
            own = weights * (cosines >= 0)
            weights = own * weights.sum(axis=1, keepdims=True) / own.sum(axis=1, keepdims=True)
        return cls(cosines, weights)

    @staticmethod
    def known(columns: int, axis: float, hole: float = HOLE) -> Mask:
        """The columns whose rings are seen, and the other side of the axis too: without it, a wall may be a ring."""
        away = np.abs(np.arange(columns) - axis)
        return np.asarray((away > hole) & (away < min(axis, columns - 1 - axis) - BORDER))


def along_lines(filtered: Floats, lines: AxisLines, axis: float) -> Floats:
    """The slice along lines, (line, column), from a filtered sinogram; a column is as far from the axis as on it."""
    columns = np.arange(filtered.shape[1])
    found = np.zeros((len(lines.cosines), len(columns)))
    for line, (cosines, weights) in enumerate(zip(lines.cosines, lines.weights, strict=True)):
        for view in np.flatnonzero(weights):
            place = axis + (columns - axis) * cosines[view]
            found[line] += weights[view] * np.interp(place, columns, filtered[view], left=0, right=0)
    return found


def along_circles(values: Floats) -> Floats:
    """What values (line, column) have more than their neighbours: the median of all lines, then of every part."""
    level = values - scipy.ndimage.median_filter(values, (1, LEVEL_COLUMNS), mode="reflect")
    parts = [level, *np.array_split(level, min(PARTS, len(level)))]
    return np.stack([np.quantile(part, 0.5, axis=0, method="closest_observation") for part in parts])


def offsets_of_rings(profiles: Floats, axis: float) -> Floats:
    """The offsets of columns that draw rings of these profiles (profile, column): their line integrals, on each side of
    the axis by itself.

    >>> disc = np.where(np.abs(np.arange(101) - 50) < 20, 1.0, 0.0)[None]
    >>> expected = 2 * np.sqrt(19.5**2 - 12**2)
    >>> bool(np.abs(offsets_of_rings(disc, 50.0)[0, [50 + 12, 50 - 12]] - expected).max() < 0.05)
    True
    """
    columns = profiles.shape[1]
    offsets = np.zeros(profiles.shape)
    start = min(max(int(np.ceil(axis)), 0), columns)
    offsets[:, start:] = _line_integrals(profiles[:, start:], start - axis)
    offsets[:, :start] = _line_integrals(profiles[:, :start][:, ::-1], axis - start + 1)[:, ::-1]
    return offsets


def _line_integrals(profiles: Floats, first: float) -> Floats:
    """Of rings that are straight from one radius to the next, the first of which is given."""
    nearest = np.maximum(first + np.arange(profiles.shape[1]), 1e-3)
    values = np.pad(profiles, ((0, 0), (0, REACH)))
    found = np.zeros(profiles.shape)
    for step in range(REACH):
        inner, outer = nearest + step, nearest + step + 1
        low, high = (np.sqrt(radius**2 - nearest**2) for radius in (inner, outer))
        plain = high - low
        moment = (outer * high - inner * low + nearest**2 * np.log((outer + high) / (inner + low))) / 2
        here, there = (values[:, shift : shift + len(nearest)] for shift in (step, step + 1))
        found += 2 * ((outer * plain - moment) * here + (moment - inner * plain) * there)
    return found


@dataclass(frozen=True, eq=False)
class SliceRings:
    """Of one slice.

    profile: the offsets of columns that its rings stand for, against neighbouring columns. heights: how far they stand
    out from both sides. is_likely, is_wrong: the columns where they may be rings, and certainly are. is_uneven: where
    they are clear, and differ from sector to sector as no ring does. is_known: the columns whose rings are seen well
    enough to be missed. is_clear: where rings stand out by far more than noise. axis: its column.
    """

    profile: Floats
    heights: Floats
    is_likely: Mask
    is_wrong: Mask
    is_uneven: Mask
    is_known: Mask
    is_clear: Mask
    axis: float

    @classmethod
    def of(cls, circles: Floats, lines: AxisLines, size: int, axis: float) -> "SliceRings":
        """circles: as along_circles(); size: columns to compare with; axis: its column."""
        columns = circles.shape[1]
        shape, *parts = offsets_of_rings(np.where(lines.known(columns, axis), circles, 0.0), axis)
        against = np.array([against_neighbours(part, size) for part in parts])
        found = _Spikes.of(shape, against, size, axis)
        is_seen = lines.known(columns, axis, CERTAIN_HOLE)
        heights = spike_heights(without_slopes(shape), np.zeros(columns), WIDEST)
        times = np.where(heights > CLEAR_TIMES * found.usual, CLEARLY_UNEVEN_TIMES, NEVER_UNEVEN_TIMES)
        is_uneven = found.uneven > np.maximum(times * found.usual, CLEARLY_UNEVEN_SHARE * heights)
        is_known = lines.known(columns, axis, DOUBT_HOLE)
        return cls(
            found.profile,
            heights,
            found.likely() & is_seen,
            found.certain() & is_seen,
            is_uneven,
            is_known,
            found.clear(),
            axis,
        )

    @property
    def signed(self) -> Floats:
        """The heights, negative where columns stand out downwards."""
        return np.copysign(self.heights, self.profile)

    def corrected(self, stripes: Stripes) -> Stripes:
        """Stripes without the rings that the slice does not have, and with those that it certainly has."""
        if stripes.are_dense:
            return stripes
        is_wrong = stripes.is_wrong.copy()
        groups, count = scipy.ndimage.label(is_wrong)
        for (group,) in scipy.ndimage.find_objects(groups, count):
            is_one_ring = group.stop - group.start <= WIDEST
            if is_one_ring and self.is_known[group].all() and not self._has(stripes, group):
                is_wrong[group] = False
        certain = self._certain(stripes)
        found = self._whole(is_wrong | certain | self._shared(stripes) | self._agreed(stripes), stripes)
        found = stripes.without_parts_near(self.axis, found) | (certain & self.is_known)
        return replace(stripes, is_wrong=self._without_walls(found, stripes))

    def _without_walls(self, found: Mask, stripes: Stripes) -> Mask:
        """found, less the walls around another point than the axis."""
        kept = found.copy()
        groups, count = scipy.ndimage.label(found)
        for (group,) in scipy.ndimage.find_objects(groups, count):
            kept[group] = not self._has_other_side(group, stripes)
        return kept

    def _has_other_side(self, group: slice, stripes: Stripes) -> bool:
        """Whether these columns move and are as high on the other side of the axis, some columns nearer or farther.

        In half a turn both sides of a wall stay on almost the same columns for a while. Farther columns on the other
        side have to move too: otherwise they may be another ring.
        """
        if not stripes.is_moving(group):
            return False
        mirrored = 2 * self.axis - (group.start + group.stop - 1) / 2
        others = [_as_high_near(signed, group, mirrored) for signed in (stripes.signed, self.signed)]
        return any(
            abs(other - mirrored) <= NEIGHBOURS or stripes.is_moving(slice(other, other + 1))
            for other in np.unique(np.concatenate(others)).tolist()
        )

    def _certain(self, stripes: Stripes) -> Mask:
        """The rings that are certain, where the sinogram shows some of them and not much that is concentric nearby."""
        line = scipy.ndimage.maximum_filter1d(np.abs(stripes.concentric), 2 * NEIGHBOURS + 1)
        found = self.is_wrong.copy()
        groups, count = scipy.ndimage.label(found)
        for (group,) in scipy.ndimage.find_objects(groups, count):
            size, shown = self.profile[group].sum(), stripes.profile[group]
            is_shown = CERTAIN_SHARE * abs(size) <= np.sign(size) * shown.sum()
            is_shown &= CERTAIN_SHARE * self.heights[group].max() <= stripes.heights[group].max()
            found[group] = is_shown and line[group].max() <= CONCENTRIC_SHARE * np.abs(shown).max()
        return found

    def _shared(self, stripes: Stripes) -> Mask:
        """The columns that are likely wrong by both, and about as much."""
        low, high = (factor * np.abs(stripes.profile) for factor in LIKE)
        size = self.profile * np.sign(stripes.profile)
        is_alike = self.is_known & (stripes.heights > stripes.noise) & (size > low) & (size < high)
        found = self.is_likely & is_alike
        found[:WIDEST] = found[-WIDEST:] = False
        whole = whole_rings(found, np.where(is_alike, stripes.heights, 0.0))
        return smoothing_rings(stripes.shape - stripes.concentric, whole)

    def _agreed(self, stripes: Stripes) -> Mask:
        """The columns that are clearly wrong in the slice and about as much in the sinogram, all the time and on one
        side of the axis: however sharply the sample bends there."""
        low, high = (factor * stripes.heights for factor in LIKE)
        is_alike = self.is_known & (self.heights > low) & (self.heights < high) & (self.profile * stripes.profile > 0)
        found = self.is_clear & ~self.is_uneven & is_alike & (stripes.heights > NOISE_SHARE * stripes.noise)
        found[:WIDEST] = found[-WIDEST:] = False
        groups, count = scipy.ndimage.label(found)
        for (group,) in scipy.ndimage.find_objects(groups, count):
            found[group] = group.stop - group.start <= WIDEST and stripes.is_no_part(group, self.axis)
        return found

    def _whole(self, found: Mask, stripes: Stripes) -> Mask:
        """found, and the columns beside and between them where both the sinogram and the slice show the same ring: one
        that is taken for a good neighbour keeps most of the ring."""
        grown = found | (self.is_known & _as_high(self.signed, found) & _as_high(stripes.signed, found))
        groups, count = scipy.ndimage.label(grown)
        for (group,) in scipy.ndimage.find_objects(groups, count):
            if group.stop - group.start > WIDEST or not found[group].any():
                grown[group] = found[group]
        return grown

    def _has(self, stripes: Stripes, group: slice) -> bool:
        """Whether the slice has the ring of these columns too."""
        if self.is_uneven[group].any() and not stripes.is_no_part(group, self.axis):
            return False
        is_same_sign = self.profile[group].mean() * stripes.profile[group].mean() >= 0
        return bool(is_same_sign and self.heights[group].max() >= FAINT * stripes.heights[group].max())


def _as_high_near(signed: Floats, group: slice, column: float) -> Indices:
    """The columns near another one that stand out about as far as a group, and to the same side.

    >>> signed = np.array([0.0, 0.5, 0, -1, 0, 0, 0, 0, 0, 0, 1, 0, 0])
    >>> _as_high_near(signed, slice(10, 11), 3.0).tolist()
    [1]
    """
    own = signed[group][np.abs(signed[group]).argmax()]
    columns, heights = np.arange(len(signed)), signed * np.sign(own)
    is_near = (np.abs(columns - column) <= MIRRORED_COLUMNS) & (columns > 0) & (columns < len(signed) - 1)
    is_near[group] = False
    is_as_high = np.minimum(heights, abs(own)) >= MIRRORED_SHARE * np.maximum(heights, abs(own))
    return np.flatnonzero(is_near & is_as_high & (heights > 0))


def _as_high(signed: Floats, found: Mask) -> Mask:
    """The columns that stand out about as far, and to the same side, as all that were found so near that they may be of
    one ring."""
    highest = scipy.ndimage.maximum_filter1d(np.where(found, signed, -np.inf), 2 * WIDEST - 1)
    lowest = scipy.ndimage.minimum_filter1d(np.where(found, signed, np.inf), 2 * WIDEST - 1)
    above, below = (highest > 0) & (signed > SAME_IN_BOTH * highest), (lowest < 0) & (signed < SAME_IN_BOTH * lowest)
    return np.asarray(np.where(signed > 0, above, below))


@dataclass(frozen=True, eq=False)
class _Spikes:
    """What stands out of a shape from both sides. shape, profile: as of Stripes. kept: what is concentric. error: of
    the shape. uneven, usual: how much it differs from sector to sector, and does nearby."""

    shape: Floats
    profile: Floats
    kept: Floats
    error: Floats
    uneven: Floats
    usual: Floats

    @classmethod
    def of(cls, shape: Floats, against: Floats, size: int, axis: float) -> "_Spikes":
        """against: the shapes of the sectors, against neighbouring columns."""
        profile = against_neighbours(shape, size)
        spread = np.median(np.abs(against - np.median(against, axis=0)), axis=0)
        error = np.maximum(spread, np.median(spread)) * ERROR_OF_SPREAD / np.sqrt(len(against))
        uneven = np.quantile(np.abs(against - profile), 0.75, axis=0)
        usual = scipy.ndimage.median_filter(uneven, UNEVEN_COLUMNS, mode="reflect")
        return cls(shape, profile, concentric(profile, axis), error, uneven, usual)

    @cached_property
    def heights(self) -> dict[int, Floats]:
        level = without_slopes(self.shape)
        return {widest: spike_heights(level, self.kept, widest) for widest in WRONG_TIMES_BEND}

    def certain(self) -> Mask:
        """The columns of rings, whatever the sinogram shows."""
        heights = self.heights[WIDEST]
        found = self._standing_out(CERTAIN_SIGMAS) & self._even(UNEVEN_TIMES, UNEVEN_SHARE)
        found[:WIDEST] = found[-WIDEST:] = False
        whole = whole_rings(found, np.where(heights > SAME_RING_SIGMAS * self.error, heights, 0.0))
        # Between two rings close to each other, columns stand out from both without differing from the rest.
        return smoothing_rings(self.shape - self.kept, whole) & (np.abs(self.profile) > OWN_SHARE * heights)

    def clear(self) -> Mask:
        """The columns that stand out by far more than noise."""
        heights = self.heights[WIDEST]
        return np.asarray(
            (heights > CERTAIN_SIGMAS * self.error) & self._even(LIKELY_UNEVEN_TIMES, LIKELY_UNEVEN_SHARE)
        )

    def likely(self) -> Mask:
        """The columns that only noise keeps from being certain."""
        is_faint = self.heights[WIDEST] < CERTAIN_SIGMAS * self.error
        return self._standing_out(LIKELY_SIGMAS) & is_faint & self._even(LIKELY_UNEVEN_TIMES, LIKELY_UNEVEN_SHARE)

    def _even(self, times: float, share: float) -> Mask:
        return np.asarray(self.uneven <= times * self.usual + share * self.heights[WIDEST])

    def _standing_out(self, sigmas: float) -> Mask:
        line = WRONG_SHARE_OF_LINE * scipy.ndimage.maximum_filter1d(np.abs(self.kept), 2 * NEIGHBOURS + 1)
        least = np.full_like(line, WRONG_SHARE_OF_RANGE * np.ptp(self.shape) + 1e-7)
        bent = BEND_SHARE * bends(without_slopes(self.shape))
        lowest = np.maximum.reduce((sigmas * self.error, line, least))
        factors = WRONG_TIMES_BEND.items()
        found = [self.heights[widest] > np.maximum(lowest, by * bent) for widest, by in factors]
        return np.asarray(np.logical_or.reduce(found))
