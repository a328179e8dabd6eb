"""Engines that end in the middle of a job, for the tests of resuming.

Here: StopsAfter, and the small pieces it stops between; run as a program it converts a file and kills its own process.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pellucid.conversion.convert import convert
from pellucid.engines.engine import EngineOptions
from pellucid.engines.serial import SerialEngine
from pellucid.engines.task import BlockResult, Task
from pellucid.volume.blocks import Block


class StopsAfter(SerialEngine):
    """A serial engine that counts its blocks, and ends the way it is told to after so many."""

    def __init__(self, blocks: int, *, memory_bytes: int, with_signal: int = 0) -> None:
        super().__init__(EngineOptions(1, memory_bytes))
        self.left = blocks
        self.finished = 0
        self.with_signal = with_signal

    def run(self, task: Task, blocks: Sequence[Block], cancel: threading.Event) -> Iterator[BlockResult]:
        for done in super().run(task, blocks, cancel):
            self.finished += 1
            yield done
            self.left -= 1
            if self.left == 0:
                self._end()

    def _end(self) -> None:
        if self.with_signal:
            os.kill(os.getpid(), self.with_signal)
        raise KeyboardInterrupt


def small_pieces(target: str | Path) -> dict[str, Any]:
    """Chunks of 16 voxels, and shards of the same size where the format has shards."""
    is_sharded = str(target).endswith(".zarr")
    return {"chunk": (16, 16, 16), **({"shard": (16, 16, 16)} if is_sharded else {})}


if __name__ == "__main__":
    source, target, memory_bytes, blocks = sys.argv[1:]
    engine = StopsAfter(int(blocks), memory_bytes=int(memory_bytes), with_signal=signal.SIGKILL)
    convert(source, target, engine=engine, levels=2, **small_pieces(target))
