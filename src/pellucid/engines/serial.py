"""The serial engine: one block after the other, in this thread. The definition of what an engine does.

Here: SerialEngine.
Not here: anything at the same time (threads, processes).
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pellucid.engines.budget import worker_contexts
from pellucid.engines.engine import LocalEngine, run_with_retries
from pellucid.engines.stopping import stopping_when
from pellucid.engines.task import BlockResult, Task
from pellucid.volume.blocks import Block


class SerialEngine(LocalEngine):
    """Runs in this thread: what to use for finding a fault."""

    def run(self, task: Task, blocks: Sequence[Block], cancel: threading.Event) -> Iterator[BlockResult]:
        options = replace(self.options, workers=1)
        with task.open(worker_contexts(task, blocks, options)[0]) as work:
            for block in blocks:
                if cancel.is_set():
                    return
                with stopping_when(cancel.is_set):
                    done = run_with_retries(work, block, self.options.attempts)
                yield done
