"""Processes of this machine: for work that holds the interpreter lock, or that may crash.

Here: ProcessesEngine; a lost worker is replaced and its block done again.
Not here: what runs inside a worker (worker).
"""

import multiprocessing
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait

from pellucid.engines.budget import max_workers
from pellucid.engines.engine import LocalEngine, is_retryable
from pellucid.engines.task import BlockResult, Task
from pellucid.engines.worker import Failure, serve
from pellucid.errors import InvalidInput, WorkerLost
from pellucid.volume.blocks import Block

POLL_S = 0.1


class ProcessesEngine(LocalEngine):
    """Several blocks at a time, each in a process of its own."""

    needs_shareable_output = True

    def run(self, task: Task, blocks: Sequence[Block], cancel: threading.Event) -> Iterator[BlockResult]:
        _refuse_main(task)
        crew = _WorkerPool(task, max_workers(task, blocks, self.options))
        try:
            yield from _distribute(crew, deque((block, self.options.attempts) for block in blocks), cancel)
        finally:
            crew.dismiss()


class _Worker:
    """A process, the pipe to it, and the block it is working on with the tries left."""

    def __init__(self, task: Task) -> None:
        # Spawned, not forked: a fork of a process with running threads may inherit a lock that nobody will release.
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.assigned: tuple[Block, int] | None = None
        self.process = context.Process(target=serve, args=(theirs, task), daemon=True)
        self.process.start()
        theirs.close()

    def assign(self, block: Block, tries: int) -> None:
        self.assigned = (block, tries)
        self.pipe.send(block)


class _WorkerPool:
    """As many workers as fit, always: a lost one is replaced."""

    def __init__(self, task: Task, size: int) -> None:
        self._task = task
        self.workers = [_Worker(task) for _ in range(size)]

    def replace(self, lost: _Worker) -> None:
        _end(lost)
        self.workers[self.workers.index(lost)] = _Worker(self._task)

    def ready(self) -> list[_Worker]:
        """Workers with something to say: a result, or that they are gone."""
        pipes: dict[Connection, _Worker] = {worker.pipe: worker for worker in self.workers}
        return [pipes[pipe] for pipe in wait(list(pipes), POLL_S)]  # type: ignore[index]

    def dismiss(self) -> None:
        for worker in self.workers:
            _end(worker)


def _distribute(crew: _WorkerPool, todo: "deque[tuple[Block, int]]", cancel: threading.Event) -> Iterator[BlockResult]:
    while not cancel.is_set():
        for idle in (worker for worker in crew.workers if worker.assigned is None):
            if todo:
                _try_assign(idle, todo)
        if all(worker.assigned is None for worker in crew.workers) and not todo:
            return
        for worker in crew.ready():
            yield from _collect(crew, worker, todo)


def _try_assign(worker: _Worker, todo: "deque[tuple[Block, int]]") -> None:
    # Where it died meanwhile, its pipe will say so, and the block is taken back there.
    with suppress(BrokenPipeError):
        worker.assign(*todo.popleft())


def _collect(crew: _WorkerPool, worker: _Worker, todo: "deque[tuple[Block, int]]") -> Iterator[BlockResult]:
    assigned, worker.assigned = worker.assigned, None
    try:
        answer = worker.pipe.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join()
        answer = Failure(WorkerLost("working on a block", f"exit code {worker.process.exitcode}"))
        crew.replace(worker)
    if not isinstance(answer, Failure):
        yield answer
    elif assigned is None or assigned[1] <= 1 or not is_retryable(answer.error):
        raise answer.error
    else:
        todo.append((assigned[0], assigned[1] - 1))


def _end(worker: _Worker) -> None:
    worker.process.kill()
    worker.process.join()
    worker.pipe.close()


def _refuse_main(task: Task) -> None:
    if type(task).__module__ == "__main__" and not hasattr(__import__("__main__"), "__file__"):
        raise InvalidInput(
            "A task defined at the prompt is not available in other processes.",
            remedy="Move its class to a module file.",
        )
