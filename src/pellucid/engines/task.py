"""The Task protocol: what an engine runs on many Blocks.

Here: Task, what it needs, what a worker offers it (TaskContext), and what comes back.
Not here: how and where it runs (engine and its implementations), particular tasks (conversion, tomo, ...).
"""

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from pellucid.box import Shape
from pellucid.jobs.resources import Resources
from pellucid.volume.blocks import Block

Work = Callable[[Block], Any]


@dataclass(frozen=True)
class BlockResult:
    """A finished block, and the small result that its work returned (anything JSON can hold)."""

    index: int
    result: Any = None


@dataclass(frozen=True)
class TaskContext:
    """What an engine's worker offers to a task. device: the one that its blocks compute on, such as "cpu" or "cuda:1".
    threads: that all its blocks have together. memory_bytes: likewise."""

    device: str
    threads: int
    memory_bytes: int


@runtime_checkable
class Task(Protocol):
    """One thing to do on every block. Implementations are frozen, picklable dataclasses.

    Inputs and outputs are named by URI: a worker opens them itself, and no array passes through the driver.
    """

    @property
    def inputs(self) -> tuple[str, ...]: ...

    @property
    def output_chunk(self) -> Shape:
        """The output's chunk or shard: blocks that would share one are refused."""

    def needs(self, block: Block) -> Resources:
        """What this block takes; asked before anything runs."""

    def open(self, context: TaskContext) -> AbstractContextManager[Work]:
        """Open inputs and outputs, once per worker; the work may be called from several threads."""


def parameters(task: Task) -> dict[str, Any]:
    """Everything that makes this task differ from another, as plain values."""
    fields = dataclasses.fields(task)  # type: ignore[arg-type]
    values = {field.name: repr(getattr(task, field.name)) for field in fields}
    return {"task": f"{type(task).__module__}.{type(task).__qualname__}", **values}
