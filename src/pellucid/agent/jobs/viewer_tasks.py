"""Tasks that a viewer requests from its agent, through files: the two may be on different machines.

Here: ViewerTasks, the viewer's side; take_requests, the agent's side.
Not here: starting and watching tasks (supervisor).

A viewer writes a request, and later a mark that cancels it, into a folder of its own record. The agent starts the task
under the id that the viewer chose, so that the viewer finds its record, progress and log.
"""

import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pellucid.agent.jobs.records import ID, RecordStore
from pellucid.agent.jobs.requests import Overrides, TaskRequest
from pellucid.agent.jobs.supervisor import JobSupervisor
from pellucid.dataclass_json import from_json
from pellucid.errors import InvalidInput, NotFound, PellucidError
from pellucid.instance.tasks.runner import CommandReport, CommandRequest
from pellucid.jobs.job import LOG
from pellucid.jobs.private_files import private_folder, read_json, write_json, write_private
from pellucid.jobs.resources import Resources
from pellucid.jobs.task_progress import TaskError

TASKS = "tasks"
REQUEST, CANCEL, REFUSAL = ".request", ".cancel", ".refusal"


class ViewerTasks:
    """For a viewer whose record is in this folder. is_here: whether the site runs tasks on this machine."""

    def __init__(self, folder: Path, *, is_here: bool, overrides: Overrides) -> None:
        self.is_here, self._overrides, self._viewer = is_here, overrides, folder.name
        self._store, self._folder = RecordStore(folder.parent), private_folder(folder / TASKS)

    def submit(self, request: CommandRequest) -> "ViewerTask":
        """With the same resources as the viewer itself."""
        id = secrets.token_hex(5)
        arguments = list(request.arguments)
        for option, text in request.files.items():
            path = self._folder / f"{id}{option}"
            write_private(path, text)
            arguments += [option, str(path)]
        record = self._store.read(self._viewer)
        own = Resources() if record is None else record.resources
        wanted = TaskRequest(
            tuple(arguments), "/", own.gpus, own.memory_bytes, own.cores, request.name, self._overrides,
            request.readable,
        )  # fmt: skip
        write_json(self._folder / f"{id}{REQUEST}", asdict(wanted))
        return ViewerTask(id, self._folder, self._store)


@dataclass(frozen=True)
class ViewerTask:
    """One task, as its viewer sees it."""

    id: str
    folder: Path
    store: RecordStore

    @property
    def log(self) -> Path:
        return self.store.folder_of(self.id) / LOG

    def look(self) -> CommandReport:
        record, progress = self.store.read(self.id), self.store.progress(self.id)
        if record is not None:
            return CommandReport(record.state, progress)
        refused = read_json(self.folder / f"{self.id}{REFUSAL}")
        return CommandReport(refusal=None if refused is None else _error(refused))

    def cancel(self) -> None:
        write_private(self.folder / f"{self.id}{CANCEL}", "")


def take_requests(supervisor: JobSupervisor, jobs: Path) -> None:
    """Start and cancel what viewers ask for. jobs: the folder of the records."""
    for viewer in supervisor.records:
        folder = jobs / viewer.id / TASKS
        if viewer.kind == "viewer" and folder.is_dir():
            _take(supervisor, folder)


def _take(supervisor: JobSupervisor, folder: Path) -> None:
    paths = [path for path in sorted(folder.iterdir()) if ID.fullmatch(path.stem)]
    known = {
        record.id for record in supervisor.records
    }  # With those of an agent that ended before it removed a request.
    for path in paths:
        if path.suffix == REQUEST:
            if path.stem not in known and not path.with_suffix(CANCEL).exists():
                _start(supervisor, path)
            path.unlink()
    for path in paths:
        if path.suffix == CANCEL:
            with suppress(NotFound):  # It was never started.
                supervisor.cancel(path.stem)
            path.unlink()


def _start(supervisor: JobSupervisor, path: Path) -> None:
    try:
        request: TaskRequest = from_json(TaskRequest, read_json(path), path.name)
        supervisor.start(request, path.stem)
    except PellucidError as error:
        write_json(path.with_suffix(REFUSAL), asdict(TaskError.of(error)))


def _error(refused: object) -> PellucidError:
    try:
        found: TaskError = from_json(TaskError, refused, "refusal")
    except InvalidInput as error:
        return error
    return found.to_error()
