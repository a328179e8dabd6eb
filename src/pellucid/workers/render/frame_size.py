"""The size of a rough image.

Here: FrameSizer, which learns from images what the next will cost, and keeps their size.
Not here: what a scene costs that was never drawn, and the arithmetic of budgets (rendering.drawing.refinement).
"""

from collections import OrderedDict, deque
from collections.abc import Hashable
from math import ceil
from statistics import median

from pellucid.rendering.drawing.packing import Size
from pellucid.rendering.drawing.refinement import MAX_KNOWN, SHARE_OF_BUDGET, FrameCost, FrameCostModel
from pellucid.rendering.frame import FrameStatistics

STEPS = 16
"""Rough images are so many sixteenths of the whole: one that changes its size all the time flickers."""
SLACK = 0.5
"""Steps that what can be afforded may lie beyond an image's own before it changes its size."""
MAX_SAMPLES = 32
"""Paths of light for each pixel of a rough image."""
MAX_ROUGH_S = 1.0
"""What an image may take that is kept large although it exceeds its budget: so often a hand that moves sees one."""
REMEMBERED = 3
"""Images whose middle one says what a pixel costs: a machine that is busy now and then is not slow."""


class FrameSizer:
    """One for a Worker. what: a kind of scene.

    A hand that moves keeps others busy too: what the exact image took, at rest, says too little of a rough one, and
    is asked only where there was none yet.
    """

    def __init__(self) -> None:
        self._resting, self._moving = FrameCostModel(), FrameCostModel()
        self._pixels_s: OrderedDict[Hashable, deque[float]] = OrderedDict()
        self._steps: dict[tuple[Hashable, float], int] = {}

    def scale(self, what: Hashable, whole: Size, budget_s: float, otherwise: FrameCost, least: float = 0.0) -> float:
        """What part of the whole, along each edge, a rough image may be. otherwise: as in Pace. least: it is kept, even
        if that takes more than the budget, up to MAX_ROUGH_S."""
        pace = self._moving if what in self._pixels_s else self._resting
        rows, _ = pace.affordable(what, whole, budget_s, otherwise)
        affordable, held = rows * STEPS / whole[0], self._steps.get((what, budget_s), 0)
        if not held - SLACK <= affordable < held + 1 + SLACK:
            held = int(affordable)
        self._steps[what, budget_s] = held = max(held, 1)
        if held < (kept := ceil(least * STEPS)):
            rows, _ = pace.affordable(what, whole, MAX_ROUGH_S, otherwise)
            held = max(held, min(kept, rows * STEPS // whole[0]))
        return held / STEPS

    def samples(self, what: Hashable, size: Size, budget_s: float) -> int:
        """How many paths of light there may be for each pixel of a rough image of this size."""
        times_s = self._pixels_s.get(what)
        if not times_s:
            return 1
        return max(1, min(MAX_SAMPLES, int(SHARE_OF_BUDGET * budget_s / (median(times_s) * size[0] * size[1]))))

    def measured(self, what: Hashable, size: Size, statistics: FrameStatistics, is_rough: bool) -> None:
        """Learn from an image of this size; loading left out, which is not done again."""
        drawn = max(1, round(size[0] * statistics.scale)), max(1, round(size[1] * statistics.scale))
        pixels, times_s = drawn[0] * drawn[1], statistics.times_s
        # Of a cinematic image, a path of each pixel.
        drawing_s = times_s["draw"] / (max(statistics.paths, 1) if is_rough else 1)
        beside_s = times_s["prepare"] + times_s["finish"]
        if is_rough:
            pixel_s = self._remembered(what, drawing_s / pixels)
            self._moving.measured(what, drawn, pixel_s * pixels, beside_s)
        else:
            self._resting.measured(what, drawn, drawing_s, beside_s)

    def _remembered(self, what: Hashable, pixel_s: float) -> float:
        """What a pixel of a rough image costs, after one more of them."""
        times_s = self._pixels_s.pop(what, None) or deque(maxlen=REMEMBERED)
        times_s.append(pixel_s)
        self._pixels_s[what] = times_s
        if len(self._pixels_s) > MAX_KNOWN:  # As Pace, which forgets the same one.
            self._pixels_s.popitem(last=False)
            self._steps.clear()
        return median(times_s)
