"""The local engine: threads of this process. Codecs, NumPy and kernels release the interpreter lock.

Here: ThreadsEngine.
Not here: work that is pure Python, or that may crash (processes).
"""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from pellucid.engines.budget import workers_that_fit
from pellucid.engines.engine import EngineOptions, attempt
from pellucid.engines.task import Done, Resources, Task
from pellucid.errors import Cancelled
from pellucid.volume.blocks import Block


class ThreadsEngine:
    """Several blocks at a time, in threads."""

    needs_shareable_output = False

    def __init__(self, options: EngineOptions) -> None:
        self.options = options

    def capacity(self) -> Resources:
        return Resources(self.options.memory_bytes)

    def run(self, task: Task, blocks: Sequence[Block], cancel: threading.Event) -> Iterator[Done]:
        stop = threading.Event()
        with task.open() as work, ThreadPoolExecutor(workers_that_fit(task, blocks, self.options)) as pool:

            def one(block: Block) -> Done:
                if stop.is_set() or cancel.is_set():
                    raise Cancelled("The work")
                return attempt(work, block, self.options.attempts)

            try:
                for finished in as_completed([pool.submit(one, block) for block in blocks]):
                    if cancel.is_set():
                        return
                    yield finished.result()
            finally:  # An error, a cancel or a closed iterator: blocks not yet begun are not begun.
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
