"""The views of half a turn of a sinogram, in even steps.

Here: HalfTurn, whose views are interpolated where those of the scan are closer together in some parts than in others.
Not here: what is found with it (axis, axis_score); views for the slices themselves, which are weighted instead
(view_weights).
"""

from dataclasses import dataclass

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.tomo.geometry.view_weights import Coverage
from pellucid.tomo.scan import Floats

MAX_UNEVEN_STEPS = 0.5
"""Views no further than that from even steps stay as they are."""


@dataclass(frozen=True, eq=False)
class HalfTurn:
    """views: (view, column) at angles_rad, which are in even steps, without missing wedges."""

    views: Voxels
    angles_rad: Floats

    @classmethod
    def of(cls, sinogram: Voxels, angles_rad: Floats) -> "HalfTurn":
        """The first half turn of a sinogram (view, column) in the order of its angles, without a view that repeats the
        first from behind."""
        turned = np.abs(angles_rad - angles_rad[0])
        is_first = turned < np.pi - np.median(np.diff(turned)) / 2
        count, last = int(is_first.sum()), turned[is_first][-1]
        if np.abs(turned[is_first] - np.linspace(0, last, count)).max() * count <= MAX_UNEVEN_STEPS * last:
            return cls(np.asarray(sinogram[is_first]), angles_rad[is_first])
        even = np.arange(count) * np.pi / count
        even = even[even <= turned[-1]]
        wedges = Coverage.of(turned[is_first]).is_wedge
        even = even[~wedges[np.searchsorted(turned[is_first], even, "right") - 1]]
        sense = np.sign(angles_rad[-1] - angles_rad[0])
        return cls(views_at(sinogram, turned, even), angles_rad[0] + sense * even)


def views_at(sinogram: Voxels, turned_rad: Floats, wanted_rad: Floats) -> Voxels:
    """Views (view, column) at some angles, each between the two that are nearest to it.

    turned_rad: of the views, ascending; wanted_rad: within them.

    >>> views_at(np.array([[0.0], [10.0], [40.0]]), np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.1])).ravel().round(6)
    array([ 5., 13.])
    """
    after = np.clip(np.searchsorted(turned_rad, wanted_rad), 1, len(turned_rad) - 1)
    gaps = turned_rad[after] - turned_rad[after - 1]
    shares = np.divide(wanted_rad - turned_rad[after - 1], gaps, out=np.zeros(len(after)), where=gaps > 0)[:, None]
    return np.asarray((1 - shares) * sinogram[after - 1] + shares * sinogram[after])
