"""How long a reconstruction takes.

Here: RunTimes, which expects the time of a run from its size and from the runs before; TimeLeft of a run.
Not here: carrying a run out (command_run, agent_run).
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan_files.scan_facts import ScanFacts

START_S = 4.0
"""Until a command has started and opened its files."""

UPDATES_PER_S = {"cpu": 2.5e8, "cuda": 2.0e11}
"""Of a voxel by a view, by direct back projection: on one core, and on one GPU."""

BYTES_PER_S = 2.0e8
"""Read and written."""

GRIDDING_UPDATES = 120.0
"""Gridding takes as long for each sample of a sinogram as so many updates."""

MIN_SPEED_SHARE = 0.25
"""From this share on, the time left follows from the speed of the run alone."""


def expected_s(facts: ScanFacts, recipe: Recipe, rows: tuple[int, int] | None, device: str) -> float:
    """Seconds for a run after it has started, on a machine that was not measured."""
    first, stop = rows or (0, facts.rows)
    slices = max(1, (stop - first) // recipe.binning)
    edge = facts.columns * (2 if recipe.is_offset else 1) // recipe.binning
    updates = float(edge) ** 2 * facts.projections
    if recipe.method == "gridding":
        updates = GRIDDING_UPDATES * edge * facts.projections
    updates *= max(1, 2 * recipe.iteration_count)
    is_cuda = device.startswith("cuda")
    speed = UPDATES_PER_S["cuda"] if is_cuda else UPDATES_PER_S["cpu"] * (os.cpu_count() or 1)
    bytes_read = facts.projections * (stop - first) * facts.columns * 2
    return slices * updates / speed + (bytes_read + 4 * slices * edge**2) / BYTES_PER_S


@dataclass
class RunTimes:
    """factors: by which runs of a method took longer than expected, as far as there were any."""

    factors: dict[str, float] = field(default_factory=dict)

    def expected_s(self, facts: ScanFacts, recipe: Recipe, rows: tuple[int, int] | None, device: str) -> float:
        return self.factors.get(recipe.method, 1.0) * expected_s(facts, recipe, rows, device)

    def ended(self, recipe: Recipe, seconds: float, expected: float) -> None:
        """A run took so long in all; so much was expected of it, after its start."""
        known = self.factors.get(recipe.method, 1.0)
        self.factors[recipe.method] = known * max(seconds - START_S, 0.05 * seconds) / max(expected, 1e-3)


class TimeLeft:
    """Of one run: at first as expected, then more and more by its own speed. expected: seconds after its start; None
    where nothing is known of the scan.

    >>> now = [0.0]
    >>> left = TimeLeft(6.0, lambda: now[0])
    >>> left.seconds(None)
    10.0
    >>> now[0] = 5.0
    >>> left.seconds(0.5)
    5.0
    """

    def __init__(self, expected: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.expected, self._clock, self._began = expected, clock, clock()

    @property
    def elapsed(self) -> float:
        return self._clock() - self._began

    def begin(self) -> None:
        """The run has only begun now: it waited before."""
        self._began = self._clock()

    def seconds(self, fraction: float | None) -> float | None:
        """None where it cannot be said."""
        elapsed = self.elapsed
        by_speed = elapsed * (1 - fraction) / fraction if fraction else None
        if self.expected is None:
            return by_speed
        # Late, it is still going to take a while.
        left = max(self.expected + START_S - elapsed, 0.1 * elapsed)
        if by_speed is None or fraction is None:
            return left
        share = min(1.0, fraction / MIN_SPEED_SHARE)
        return share * by_speed + (1 - share) * left
