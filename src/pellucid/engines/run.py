"""Running a task: the checks, the progress and the resuming that are the same for every engine.

Here: run.
Not here: the engines (serial, threads, processes), the tasks.
"""

import threading
from collections.abc import Iterator, Sequence

from pellucid import progress
from pellucid.engines.budget import check_chunk_alignment, check_fits
from pellucid.engines.engine import Engine
from pellucid.engines.markers import Markers
from pellucid.engines.task import BlockResult, Task
from pellucid.errors import Cancelled
from pellucid.volume.blocks import Block


def run(
    task: Task,
    blocks: Sequence[Block],
    engine: Engine,
    *,
    name: str = "Working",
    markers: Markers | None = None,
    cancel: threading.Event | None = None,
) -> Iterator[BlockResult]:
    """Run a task on every block and yield results as they finish, those of an earlier run first.

    What cannot fit, and blocks that would share a chunk of the output, are refused before anything runs. With markers,
    blocks that are finished already are not done again.
    """
    cancel = cancel or threading.Event()
    check_fits(task, blocks, engine.capacity())
    check_chunk_alignment(blocks, task.output_chunk)
    finished = markers.results if markers else {}
    todo = [block for block in blocks if block.index not in finished]
    sizes = {block.index: block.core.size for block in blocks}
    before = sum(sizes.values()) - sum(block.core.size for block in todo)
    yield from (BlockResult(index, result) for index, result in list(finished.items()))
    with progress.task(name, total=sum(sizes.values()), unit="voxels", done=before) as bar:
        for done in engine.run(task, todo, cancel) if todo else ():
            if markers:
                markers.add(done)
            bar.advance(sizes[done.index])
            yield done
        if cancel.is_set():
            raise Cancelled(name)
