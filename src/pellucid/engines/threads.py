"""The local engine: threads of this process. Codecs, NumPy and kernels release the interpreter lock.

Here: ThreadsEngine.
Not here: work that is pure Python, or that may crash (processes).
"""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from pellucid.engines.budget import max_workers
from pellucid.engines.engine import LocalEngine, run_with_retries
from pellucid.engines.stopping import stopping_when
from pellucid.engines.task import BlockResult, Task, Work
from pellucid.volume.blocks import Block


class ThreadsEngine(LocalEngine):
    """Several blocks at a time, in threads."""

    def run(self, task: Task, blocks: Sequence[Block], cancel: threading.Event) -> Iterator[BlockResult]:
        stop = threading.Event()

        def is_stopped() -> bool:
            return stop.is_set() or cancel.is_set()

        def one(work: Work, block: Block) -> BlockResult | None:
            if is_stopped():
                return None
            with stopping_when(is_stopped):
                return run_with_retries(work, block, self.options.attempts)

        with task.open() as work, ThreadPoolExecutor(max_workers(task, blocks, self.options)) as pool:
            try:
                yield from _results([pool.submit(one, work, block) for block in blocks], stop)
            finally:  # A closed iterator: blocks not yet begun are not begun.
                stop.set()


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
