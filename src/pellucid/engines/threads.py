"""The local engine: threads of this process. Codecs, NumPy and kernels release the interpreter lock.

Here: ThreadsEngine.
Not here: work that is pure Python, or that may crash (processes).
"""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from pellucid.engines.budget import workers_that_fit
from pellucid.engines.engine import LocalEngine, attempt
from pellucid.engines.stopping import stopping_when
from pellucid.engines.task import Done, Task, Work
from pellucid.volume.blocks import Block


class ThreadsEngine(LocalEngine):
    """Several blocks at a time, in threads."""

    def run(self, task: Task, blocks: Sequence[Block], cancel: threading.Event) -> Iterator[Done]:
        stop = threading.Event()

        def is_stopped() -> bool:
            return stop.is_set() or cancel.is_set()

        def one(work: Work, block: Block) -> Done | None:
            if is_stopped():
                return None
            with stopping_when(is_stopped):
                return attempt(work, block, self.options.attempts)

        with task.open() as work, ThreadPoolExecutor(workers_that_fit(task, blocks, self.options)) as pool:
            try:
                yield from _results([pool.submit(one, work, block) for block in blocks], stop)
            finally:  # A closed iterator: blocks not yet begun are not begun.
                stop.set()


def _results(futures: "list[Future[Done | None]]", stop: threading.Event) -> Iterator[Done]:
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
