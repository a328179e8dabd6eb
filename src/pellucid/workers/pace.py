"""How large a picture may be while something moves.

Here: Pace, from the last measured time.
Not here: when something moves (instance).
"""

from math import sqrt

SMALLEST = 1 / 8
STEPS = 16

Size = tuple[int, int]
"""Pixels across and down."""


class Pace:
    """Knows how long a pixel took last, and how many of them a budget pays for.

    >>> pace = Pace()
    >>> pace.measured((1600, 900), 0.32)
    >>> pace.affordable((1600, 900), 0.08)
    (800, 450)
    """

    def __init__(self) -> None:
        self._pixel_s = 0.0

    def measured(self, size: Size, seconds: float) -> None:
        self._pixel_s = seconds / (size[0] * size[1])

    def affordable(self, size: Size, budget_s: float) -> Size:
        """The largest picture of this shape within the budget; in sixteenths of its edge, lest it flicker."""
        width, height = size
        whole_s = self._pixel_s * width * height
        scale = sqrt(budget_s / whole_s) if whole_s > budget_s else 1.0
        scale = max(int(scale * STEPS) / STEPS, SMALLEST)
        return max(round(width * scale), 1), max(round(height * scale), 1)
