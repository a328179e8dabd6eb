"""Background tasks: loading, exports, movies.

Here: TaskRegistry: who asked for each, how far it is, what came of it, stopping one.
Not here: the work itself (exports).

A task, its progress and its result belong to who asked for it, and to the owner of the viewer.
"""

import asyncio
import logging
import shutil
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from pellucid.errors import NotFound, PellucidError, TooManyRequests
from pellucid.formats.system_errors import system_error
from pellucid.instance.access.capabilities import allows
from pellucid.instance.access.redaction import redacted, without_paths
from pellucid.instance.lifecycle.idle import IdleTimer
from pellucid.instance.lifecycle.scratch_folders import scratch_folder
from pellucid.instance.protocol.http_bodies import TaskStatus
from pellucid.instance.protocol.server_messages import Progress
from pellucid.instance.protocol.shared_types import TaskState
from pellucid.instance.websocket.client import OWNER, ConnectedClient, Requester
from pellucid.workers.protocol.replies import ProgressReported

MAX_KEPT = 20
MAX_RUNNING = 8
MAX_GUEST_RUNNING = 1
"""Of all guests together: what they start competes with the images that everyone sees."""
log = logging.getLogger(__name__)
Work = Callable[[str], Awaitable["Result | None"]]


@dataclass(frozen=True)
class Result:
    """A file to fetch."""

    path: Path
    media_type: str


@dataclass
class _Task:
    """by: who asked for it. began: when it began to run, on a clock that only goes forward."""

    name: str
    by: Requester
    status: TaskStatus
    cancel: Callable[[], None] | None
    result: Result | None = None
    running: "asyncio.Task[None] | None" = None
    began: float = field(default_factory=time.monotonic)


