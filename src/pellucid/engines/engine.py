"""The Engine protocol, and the table of engines.

Here: what every engine can do, and making one by name. Choosing one imports none of the others.
Not here: what is run (task), checks, progress and resuming, which are the same for all engines (run).

Third parties add engines through the entry point group ``pellucid.engines``: a callable that takes EngineOptions.
"""

import importlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, cast

from pellucid.engines.task import BlockResult, Task
from pellucid.errors import InvalidInput, PellucidError
from pellucid.jobs.resources import Resources
from pellucid.settings import current
from pellucid.volume.blocks import Block

ENGINES = {
    "serial": "pellucid.engines.serial:SerialEngine",
    "threads": "pellucid.engines.threads:ThreadsEngine",
    "processes": "pellucid.engines.processes:ProcessesEngine",
    "parsl": "pellucid.engines.parsl.engine:ParslEngine",
    "spark": "pellucid.engines.spark:SparkEngine",
}
ALIASES = {"local": "threads"}
WITH_SITES = ("parsl", "spark")
"""Engines whose workers are somewhere: parsl:SITE, spark://HOST:PORT."""


@dataclass(frozen=True)
class EngineOptions:
    """workers: blocks at a time; memory_bytes: what all of them may take together; attempts: tries per block; devices:
    the GPUs for blocks that need one, which they have to themselves. usage_file: for what workers used (parsl)."""

    workers: int
    memory_bytes: int
    attempts: int = 3
    devices: tuple[str, ...] = ()
    usage_file: Path | None = None

    @classmethod
    def from_settings(cls, workers: int | None = None, memory_bytes: int | None = None) -> "EngineOptions":
        return cls(workers or current().threads, memory_bytes or current().memory_bytes)


class Engine(Protocol):
    """Runs one Task on many Blocks. is_here: all its workers run on this machine."""

    options: EngineOptions
    needs_shareable_output: bool
    is_here: bool

    def capacity(self) -> Resources:
        """What one worker can offer to one block."""

    def run(self, task: Task, blocks: Sequence[Block], cancel: threading.Event) -> Iterator[BlockResult]:
        """Yield every block's result as it finishes; stop soon after ``cancel`` is set or the iterator is closed."""


class LocalEngine:
    """What the engines of this machine have in common."""

    needs_shareable_output = False
    is_here = True

    def __init__(self, options: EngineOptions) -> None:
        self.options = options

    def capacity(self) -> Resources:
        return Resources(self.options.memory_bytes, self.options.workers, min(1, len(self.options.devices)))


def make_engine(name: str = "local", options: EngineOptions | None = None) -> Engine:
    """An engine by name: serial, local (threads), processes, parsl:SITE, spark:SITE, or a third party's."""
    kind, colon, site = name.partition(":")
    wanted = ALIASES.get(kind, kind)
    options = options or EngineOptions.from_settings()
    if colon and wanted not in WITH_SITES:
        raise InvalidInput(f"The engine {kind} has no sites.", remedy=f"Use {kind}, or parsl:{site}.")
    if options.usage_file is not None and wanted != "parsl":
        raise InvalidInput(f"The engine {kind} does not report the usage of its workers.", remedy="Use --engine parsl.")
    if wanted in ENGINES:
        module, _, class_name = ENGINES[wanted].partition(":")
        made = getattr(importlib.import_module(module), class_name)
        return cast(Engine, made(options, site) if wanted in WITH_SITES else made(options))
    plugged = {point.name: point for point in entry_points(group="pellucid.engines")}
    if wanted not in plugged:
        known = ", ".join([*ENGINES, *ALIASES, *plugged])
        raise InvalidInput(f"Unknown engine {name!r}.", remedy=f"Choose one of: {known}.")
    return cast(Engine, plugged[wanted].load()(options))


def is_retryable(error: BaseException) -> bool:
    """Whether the same work may succeed when it is done again: a hiccup of disk, network or worker."""
    if isinstance(error, PellucidError):
        return error.is_transient
    return isinstance(error, OSError)


def run_with_retries(work: Any, block: Block, attempts: int) -> BlockResult:
    """Run the work on a block, again after a hiccup, at most so many times."""
    for tries_left in range(attempts - 1, -1, -1):
        try:
            return BlockResult(block.index, work(block))
        except Exception as error:
            if tries_left == 0 or not is_retryable(error):
                raise
    raise AssertionError("attempts is at least 1")
