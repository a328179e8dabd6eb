"""The local engine: threads of this process. Codecs, NumPy and kernels release the interpreter lock.

Here: ThreadsEngine.
Not here: work that is pure Python, or that may crash (processes).
"""

import queue
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager

from pellucid.engines.budget import worker_contexts
from pellucid.engines.engine import LocalEngine, run_with_retries
from pellucid.engines.stopping import stopping_when
from pellucid.engines.task import BlockResult, Task, TaskContext, Work
from pellucid.volume.blocks import Block


class ThreadsEngine(LocalEngine):
    """Several blocks at a time, in threads."""

    def run(self, task: Task, blocks: Sequence[Block], cancel: threading.Event) -> Iterator[BlockResult]:
        stop = threading.Event()

        def is_stopped() -> bool:
            return stop.is_set() or cancel.is_set()

        def one(free: "queue.SimpleQueue[Work]", block: Block) -> BlockResult | None:
            if is_stopped():
                return None
            work = free.get()
            try:
                with stopping_when(is_stopped):
                    return run_with_retries(work, block, self.options.attempts)
            finally:
                free.put(work)

        contexts = worker_contexts(task, blocks, self.options)
        with _opened(task, contexts) as free, ThreadPoolExecutor(len(contexts)) as pool:
            try:
                yield from _results([pool.submit(one, free, block) for block in blocks], stop)
            finally:  # A closed iterator: blocks not yet begun are not begun.
                stop.set()


@contextmanager
def _opened(task: Task, contexts: Sequence[TaskContext]) -> "Iterator[queue.SimpleQueue[Work]]":
    """One work for each thread: the same for all on the CPU, one of its own for every GPU."""
    free: queue.SimpleQueue[Work] = queue.SimpleQueue()
    with ExitStack() as stack:
        if contexts[0].device == "cpu":
            first = contexts[0]
            shared = TaskContext(first.device, first.threads * len(contexts), first.memory_bytes * len(contexts))
            work = stack.enter_context(task.open(shared))
            works = [work] * len(contexts)
        else:
            works = [stack.enter_context(task.open(context)) for context in contexts]
        for work in works:
            free.put(work)
        yield free


def _results(futures: "list[Future[BlockResult | None]]", stop: threading.Event) -> Iterator[BlockResult]:
    """What finishes, as it finishes; a failure is raised after what was under way beside it, so that none is lost."""
    failure: BaseException | None = None
    for future in as_completed(futures):
        error = future.exception()
        if error is not None:
            failure = failure or error
            stop.set()
        elif (done := future.result()) is not None:
            yield done
    if failure is not None:
        raise failure
