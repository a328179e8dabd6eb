"""Checking what a network made that restores resolution.

Here: check_consistency.
Not here: training (stages), applying the network (infer).

A finer volume must give the coarse one again when it is degraded. Where it does not, the network has made something up.
"""

from dataclasses import dataclass

import numpy as np

from pellucid import progress
from pellucid.box import Box, triple
from pellucid.infer.statistics import measure_statistics
from pellucid.learn.quality.stored_values import values_of
from pellucid.learn.superres.degradation import Degradation
from pellucid.volume.volume import Volume

TILE = (32, 64, 64)
"""Coarse voxels of a part that is checked."""
MAX_DIFFERENCE = 0.25
"""Standard deviations of the coarse volume: parts that differ more are reported."""


@dataclass(frozen=True)
class Consistency:
    """difference: between the degraded result and the input, over all voxels; worst: of a part, which is at box. Both
    in standard deviations of the input. parts: boxes of the input that differ by more than MAX_DIFFERENCE."""

    difference: float
    worst: float
    box: str
    parts: tuple[str, ...]

    @property
    def sentence(self) -> str:
        text = (
            f"Degraded again, the result differs from the input by {self.difference:.3f} standard deviations "
            f"(at most {self.worst:.3f}, at {self.box} in z, y, x)."
        )
        if self.parts:
            text += f" {len(self.parts)} parts differ by more than {MAX_DIFFERENCE}: structure there may be invented."
        return text


def check_consistency(
    coarse: Volume,
    fine: Volume,
    mode: str = "average",
    *,
    box: Box | None = None,
    value_range: tuple[float, float] | None = None,
) -> Consistency:
    """Part by part, without voxels that are not numbers. box: the part of the coarse volume that was made finer.
    value_range: what the ends of the fine volume's type mean, where those are not values of the coarse one."""
    region = box or coarse.box
    factor = triple(a // b for a, b in zip(fine.shape, region.shape, strict=True))
    degradation = Degradation(factor, mode)
    std = measure_statistics(coarse).std or 1.0
    total, count, found = 0.0, 0, []
    tiles = list(Box.whole(region.shape).tiles(TILE))
    with progress.task("Checking", len(tiles), "parts") as bar:
        for tile in tiles:
            start, stop = (triple(n * f for n, f in zip(ends, factor, strict=True)) for ends in (tile.start, tile.stop))
            again = degradation.apply(values_of(fine.read(Box(start, stop)), value_range))
            square = (again - coarse.read(tile.shift(region.start)).astype(np.float32)) ** 2
            known = square[np.isfinite(square)]  # A NaN of the input spreads as far as the network reaches.
            total, count = total + float(known.sum()), count + known.size
            found.append((float(np.sqrt(known.mean())) / std if known.size else 0.0, str(tile.shift(region.start))))
            bar.advance()
    worst, place = max(found)
    parts = tuple(name for difference, name in found if difference > MAX_DIFFERENCE)
    return Consistency(float(np.sqrt(total / max(1, count))) / std, worst, place, parts)
