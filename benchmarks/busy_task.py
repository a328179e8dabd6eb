"""A task that keeps a core busy, for measuring engines. In a module of its own: workers import it by name.

Here: BusyTask, and the work of one block as a function.
Not here: what is measured with it (engines).
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pellucid.box import Shape
from pellucid.engines.task import TaskContext, Work
from pellucid.jobs.resources import Resources
from pellucid.volume.blocks import Block


def keep_busy(seconds: float) -> int:
    """Until so much processor time has passed; how many rounds that took."""
    end, rounds = time.thread_time() + seconds, 0
    while time.thread_time() < end:
        rounds += sum(range(1000)) > 0
    return rounds


@dataclass(frozen=True)
class BusyTask:
    """seconds: of processor time for each block. folder: where each worker leaves its process ID."""

    seconds: float
    folder: str

    @property
    def inputs(self) -> tuple[str, ...]:
        return ()

    @property
    def output_chunk(self) -> Shape:
        return (1, 1, 1)

    def needs(self, block: Block) -> Resources:
        return Resources(2**20, cores=1)

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        Path(self.folder, str(os.getppid())).touch()
        yield lambda block: keep_busy(self.seconds)
