"""Tasks for trying engines out. In a module of their own: worker processes import them by name.

Here: one task that works, and tasks that fail in each of the ways that happen.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pellucid.box import Shape
from pellucid.engines.task import TaskContext, Work
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout
from pellucid.formats.registry import open_writer
from pellucid.jobs.resources import Resources
from pellucid.volume.blocks import Block
from pellucid.volume.volume import open_volume


@dataclass(frozen=True)
class Invert:
    """255 minus the source, into the target; answers with the sum of the block's voxels.

    log: folder where every run of a block leaves a file. trouble: what to do wrong on block 1, once.
    """

    source: str
    target: str
    layout: Layout
    log: str
    trouble: str = ""
    memory_bytes: int = 1000
    gpus: int = 0
    output_chunk: Shape = (2, 1, 1)

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.source,)

    def needs(self, block: Block) -> Resources:
        return Resources(self.memory_bytes, gpus=self.gpus)

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        writer = open_writer(Location.parse(self.target), self.layout, resume=True)
        with open_volume(self.source) as volume:

            def invert(block: Block) -> int:
                self._note(block)
                voxels = volume.read(block.core)
                writer.write(block.core, 255 - voxels)
                return int(voxels.sum())

            yield invert
        writer.close()

    def runs(self) -> list[int]:
        """Which blocks were run, each as often as it was."""
        return sorted(int(path.name.split("-")[0]) for path in Path(self.log).iterdir())

    def without_trouble(self) -> "Invert":
        return replace(self, trouble="")

    def _note(self, block: Block) -> None:
        earlier = len(list(Path(self.log).glob(f"{block.index}-*")))
        Path(self.log, f"{block.index}-{earlier}").touch()
        if block.index == 1 and self.trouble:
            _make_trouble(self.trouble, earlier)


@dataclass(frozen=True)
class UseDevice:
    """Answers with the device, threads and memory of the worker; fails where two blocks have one device at once."""

    folder: str
    gpus: int = 1

    @property
    def inputs(self) -> tuple[str, ...]:
        return ()

    @property
    def output_chunk(self) -> Shape:
        return (1, 1, 1)

    def needs(self, block: Block) -> Resources:
        return Resources(1000, gpus=self.gpus)

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        # Workers may see no GPU but their own, whose number is then 0 for each of them.
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        lock = Path(self.folder, f"{context.device}-{visible}".replace(":", "-"))

        def use(block: Block) -> tuple[str, int, int]:
            if self.gpus:
                lock.touch(exist_ok=False)
                time.sleep(0.01)
                lock.unlink()
            return context.device, context.threads, context.memory_bytes

        yield use


def _make_trouble(kind: str, earlier: int) -> None:
    if kind == "hiccup" and earlier == 0:
        raise OSError("the disk was busy")
    if kind == "always":
        raise OSError("the disk is broken")
    if kind == "user":
        raise InvalidInput("The block is upside down.", remedy="Turn it.")
    if kind == "bug":
        raise ZeroDivisionError("of our own making")
    if kind == "dies" and earlier == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "worker dies" and earlier == 0:
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    if kind == "always dies":
        os.kill(os.getpid(), signal.SIGKILL)
