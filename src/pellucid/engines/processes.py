"""Processes of this machine: for work that holds the interpreter lock, or that may crash.

Here: ProcessesEngine; a lost worker is replaced and its block done again.
Not here: what runs inside a worker (worker), who gets which block (formats.process_pool).
"""

import multiprocessing
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from pellucid.engines.budget import worker_contexts
from pellucid.engines.engine import LocalEngine, is_retryable
from pellucid.engines.task import BlockResult, Task, TaskContext
from pellucid.engines.worker import Failure, serve
from pellucid.errors import InvalidInput
from pellucid.formats.process_pool import PoolJob, ProcessPool
from pellucid.python_processes import safe_path
from pellucid.volume.blocks import Block


class ProcessesEngine(LocalEngine):
    """Several blocks at a time, each in a process of its own."""

    needs_shareable_output = True

    def run(self, task: Task, blocks: Sequence[Block], cancel: threading.Event) -> Iterator[BlockResult]:
        _refuse_main(task)
        free = worker_contexts(task, blocks, self.options)
        count = len(free)
        job = PoolJob(
            "working on a block", partial(BlockProcess, task, free), len(blocks), lambda piece, _: blocks[piece],
            attempts=self.options.attempts,
        )  # fmt: skip
        pool = ProcessPool(job, count)
        with closing(pool.run(cancel.is_set)) as answers:
            for answer in answers:
                if not isinstance(answer.content, Failure):
                    yield answer.content
                elif not is_retryable(answer.content.error) or not pool.retry(answer.piece):
                    raise answer.content.error


class BlockProcess:
    """A PoolProcess that runs a task on blocks. free: contexts that no other process has; it takes one for its life."""

    def __init__(self, task: Task, free: list[TaskContext]) -> None:
        self._free, self._context = free, free.pop()
        # Spawned, not forked: a fork of a process with running threads may inherit a lock that no one will release.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, task, self._context), daemon=True)
        with safe_path():
            self._process.start()
        theirs.close()

    def fileno(self) -> int:
        return self._pipe.fileno()

    def send(self, message: Block) -> None:
        self._pipe.send(message)

    def receive(self) -> Any:
        return self._pipe.recv()

    def end(self, timeout_s: float = 0.0) -> int:
        self._process.join(timeout_s)
        self._process.kill()
        self._process.join()
        self._pipe.close()
        self._free.append(self._context)
        return self._process.exitcode or 0


def _refuse_main(task: Task) -> None:
    if type(task).__module__ == "__main__" and not hasattr(__import__("__main__"), "__file__"):
        raise InvalidInput(
            "A task defined at the prompt is not available in other processes.",
            remedy="Move its class to a module file.",
        )
