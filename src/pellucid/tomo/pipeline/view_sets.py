"""Slices from interleaved sets of the views, for networks that learn to tell noise from the sample.

Here: ViewSetsTask, which writes them; ViewSets, where they lie in the volume.
Not here: what is learnt from them (learn).

The sets are stacked along z in one volume: first the mean of all sets, which are the slices of the whole scan, then set
after set. All of them have been corrected together: their noise differs, and what is left of rings does not.
"""

from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any

import numpy as np

from pellucid.box import Box, Shape
from pellucid.device import Array, primitives
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Layout, Voxels
from pellucid.tomo.pipeline.slab_task import SlabTask
from pellucid.tomo.pipeline.slabs import SlabStatistics, make_slab
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Scan

MIN_VIEWS = 8
"""Of a set."""


@dataclass(frozen=True)
class ViewSets:
    """count: of the sets. slices: of each. stride: from a slice to the same one of the next set."""

    count: int
    slices: int
    stride: int

    @classmethod
    def of(cls, count: int, slices: int, chunk: int) -> "ViewSets":
        """chunk: slices in a chunk of the volume; no two sets share one."""
        return cls(count, slices, -(-slices // chunk) * chunk)

    @property
    def depth(self) -> int:
        """Slices of the volume: those of all sets, and their mean."""
        return (self.count + 1) * self.stride

    def box(self, number: int, edges: tuple[int, int]) -> Box:
        """Where the slices of a set lie; number -1: those of the whole scan."""
        first = (number + 1) * self.stride
        return Box((first, 0, 0), (first + self.slices, *edges))


def check_sets(count: int, views: int, recipe: Recipe) -> None:
    """Refuse sets whose noise would not average out."""
    if count < 2 or views // count < MIN_VIEWS:
        raise InvalidInput(
            f"{views} views cannot be split into {count} sets.",
            remedy=f"Use at least 2 sets of at least {MIN_VIEWS} views.",
        )
    if recipe.is_nonnegative and recipe.method == "sirt":
        raise InvalidInput(
            "Non-negative values make the noise of a set depend on the sample.", remedy="Leave --nonnegative out."
        )


@dataclass(frozen=True)
class ViewSetsTask(SlabTask):
    """Make slices of every set of views. sets: how they lie in the target."""

    sets: ViewSets = ViewSets(2, 0, 0)

    @property
    def shape(self) -> Shape:
        """Blocks are slices of the scan; each of them is written once for every set."""
        return (self.sets.slices, *self.layout.levels[0].shape[1:])

    def cost(self, shape: Shape) -> int:
        """Besides what a slab takes: the slices of all sets and their mean, and the sinograms of a set."""
        sets, views = self.sets.count, self.views // self.sets.count
        return super().cost(shape) + 4 * (sets + 1) * prod(shape) + 4 * shape[0] * views * self.columns

    def make(self, box: Box, scan: Scan, writer: Any, used: list[Voxels]) -> dict[str, Any]:
        account, plan = SlabStatistics(), self.plan(self.sets.count)
        raw, rows = self.read(box, scan, account)
        made = np.empty((self.sets.count, *box.shape), np.float32)

        def put(start: int, slices: Array) -> None:
            stacked = primitives(plan.device).to_host(slices[(slice(None), *self.region.in_slice)])
            each = stacked.reshape(self.sets.count, -1, *box.shape[1:])
            made[:, start : start + each.shape[1]] = each

        make_slab(raw, scan, rows, plan, account, put)
        with account.timing("write"):
            writer.write(box, made.mean(axis=0))
            for number in range(self.sets.count):
                writer.write(box.shift(((number + 1) * self.sets.stride, 0, 0)), made[number])
        return asdict(account)


def stacked_layout(layout: Layout, count: int) -> Layout:
    """A layout of all sets, from that of the scan's slices."""
    if len(layout.levels) > 1:
        raise InvalidInput("Sets of views have one level.", remedy="Leave --levels out.")
    (level,) = layout.levels
    sets = ViewSets.of(count, level.shape[0], level.chunk[0])
    return replace(layout, levels=(replace(level, shape=(sets.depth, *level.shape[1:])),))


def with_sets(task: SlabTask, count: int, slices: int) -> ViewSetsTask:
    """The same for so many sets. task: made with the stacked layout."""
    return ViewSetsTask(**vars(task), sets=ViewSets.of(count, slices, task.layout.levels[0].chunk[0]))
