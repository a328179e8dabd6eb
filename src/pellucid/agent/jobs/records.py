"""The agent's records of viewers and tasks: one small file for each, in its own folder.

Here: JobRecord, and RecordStore, which reads and writes them; ViewerAddress, which a viewer writes beside its record.
Not here: what follows from them (supervisor), who may write them (lease).

Two never write one file: the agent writes ``record.json``; the job writes ``address.json``, ``progress.json`` and
what every job leaves behind. So nothing is lost where no agent is there when a job begins or ends.
"""

import json
import logging
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pellucid.agent.jobs.trainings import TaskTraining
from pellucid.formats.system_errors import system_error
from pellucid.jobs.job import LOG, SubmittedJob
from pellucid.jobs.job_state import JobState, last_lines
from pellucid.jobs.private_files import private_folder, read_dataclass, read_json, write_json
from pellucid.jobs.resources import Resources
from pellucid.jobs.task_progress import TaskProgress, read_progress

log = logging.getLogger(__name__)
RECORD, ADDRESS, PROGRESS, REQUEST = "record.json", "address.json", "progress.json", "request.json"
TURN, SAVED, REASON = "turn", "saved.json", "reason.json"
"""TURN: the lock of a batch. SAVED, REASON: one word of a viewer each: the scene it saved, why it ended."""
BEGINNING = JobState("starting")
ID = re.compile(r"[0-9a-f]{10}")
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class JobRecord:
    """One instance or task. scheduler: local or slurm. handle: what the scheduler calls it; "" until that is known.

    state: as it was known last. created_at, cancelled_at, ended_at: seconds since 1970; 0 where that is still to come.
    batch: the name of those that were started together; "" for one alone. scan: whose reconstruction a viewer's page
    opens; "" for any other job.
    """

    id: str
    kind: Literal["viewer", "task"]
    name: str
    created_at: float
    scheduler: str
    resources: Resources
    handle: str = ""
    state: JobState = BEGINNING
    cancelled_at: float = 0.0
    ended_at: float = 0.0
    batch: str = ""
    scan: str = ""


@dataclass(frozen=True)
class ViewerAddress:
    """Where a viewer listens. certificate: in PEM form, the only one to be trusted; "" where no TLS is spoken. socket:
    on the agent's machine, where only the owner can listen; another user may take over a port."""

    host: str
    port: int
    token: str = field(repr=False)
    certificate: str = field(default="", repr=False)
    socket: str = ""


@dataclass(frozen=True)
class ViewerNote:
    """What a viewer leaves in SAVED or REASON."""

    word: str

    def write(self, path: Path) -> None:
        write_json(path, asdict(self))


class RecordStore:
    """The folders of all records. Only their owner can enter."""

    def __init__(self, folder: Path) -> None:
        self.folder = private_folder(folder)
        self._unwritten: dict[str, JobRecord] = {}

    def folder_of(self, id: str) -> Path:
        return self.folder / id

    def create(self, record: JobRecord, request: dict[str, Any]) -> None:
        """The record is there before anything is started, so that nothing that was started is ever without one."""
        private_folder(self.folder_of(record.id))
        write_json(self.folder_of(record.id) / REQUEST, request)
        self.write(record)

    def write(self, record: JobRecord) -> None:
        write_json(self.folder_of(record.id) / RECORD, asdict(record))

    def write_or_later(self, record: JobRecord) -> None:
        """A full disk must not keep the agent from watching and stopping what runs."""
        try:
            self.write(record)
            self._unwritten.pop(record.id, None)
        except OSError as error:
            if record.id not in self._unwritten:
                log.warning("%s The record of %s is written later.", system_error(error), record.name)
            self._unwritten[record.id] = record

    def write_again(self) -> None:
        """What could not be written before."""
        for record in list(self._unwritten.values()):
            self.write_or_later(record)

    def all(self) -> Iterator[JobRecord]:
        for folder in self.folder.iterdir():
            record = read_dataclass(JobRecord, folder / RECORD) if ID.fullmatch(folder.name) else None
            if record is not None and record.id == folder.name:
                yield record

    def read(self, id: str) -> JobRecord | None:
        """As the agent wrote it last; None where there is none."""
        return read_dataclass(JobRecord, self.folder_of(id) / RECORD)

    def address(self, id: str) -> ViewerAddress | None:
        return read_dataclass(ViewerAddress, self.folder_of(id) / ADDRESS)

    def used_at(self, id: str) -> float:
        """When a viewer was used last, in seconds since 1970: it keeps the time of its address at that; 0 before it."""
        try:
            return (self.folder_of(id) / ADDRESS).stat().st_mtime
        except OSError:
            return 0.0

    def progress(self, id: str) -> TaskProgress | None:
        return read_progress(self.folder_of(id) / PROGRESS)

    def read_text(self, id: str, file: str) -> str:
        """The text that a viewer left in a file of its folder; "" if it did not."""
        note = read_dataclass(ViewerNote, self.folder_of(id) / file)
        return "" if note is None else note.word

    def submitted(self, record: JobRecord) -> SubmittedJob:
        return SubmittedJob(record.id, record.handle, self.folder_of(record.id))

    def forget(self, id: str) -> None:
        self._unwritten.pop(id, None)
        shutil.rmtree(self.folder_of(id), ignore_errors=True)


def record_json(record: JobRecord) -> dict[str, Any]:
    """A record as plain data."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(record)))
    return plain


MAX_LINES = 10_000


class JobOutputs:
    """What is over does not change any more: a page that looks every second must not read it again and again."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self._final: dict[str, Any] = {}
        self._trainings: dict[str, TaskTraining | None] = {}

    def progress(self, record: JobRecord) -> TaskProgress | None:
        """Of a task."""
        return self._last(record, lambda: self._store.progress(record.id))

    def saved_state(self, record: JobRecord) -> str:
        """The name of the scene that a viewer saved before the end of its time; "" where it did not."""
        return self._last(record, lambda: self._store.read_text(record.id, SAVED))

    def training(self, record: JobRecord) -> TaskTraining | None:
        """Of a task that trains a network."""
        if record.id not in self._trainings:
            request = read_json(self._store.folder_of(record.id) / REQUEST) if record.kind == "task" else None
            self._trainings[record.id] = _training(request)
        return self._trainings[record.id]

    def log_lines(self, record: JobRecord) -> tuple[str, ...]:
        """The end of its log."""
        return last_lines(self._store.folder_of(record.id) / LOG, MAX_LINES)

    def forget(self, id: str) -> None:
        self._final.pop(id, None)
        self._trainings.pop(id, None)

    def _last(self, record: JobRecord, read: Callable[[], Kind]) -> Kind:
        if not record.state.is_over:
            return read()
        if record.id not in self._final:
            self._final[record.id] = read()
        kept: Kind = self._final[record.id]
        return kept


def _training(request: object) -> TaskTraining | None:
    """Of the request of a task, as it was written."""
    if not isinstance(request, dict) or not isinstance(request.get("arguments"), list):
        return None
    return TaskTraining.of(tuple(map(str, request["arguments"])), str(request.get("folder", "/")))
