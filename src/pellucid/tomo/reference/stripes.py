"""Which stripes of a sinogram are the detector's, and which are the sample's; in plain NumPy.

Here: the profile of what is constant over all views, its concentric part, the columns that are wrong, and the removal
of their offsets: the definition of ring removal "auto".
Not here: anything fast (automatic_rings), algorithms that change every column (rings).

A ring and a thin wall around the axis both draw a line that is the same in all views. The wall is seen on both sides of
the axis, at the same distance from it; a wrong column only on its own side.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # Its parts load when they are used, and a viewer that only names them starts sooner.

from pellucid.tomo.reference.rings import Floats, Mask
from pellucid.tomo.scan import Indices

WRONG_SIGMAS = 4.0
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
WRONG_SHARE_OF_SPREAD = 0.4
"""Of the distance of the quartiles over the views: what moves with the sample spreads, and is not a stripe."""
QUARTILES_TO_MEDIAN_ERROR = 1.253 / 1.349
"""From the distance of the quartiles to the standard deviation of the median of one value."""
ERRATIC_FACTOR, ERRATIC_SHARE = 4.0, 0.25
"""An erratic column is more restless than so many of its neighbours and, besides, this share of the most restless ones
of the sinogram."""


@dataclass(frozen=True, eq=False)
class Stripes:
    """Of one sinogram. profile: what is constant over the views, against neighbouring columns. concentric: the part of
    it that is the sample's. is_wrong: the columns whose remainder stands out."""

    profile: Floats
    concentric: Floats
    is_wrong: Mask

    @classmethod
    def of(cls, profile: Floats, spread: Floats, views: int, axis: float) -> "Stripes":
        """profile, spread: as measured(), of so many views; axis: its column."""
        kept = concentric(profile, axis)
        error = np.maximum(spread, np.median(spread)) * QUARTILES_TO_MEDIAN_ERROR / np.sqrt(views)
        line = scipy.ndimage.maximum_filter1d(np.abs(kept), 2 * NEIGHBOURS + 1)
        limits = (WRONG_SIGMAS * error, WRONG_SHARE_OF_SPREAD * spread, WRONG_SHARE_OF_LINE * line)
        return cls(profile, kept, np.abs(profile - kept) > np.maximum.reduce([*limits, np.full_like(line, 1e-7)]))

    @property
    def are_dense(self) -> bool:
        return bool(self.is_wrong.mean() > DENSE_SHARE)


def measured(sinogram: Floats, size: int) -> tuple[Floats, Floats]:
    """Per column, the median over the views of its difference from the median of so many columns, and the distance of
    the quartiles. Slopes are taken away first: on a slope the middle column is the median, whatever its offset."""
    level = sinogram - scipy.ndimage.uniform_filter1d(sinogram, size, axis=1, mode="reflect")
    differences = level - scipy.ndimage.median_filter(level, (1, size), mode="reflect")
    low, middle, high = np.quantile(differences, [0.25, 0.5, 0.75], axis=0, method="closest_observation")
    return middle, high - low


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


def erratic_columns(restless: Floats, size: int) -> Mask:
    """Columns that do not follow the sample; restless: as rings.restlessness(), size: columns to compare with."""
    usual = scipy.ndimage.median_filter(restless, size, mode="reflect")
    return np.asarray(restless > ERRATIC_FACTOR * usual + ERRATIC_SHARE * np.quantile(restless, 0.95))


def good_neighbours(is_wrong: Mask) -> tuple[Indices, Indices, Indices, Floats]:
    """The wrong columns, the nearest good ones to the left and right of each, and the share of the right one."""
    wrong, good = np.flatnonzero(is_wrong), np.flatnonzero(~is_wrong)
    place = np.searchsorted(good, wrong)
    left, right = good[np.maximum(place - 1, 0)], good[np.minimum(place, len(good) - 1)]
    share = np.divide(wrong - left, right - left, out=np.zeros(len(wrong)), where=right > left)
    return wrong, left, right, share


def remove_offsets(sinogram: Floats, stripes: Stripes) -> Floats:
    """Every wrong column less the median of how far it is from a straight line between its good neighbours."""
    wrong, left, right, share = good_neighbours(stripes.is_wrong)
    plain, out = sinogram - stripes.concentric, sinogram.copy()
    between = (1 - share) * plain[:, left] + share * plain[:, right]
    out[:, wrong] -= np.quantile(plain[:, wrong] - between, 0.5, axis=0, method="closest_observation")
    return out
