"""What runs inside a worker process of the processes engine.

Here: the loop that takes blocks from the pipe and answers with results.
Not here: starting and replacing workers (processes).
"""

import signal
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection

from pellucid.engines.task import BlockResult, Task, TaskContext
from pellucid.errors import PellucidError


@dataclass(frozen=True)
class Failure:
    """The work raised this."""

    error: BaseException


class WorkFailed(PellucidError):
    """An error inside a worker that is not one of ours; the traceback is in its text."""

    def __init__(self, trace: str) -> None:
        super().__init__(
            f"The work on a block failed in a worker process:\n{trace}", remedy="Fix the task and run it again."
        )


def serve(pipe: "Connection[BlockResult | Failure, object]", task: Task, context: TaskContext) -> None:
    """Work until the pipe closes, which it also does when the driver dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's to handle.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with task.open(context) as work:
            while True:
                block = pipe.recv()
                pipe.send(_answer(work, block))
    except (EOFError, ConnectionError):
        return  # The driver is gone.
    except Exception as error:  # noqa: BLE001 - the border of the process: opening the task failed
        pipe.send(_portable(error))


def _answer(work: object, block: object) -> BlockResult | Failure:
    try:
        return BlockResult(block.index, work(block))  # type: ignore[attr-defined, operator]
    except Exception as error:  # noqa: BLE001 - the border of the process: the driver raises it
        return _portable(error)


def _portable(error: Exception) -> Failure:
    """Errors of ours and of the operating system travel; any other becomes its traceback."""
    if isinstance(error, PellucidError | OSError):
        return Failure(error)
    return Failure(WorkFailed(traceback.format_exc()))
