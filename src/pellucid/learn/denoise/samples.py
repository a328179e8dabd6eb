"""Samples for the denoising network: a patch of some slices from all sets, and from one of them.

Here: PatchSamples.
Not here: what is computed from them (objective).
"""

from dataclasses import dataclass

import numpy as np

from pellucid.box import Box, Shape
from pellucid.formats.protocol import Voxels
from pellucid.infer.windows import reflected
from pellucid.learn.denoise.slice_sets import SliceSets

Sample = tuple[Voxels, ...]


@dataclass(frozen=True)
class PatchSamples:
    """(channel, y, x) of the mean of all sets, and of the set that is the target. rows: first and stop slice that may
    be a target. reach: slices first to stop that may be read. Every slice is used once in an epoch, in random
    order."""

    sets: SliceSets
    rows: tuple[int, int]
    reach: tuple[int, int]
    neighbours: int
    patch: tuple[int, int]
    seed: int

    def draw(self, number: int, random: np.random.Generator) -> Sample:
        first, stop = self.rows
        epoch, place = divmod(number, stop - first)
        row = first + int(np.random.default_rng((self.seed, epoch)).permutation(stop - first)[place])
        height, width = self.sets.shape[1:]
        y, x = (int(random.integers(n - p + 1)) for n, p in zip((height, width), self.patch, strict=True))
        own = int(random.integers(self.sets.count))
        turns, is_flipped, is_reversed = int(random.integers(4)), random.random() < 0.5, random.random() < 0.5
        made = []
        for voxels in self.read(row, y, x, own):
            turned = np.rot90(voxels, turns if self.patch[0] == self.patch[1] else 2 * (turns // 2), (1, 2))
            turned = turned[:, :, ::-1] if is_flipped else turned
            made.append(turned[::-1] if is_reversed else turned)
        return tuple(made)

    def read(self, row: int, y: int, x: int, own: int) -> Sample:
        """The slices around a row, of all sets and of one; reflected where the first and the last slice are."""
        first, stop = self.reach
        places = first + reflected(np.arange(row - self.neighbours, row + self.neighbours + 1) - first, stop - first)
        low, high = int(places.min()), int(places.max()) + 1
        box = Box((low, y, x), (high, y + self.patch[0], x + self.patch[1]))
        mean, target = self.sets.read_mean(box), self.sets.read(own, box)
        return mean[places - low], target[places - low]


def fitted_patch(patch: int, shape: Shape, step: int = 8) -> tuple[int, int]:
    """Edges (y, x) of a patch: as wanted, or as large as a slice, in whole steps of the network.

    >>> fitted_patch(256, (10, 300, 100))
    (256, 96)
    """
    height, width = (max(step, min(patch, n) // step * step) for n in shape[1:])
    return height, width
