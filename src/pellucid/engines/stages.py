"""The stages of a job that makes a volume: its first task, then one task for each coarser level.

Here: Stage, planning stages with blocks that fit into memory, running one with markers.
Not here: the tasks, the output's name and place (partial_output).
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pellucid.box import Shape, triple
from pellucid.engines.budget import choose_block
from pellucid.engines.earlier_plan import EarlierPlan
from pellucid.engines.engine import Engine
from pellucid.engines.level_task import ReduceTask
from pellucid.engines.markers import Markers, job_key
from pellucid.engines.partial_output import PartialOutput
from pellucid.engines.run import run
from pellucid.engines.task import BlockResult, Task
from pellucid.errors import NotEnoughMemory
from pellucid.formats.protocol import Layout
from pellucid.volume.blocks import Block, split


class VolumeTask(Task, Protocol):
    """A task whose blocks tile one volume.

    preferred_block: the block that suits its input. min_block: the smallest that it can make, in whole output chunks.
    """

    @property
    def shape(self) -> Shape: ...

    @property
    def preferred_block(self) -> Shape: ...

    @property
    def min_block(self) -> Shape: ...

    def cost(self, shape: Shape) -> int:
        """Bytes that a block of this shape takes."""


@dataclass(frozen=True)
class Stage:
    """One task on all its blocks."""

    name: str
    task: VolumeTask
    blocks: list[Block]

    @property
    def key(self) -> str:
        return job_key(self.task, self.blocks)


def plan_stage(name: str, task: VolumeTask, engine: Engine, folder: Path) -> Stage:
    """Blocks that fit into the engine's memory, for all its workers at once where that can be.

    folder: of the unfinished output. An interrupted stage keeps its blocks if they still fit.
    """
    options, earlier = engine.options, EarlierPlan(folder)
    block = _earlier_block(earlier.read(name), task, options.memory_bytes)
    if block is None:
        try:
            block = _block(task, options.memory_bytes // options.workers)
        except NotEnoughMemory:  # One block at a time may still fit.
            block = _block(task, options.memory_bytes)
        earlier.write(name, block)
    return Stage(name, task, split(task.shape, block))


def _earlier_block(found: Any, task: VolumeTask, memory_bytes: int) -> Shape | None:
    if not isinstance(found, list) or len(found) != 3:
        return None
    block = triple(found)
    return block if task.cost(block) <= memory_bytes else None


def _block(task: VolumeTask, budget_bytes: int) -> Shape:
    return choose_block(task.shape, task.min_block, task.preferred_block, task.cost, budget_bytes)


def plan_levels_after(
    first: Stage, partial: PartialOutput, layout: Layout, how: str, grains: Sequence[Shape], engine: Engine
) -> list[Stage]:
    """All stages of a job: the first, and one for each coarser level."""
    stages = [first]
    for level in range(1, len(layout.levels)):
        task = ReduceTask(str(partial.output), layout, level, how, grains[level], after=stages[-1].key)
        stages.append(plan_stage(f"Computing level {level}", task, engine, partial.folder))
    return stages


def run_stage(stage: Stage, engine: Engine, folder: Path, cancel: threading.Event) -> Iterator[BlockResult]:
    """Results as they finish, those of an earlier run first; what is finished is marked in the folder."""
    with closing(Markers(folder / stage.name.lower().replace(" ", "-"), stage.key)) as markers:
        yield from run(stage.task, stage.blocks, engine, name=stage.name, markers=markers, cancel=cancel)
