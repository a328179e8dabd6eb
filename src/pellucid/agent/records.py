"""What the agent knows of each instance and task: one small file in a folder of its own.

Here: Record, and Shelf, which reads and writes them; Address, which a viewer writes beside its record.
Not here: what follows from them (keeper), who may write them (lease).

Two never write one file: the agent writes ``record.json``; the job writes ``address.json``, ``progress.json`` and
what every job leaves behind. So nothing is lost where no agent is there when a job begins or ends.
"""

import json
import logging
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pellucid.errors import InvalidInput
from pellucid.formats.system_errors import system_error
from pellucid.jobs.job import Resources, Submitted, private_folder, read_json, write_json
from pellucid.jobs.states import State
from pellucid.rendering.documents import build

log = logging.getLogger(__name__)
RECORD, ADDRESS, PROGRESS, WISH = "record.json", "address.json", "progress.json", "wish.json"
TURN, SAVED, REASON = "turn", "saved.json", "reason.json"
"""TURN: the lock of a batch. SAVED, REASON: one word of a viewer each: the scene it saved, why it ended."""
BEGINNING = State("starting")
ID = re.compile(r"[0-9a-f]{10}")
Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Record:
    """One instance or task. scheduler: local or slurm. handle: what the scheduler calls it; "" until that is known.

    state: as it was known last. created_at, cancelled_at, ended_at: seconds since 1970; 0 where that is still to come.
    batch: the name of those that were started together; "" for one alone.
    """

    id: str
    kind: Literal["viewer", "task"]
    name: str
    created_at: float
    scheduler: str
    resources: Resources
    handle: str = ""
    state: State = BEGINNING
    cancelled_at: float = 0.0
    ended_at: float = 0.0
    batch: str = ""


@dataclass(frozen=True)
class Address:
    """Where a viewer listens. certificate: in PEM form, the only one to be believed; "" where no TLS is spoken. socket:
    on the agent's machine, where only the owner can listen; another user may take over a port."""

    host: str
    port: int
    token: str = field(repr=False)
    certificate: str = field(default="", repr=False)
    socket: str = ""


@dataclass(frozen=True)
class Progress:
    """How far a task is. fraction: 0 to 1; None where nobody knows. result: what came of it, a path or an address."""

    name: str
    fraction: float | None
    text: str
    result: str = ""


class Shelf:
    """The folders of all records. Only their owner can enter."""

    def __init__(self, folder: Path) -> None:
        self.folder = private_folder(folder)
        self._unwritten: dict[str, Record] = {}

    def place(self, id: str) -> Path:
        return self.folder / id

    def create(self, record: Record, wish: dict[str, Any]) -> None:
        """The record is there before anything is started, so that nothing that was started is ever without one."""
        private_folder(self.place(record.id))
        write_json(self.place(record.id) / WISH, wish)
        self.write(record)

    def write(self, record: Record) -> None:
        write_json(self.place(record.id) / RECORD, asdict(record))

    def write_or_later(self, record: Record) -> None:
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

    def all(self) -> Iterator[Record]:
        for folder in self.folder.iterdir():
            record = _read(Record, folder / RECORD) if ID.fullmatch(folder.name) else None
            if record is not None and record.id == folder.name:
                yield record

    def address(self, id: str) -> Address | None:
        return _read(Address, self.place(id) / ADDRESS)

    def used_at(self, id: str) -> float:
        """When a viewer was used last, in seconds since 1970: it keeps the time of its address at that; 0 before it."""
        try:
            return (self.place(id) / ADDRESS).stat().st_mtime
        except OSError:
            return 0.0

    def progress(self, id: str) -> Progress | None:
        return _read(Progress, self.place(id) / PROGRESS)

    def word(self, id: str, file: str) -> str:
        """What a viewer has written down for whoever comes later; "" where it did not."""
        return str((read_json(self.place(id) / file) or {}).get("word", ""))

    def submitted(self, record: Record) -> Submitted:
        return Submitted(record.id, record.handle, self.place(record.id))

    def forget(self, id: str) -> None:
        self._unwritten.pop(id, None)
        shutil.rmtree(self.place(id), ignore_errors=True)


def _read(kind: type[Kind], path: Path) -> Kind | None:
    """None where it is not there, or makes no sense."""
    content = read_json(path)
    if content is None:
        return None
    try:
        read: Kind = build(kind, content, path.name)
    except InvalidInput:
        return None
    return read


def told(record: Record) -> dict[str, Any]:
    """A record as plain data."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(record)))
    return plain
