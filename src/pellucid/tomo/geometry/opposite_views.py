"""Which views of a scan are opposite each other.

Here: OppositeViews, found by angle: a view, and the two between which the one from behind lies.
Not here: joining them (offset).
"""

from dataclasses import dataclass

import numpy as np

from pellucid.tomo.scan import Floats, Indices

ROUNDING = 1e-6
"""Of a step between views."""


@dataclass(frozen=True, eq=False)
class OppositeViews:
    """front: of every pair, the view from the front. before, after: the views between which the opposite one lies,
    which are the same where one is exactly opposite. shares: how far it is on the way between them.

    >>> pairs = OppositeViews.of(np.radians([0, 90, 180, 271]))
    >>> pairs.front.tolist(), pairs.before.tolist(), pairs.after.tolist(), pairs.shares.round(2).tolist()
    ([0, 1], [2, 2], [2, 3], [0.0, 0.99])
    """

    front: Indices
    before: Indices
    after: Indices
    shares: Floats

    @classmethod
    def of(cls, angles_rad: Floats) -> "OppositeViews":
        """Every view of a full turn, or of several, is in one pair: those of the first half of every turn are in front.

        The last half step of a turn is closed by its first view.
        """
        order = np.argsort(angles_rad, kind="stable")
        angles = angles_rad[order] - angles_rad[order[0]]
        step = float(np.median(np.diff(angles)))
        if 0 < 2 * np.pi - angles[-1] < 1.5 * step:
            order, angles = np.append(order, order[0]), np.append(angles, 2 * np.pi)
        slack = ROUNDING * max(step, 1e-9)
        is_front = (np.floor((angles + slack) / np.pi) % 2 == 0) & (angles + np.pi <= angles[-1] + slack)
        behind = angles[is_front] + np.pi
        after = np.clip(np.searchsorted(angles, behind - slack), 0, len(angles) - 1)
        is_exact = np.abs(angles[after] - behind) <= slack
        before = np.where(is_exact, after, np.maximum(after - 1, 0))
        gaps = angles[after] - angles[before]
        shares = np.divide(behind - angles[before], gaps, out=np.zeros(len(behind)), where=gaps > 0)
        return cls(order[is_front], order[before], order[after], np.clip(shares, 0, 1))

    @property
    def count(self) -> int:
        return len(self.front)

    def views_of(self, first: int, stop: int) -> Indices:
        """The views that take part in pairs first to stop, each once, in order."""
        return np.unique(np.concatenate([one[first:stop] for one in (self.front, self.before, self.after)]))

    def some(self, first: int, stop: int) -> "OppositeViews":
        """Pairs first to stop, counted among the views that take part in them."""
        views, pairs = self.views_of(first, stop), slice(first, stop)
        front, before, after = (np.searchsorted(views, one[pairs]) for one in (self.front, self.before, self.after))
        return OppositeViews(front, before, after, self.shares[pairs])
