"""Work that goes on while people look: loading, exports, movies.

Here: Tasks: how far each is, what came of it, stopping one.
Not here: the work itself (exports).
"""

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from pellucid.errors import NotFound, PellucidError
from pellucid.formats.system_errors import system_error
from pellucid.instance.idle import Idleness
from pellucid.instance.protocol.http import TaskStatus
from pellucid.instance.protocol.outgoing import Progress
from pellucid.instance.protocol.parts import TaskState
from pellucid.instance.scratch import scratch_folder
from pellucid.workers.commands import Progressed

MOST_KEPT = 20
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Result:
    """A file to fetch."""

    path: Path
    media_type: str


class Tasks:
    """Called on the event loop. tell: to every client who may steer."""

    def __init__(self, idle: Idleness, tell: Callable[[Progress], None]) -> None:
        self._idle, self._tell = idle, tell
        self._status: dict[str, TaskStatus] = {}
        self._names: dict[str, str] = {}
        self._results: dict[str, Result] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._cancels: dict[str, Callable[[], None]] = {}
        self.exporting: str | None = None  # The task whose progress the Worker reports.
        self.folder = scratch_folder()

    def close(self) -> None:
        for task in self._running.values():
            task.cancel()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(
        self, name: str, work: Callable[[str], Awaitable[Result | None]], cancel: Callable[[], None] | None = None
    ) -> str:
        """Begin; the work is given the task's id, for its reports. What it gives back, if anything, can be fetched."""
        id = self.begin(name, cancel)
        self._running[id] = asyncio.get_running_loop().create_task(self._run(id, work))
        return id

    def begin(self, name: str, cancel: Callable[[], None] | None = None) -> str:
        """Something that others do: report says how far it is, and finish that it is over."""
        id = uuid4().hex[:12]
        self._forget_oldest()
        self._names[id] = name
        self._status[id] = TaskStatus(id, "running", 0, None, "")
        if cancel is not None:
            self._cancels[id] = cancel
        return id

    def finish(self, id: str, error: PellucidError | None = None) -> None:
        """It is over; error: why it was stopped."""
        self._cancels.pop(id, None)
        self._end(id, "finished" if error is None else "stopped", "", error)

    def report(self, id: str, done: int, total: int | None, unit: str, seconds_left: float | None = None) -> None:
        if id not in self._status:
            return
        self._idle.touch()
        self._status[id] = replace(self._status[id], done=done, total=total)
        self._tell(Progress(id, self._names[id], done, total, unit, "running", seconds_left))

    def worker_progress(self, made: Progressed, id: str | None) -> None:
        """Of the Worker: of a task of ours, or of something that it does by itself."""
        self._idle.touch()
        state: TaskState = "finished" if made.is_finished else "stopped" if made.is_stopped else "running"
        if id is None:
            told = Progress(
                f"worker-{made.task}", made.name, made.done, made.total, made.unit, state, made.seconds_left
            )
            self._tell(told)
        else:
            self.report(id, made.done, made.total, made.unit, made.seconds_left)

    def status(self, id: str) -> TaskStatus:
        if id not in self._status:
            raise NotFound(f"the task {id}")
        return self._status[id]

    def result(self, id: str) -> Result:
        if id not in self._results:
            raise NotFound(f"a result of the task {id}")
        return self._results[id]

    def cancel(self, id: str) -> None:
        if id in self._cancels:
            self._cancels[id]()

    async def _run(self, id: str, work: Callable[[str], Awaitable[Result | None]]) -> None:
        try:
            with self._idle.held():
                result = await work(id)
            if result is not None:
                self._results[id] = result
            self._end(id, "finished", "" if result is None else f"api/tasks/{id}/result")
        except PellucidError as error:
            self._end(id, "stopped", "", error)
        except OSError as error:
            log.warning("%s: %s", self._names[id], error)
            self._end(id, "stopped", "", system_error(error))
        except Exception as error:
            # The edge of a task: whoever waits for it must learn that it will not come.
            log.exception("a task failed")
            self._end(id, "stopped", "", PellucidError(f"It failed: {error}.", do="The terminal says more."))
        finally:
            self._running.pop(id, None)
            self._cancels.pop(id, None)

    def _end(self, id: str, state: TaskState, url: str, error: PellucidError | None = None) -> None:
        before = self._status[id]
        what, do = (error.what, error.do) if error else ("", "")
        self._status[id] = replace(before, state=state, url=url, what=what, do=do)
        self._tell(Progress(id, self._names[id], before.done, before.total, "", state, None, url))

    def _forget_oldest(self) -> None:
        ended = [id for id, status in self._status.items() if status.state != "running"]
        for id in ended[: max(0, len(ended) - MOST_KEPT + 1)]:
            del self._status[id], self._names[id]
            if result := self._results.pop(id, None):
                result.path.unlink(missing_ok=True)
