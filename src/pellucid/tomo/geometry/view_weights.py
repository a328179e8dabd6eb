"""What share of a half turn each view stands for, whatever the order, noise, repeats and number of turns.

Here: Coverage, which knows the steps between views and the missing wedges; view_weights.
Not here: what the weights are used for (projection).

A view from behind is the same view mirrored, so that angles count modulo a half turn. Folded like that, the views of a
full turn may fall just beside each other: typical gaps are therefore judged by how much angle they cover together, not
by how many they are, and views that are almost at one angle count as repeats of it.
"""

from dataclasses import dataclass

import numpy as np

from pellucid.tomo.scan import Floats, Indices

WEDGE_STEPS = 4.0
"""A gap of more than so many steps is a missing wedge."""
MAX_WEDGES = 8
MIN_SHARE_BESIDE_WEDGES = 0.2
"""Of a half turn: several gaps are only wedges where at least so much is covered; otherwise they are the steps."""
SAME_ANGLE_STEPS = 0.1
"""Views within so many steps of each other are repeats, which share the weight of one."""
ROUNDING_RAD = 1e-9


@dataclass(frozen=True, eq=False)
class Coverage:
    """How a set of views covers a half turn.

    order: of the views by folded angle. gaps_rad: from each to the next in that order, around the half turn. step_rad:
    the typical gap. is_wedge: the gaps that nothing covers.
    """

    order: Indices
    gaps_rad: Floats
    step_rad: float
    is_wedge: np.ndarray[tuple[int], np.dtype[np.bool_]]

    @classmethod
    def of(cls, angles_rad: Floats) -> "Coverage":
        folded = np.mod(angles_rad, np.pi)
        order = np.argsort(folded, kind="stable")
        gaps = np.diff(folded[order], append=folded[order[0]] + np.pi)
        is_wedge = _wedges(gaps)
        return cls(order, gaps, _covering_gap(gaps[~is_wedge], 0.5), is_wedge)

    @property
    def distinct_count(self) -> int:
        """At how many different angles the views are."""
        return _groups(self)[1]

    @property
    def filled_rad(self) -> Floats:
        """The gaps as far as views cover them: half a step from each side of a wedge."""
        return np.where(self.is_wedge, np.minimum(self.step_rad, self.gaps_rad), self.gaps_rad)

    @property
    def covered_rad(self) -> float:
        """Modulo a half turn, π at most."""
        return float(np.pi - self.missing_rad.sum())

    @property
    def missing_rad(self) -> Floats:
        """Of every missing wedge."""
        return np.maximum(0.0, self.gaps_rad - self.step_rad)[self.is_wedge]


def view_weights(angles_rad: Floats) -> Floats:
    """The angle that every view stands for: half the way to its neighbours; repeats share theirs equally.

    Together they are the angle covered, at most a half turn.

    >>> (view_weights(np.radians([0.0, 45.0, 90.0, 135.0])) / np.pi).tolist()
    [0.25, 0.25, 0.25, 0.25]
    >>> np.degrees(view_weights(np.radians([0.0, 0.0, 60.0, 120.0, 300.0]))).round(6).tolist()
    [30.0, 30.0, 60.0, 30.0, 30.0]
    """
    coverage = Coverage.of(np.asarray(angles_rad, np.float64))
    filled = coverage.filled_rad
    group, count = _groups(coverage)
    each = np.bincount(group, (filled + np.roll(filled, 1)) / 2, count) / np.bincount(group, minlength=count)
    weights = np.empty(len(group))
    weights[coverage.order] = each[group]
    return weights


def _groups(coverage: Coverage) -> tuple[Indices, int]:
    """The number of the angle that each view of the order is at, and how many angles there are."""
    is_new = np.roll(coverage.gaps_rad > SAME_ANGLE_STEPS * coverage.step_rad, 1)
    if not is_new.any():
        return np.zeros(len(is_new), np.int64), 1
    # Views before the first new angle belong to the last one, around the half turn.
    return (np.cumsum(is_new) - 1) % is_new.sum(), int(is_new.sum())


def _wedges(gaps_rad: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which gaps are wedges: the largest ones, where they are far larger than what most of the rest consists of."""
    by_size = np.argsort(gaps_rad)[::-1]
    is_wedge = np.zeros(len(gaps_rad), bool)
    for count in range(min(MAX_WEDGES, len(gaps_rad) - 1), 0, -1):
        wedges, rest = gaps_rad[by_size[:count]], gaps_rad[by_size[count:]]
        is_plausible = count == 1 or rest.sum() >= MIN_SHARE_BESIDE_WEDGES * np.pi
        if is_plausible and wedges[-1] > WEDGE_STEPS * _covering_gap(rest, 0.9) > ROUNDING_RAD:
            is_wedge[by_size[:count]] = True
            break
    return is_wedge


def _covering_gap(gaps_rad: Floats, share: float) -> float:
    """The gap up to whose size all gaps together cover this share of what they cover in all."""
    ascending = np.sort(gaps_rad)
    covered = np.cumsum(ascending)
    return float(ascending[min(np.searchsorted(covered, share * covered[-1]), len(ascending) - 1)])