class TaskRegistry:
    """Called on the event loop. members: all clients."""

    def __init__(self, idle: IdleTimer, members: Callable[[], Iterable[ConnectedClient]]) -> None:
        self._idle, self._members = idle, members
        self._tasks: dict[str, _Task] = {}
        self.exporting: str | None = None  # The task whose progress the Worker reports.
        self.applying: str | None = None  # That of the Worker for networks.
        self.evaluating: str | None = None  # That of the Worker for users' models.
        self.folder = scratch_folder()

    def close(self) -> None:
        for task in self._tasks.values():
            if task.running is not None:
                task.running.cancel()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, name: str, work: Work, cancel: Callable[[], None] | None = None, by: Requester = OWNER) -> str:
        """Begin; the work is given the task's id, for its reports. What it gives back, if anything, can be fetched."""
        self.check_room(by)
        id = self.begin(name, cancel, by)
        self._tasks[id].running = asyncio.get_running_loop().create_task(self._run(id, work))
        return id

    def check_room(self, by: Requester) -> None:
        """Refuse another task where enough of them run."""
        running = [task.by for task in self._tasks.values() if task.running is not None]
        guests = [one for one in running if not one.is_owner]
        if len(running) - len(guests) >= MAX_RUNNING and by.is_owner:
            raise TooManyRequests(
                f"{len(running)} tasks are already running.", remedy="Wait until a task ends, or cancel one."
            )
        if len(guests) >= MAX_GUEST_RUNNING and not by.is_owner:
            raise TooManyRequests("Another task of a guest is running.", remedy="Try again when it has ended.")

    def begin(self, name: str, cancel: Callable[[], None] | None = None, by: Requester = OWNER) -> str:
        """Something that others do: report says how far it is, and finish that it is over."""
        id = uuid4().hex
        self._forget_oldest(by)
        self._tasks[id] = _Task(name, by, TaskStatus(id, "running", 0, None, ""), cancel)
        return id

    def finish(self, id: str, error: PellucidError | None = None) -> None:
        """It is over; error: why it was stopped."""
        self._end(id, "finished" if error is None else "stopped", "", error)

    def report(self, id: str, done: int, total: int | None, unit: str, seconds_left: float | None = None) -> None:
        task = self._tasks.get(id)
        if task is None:
            return
        self._idle.touch()
        task.status = replace(task.status, done=done, total=total, note="")
        self._tell(Progress(id, task.name, done, total, unit, "running", seconds_left), task.by)

    def report_waiting(self, id: str, note: str) -> None:
        """It has not begun. note: what it waits for."""
        task = self._tasks.get(id)
        if task is not None:
            self._idle.touch()
            task.began = time.monotonic()
            task.status = replace(task.status, note=note)
            self._tell(Progress(id, task.name, 0, None, "", "running", note=note), task.by)

    def worker_progress(self, made: ProgressReported, id: str | None, whose: str = "worker") -> None:
        """Progress of a Worker: of one of our tasks, or of its own work, which all clients with control receive."""
        self._idle.touch()
        if id is not None:
            self.report(id, made.done, made.total, made.unit, made.seconds_left)
            return
        state: TaskState = "finished" if made.is_finished else "stopped" if made.is_stopped else "running"
        name = without_paths(made.name)
        reply = Progress(f"{whose}-{made.task}", name, made.done, made.total, made.unit, state, made.seconds_left)
        for member in self._members():
            if allows(member.client.capability, "control"):
                member.outbox.put(reply)

    def of_role(self, role: str) -> str | None:
        """The task of a Worker beside the one that renders."""
        return {"compute": self.applying, "user_code": self.evaluating}.get(role)

    def status(self, id: str, by: Requester = OWNER) -> TaskStatus:
        status = self._get(id, by).status
        if not status.what:
            return status
        shown = redacted(PellucidError(status.what, status.remedy), by.capability)
        return replace(status, what=shown.what, remedy=shown.remedy)

    def result(self, id: str, by: Requester = OWNER) -> Result:
        result = self._get(id, by).result
        if result is None:
            raise NotFound(f"The result of the task {id}")
        return result

    def cancel(self, id: str, by: Requester = OWNER) -> None:
        task = self._tasks.get(id)
        if task is not None and task.by.includes(by) and task.cancel is not None:
            task.cancel()

    def _get(self, id: str, by: Requester) -> _Task:
        task = self._tasks.get(id)
        if task is None or not task.by.includes(by):
            raise NotFound(f"The task {id}")
        return task

    async def _run(self, id: str, work: Work) -> None:
        task = self._tasks[id]
        try:
            with self._idle.held_off():
                task.result = await work(id)
            self._end(id, "finished", "" if task.result is None else f"api/tasks/{id}/result")
        except PellucidError as error:
            self._end(id, "stopped", "", error)
        except OSError as error:
            log.warning("%s: %s", task.name, error)
            self._end(id, "stopped", "", system_error(error))
        except Exception as error:
            # The edge of a task: clients that wait for it must learn that it failed.
            log.exception("a task failed")
            self._end(
                id, "stopped", "", PellucidError(f"The task failed: {error}.", remedy="See the terminal for details.")
            )
        finally:
            task.running = None

    def _end(self, id: str, state: TaskState, url: str, error: PellucidError | None = None) -> None:
        task = self._tasks[id]
        before, task.cancel = task.status, None
        what, remedy = (error.what, error.remedy) if error else ("", "")
        task.status = replace(before, state=state, url=url, what=what, remedy=remedy, note="")
        task.status = replace(task.status, seconds=round(time.monotonic() - task.began, 1))
        self._tell(Progress(id, task.name, before.done, before.total, "", state, None, url), task.by)

    def _tell(self, reply: Progress, by: Requester) -> None:
        for member in self._members():
            if by.includes(member.requester):
                member.outbox.put(reply)

    def _forget_oldest(self, by: Requester) -> None:
        """Of the owner's or of the guests' tasks: neither makes the other's results go."""
        ended = [id for id, task in self._tasks.items() if _is_ended(task) and task.by.is_owner == by.is_owner]
        for id in ended[: max(0, len(ended) - MAX_KEPT + 1)]:
            if result := self._tasks.pop(id).result:
                result.path.unlink(missing_ok=True)


def _is_ended(task: _Task) -> bool:
    return task.status.state != "running" and task.running is None
