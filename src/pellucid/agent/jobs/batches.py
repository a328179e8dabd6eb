"""Batches: one task for each of many files.

Here: BatchRequest, and the tasks that it comes to; starting and ending them together.
Not here: each of them (supervisor).
"""

import re
import secrets
from dataclasses import dataclass
from pathlib import PurePath

from pellucid.agent.jobs.records import JobRecord
from pellucid.agent.jobs.requests import Overrides, TaskRequest
from pellucid.agent.jobs.supervisor import JobSupervisor
from pellucid.errors import InvalidInput, NotFound, PellucidError

MAX_FILES = 1000
AS_THE_SITE = Overrides()
WORD = re.compile(r"\{(file|folder|stem)\}")


@dataclass(frozen=True)
class BatchRequest:
    """files: one task for each. arguments: as for one task, where ``{file}`` stands for the whole path, ``{folder}``
    for the folder that it lies in, and ``{stem}`` for its name without its ending. The rest is as in TaskWish.
    """

    files: tuple[str, ...]
    arguments: tuple[str, ...]
    folder: str
    gpus: int = 0
    memory_bytes: int = 0
    cores: int = 0
    overrides: Overrides = AS_THE_SITE

    @property
    def tasks(self) -> list[TaskRequest]:
        if not 0 < len(self.files) <= MAX_FILES:
            raise InvalidInput(
                f"A batch has 1 to {MAX_FILES} files.", remedy="Choose fewer files, or submit several batches."
            )
        filled = [_filled(self.arguments, file) for file in self.files]
        if len(set(filled)) < len(filled):
            remedy = "Put {stem} in the output name, and list each file once."
            raise InvalidInput("Several tasks of this batch would write the same output.", remedy=remedy)
        return [
            TaskRequest(arguments, self.folder, self.gpus, self.memory_bytes, self.cores, overrides=self.overrides)
            for arguments in filled
        ]


def start_batch(supervisor: JobSupervisor, request: BatchRequest) -> list[JobRecord]:
    """One task for each file; all of them or none. A batch is called what its first task is."""
    tasks, batch, started = request.tasks, secrets.token_hex(5), list[JobRecord]()
    if len(tasks) == 1:
        return [supervisor.start(tasks[0])]
    try:
        for task in tasks:
            started.append(supervisor.start(task, "" if started else batch, batch))
    except PellucidError:
        for record in started:
            supervisor.cancel(record.id)
        raise
    return started


def cancel_batch(supervisor: JobSupervisor, batch: str) -> list[JobRecord]:
    """The last ones first: what is cancelled makes room for the next."""
    members = [record for record in supervisor.records if record.batch == batch]
    if not members:
        raise NotFound(f"The batch {batch}")
    for record in reversed(members):
        supervisor.cancel(record.id)
    return [supervisor.get(record.id) for record in members]


def _filled(arguments: tuple[str, ...], file: str) -> tuple[str, ...]:
    """The arguments for one file.

    >>> _filled(("convert", "{file}", "{folder}/{stem}.zarr"), "/data/rock.tif")
    ('convert', '/data/rock.tif', '/data/rock.zarr')
    """
    path = PurePath(file)
    words = {"{file}": file, "{folder}": str(path.parent), "{stem}": path.name.partition(".")[0] or path.name}
    return tuple(WORD.sub(lambda found: words[found[0]], argument) for argument in arguments)
