"""How large a picture may be while something moves.

Here: Pace, from the last measured time.
Not here: when something moves (session).
"""

from math import sqrt

BUDGET_S = 0.08
SMALLEST = 1 / 8
STEPS = 16

Size = tuple[int, int]
"""Pixels across and down."""


class Pace:
    """Knows how long a pixel took last, and how many of them the budget pays for.

    >>> pace = Pace()
    >>> pace.measured((1600, 900), 0.32)
    >>> pace.affordable((1600, 900))
    (800, 450)
    """

    def __init__(self, budget_s: float = BUDGET_S) -> None:
        self._budget_s = budget_s
        self._pixel_s = 0.0

    def measured(self, size: Size, seconds: float) -> None:
        self._pixel_s = seconds / (size[0] * size[1])

    def affordable(self, size: Size) -> Size:
        """The largest picture of this shape within the budget; in sixteenths of its edge, lest it flicker."""
        width, height = size
        whole_s = self._pixel_s * width * height
        scale = sqrt(self._budget_s / whole_s) if whole_s > self._budget_s else 1.0
        scale = max(int(scale * STEPS) / STEPS, SMALLEST)
        return max(round(width * scale), 1), max(round(height * scale), 1)
