"""The progress and result of a command, in a file that another program reads.

Here: TaskProgress and TaskError, and reading the file.
Not here: writing it (cli.progress_file).
"""

from dataclasses import dataclass
from pathlib import Path

from pellucid.errors import PellucidError, error_named
from pellucid.jobs.private_files import read_dataclass


@dataclass(frozen=True)
class TaskError:
    """The error that a command ended with. kind: its class in pellucid.errors."""

    kind: str
    what: str
    remedy: str

    @classmethod
    def of(cls, error: PellucidError) -> "TaskError":
        return cls(type(error).__name__, error.what, error.remedy)

    def to_error(self) -> PellucidError:
        return error_named(self.kind, self.what, self.remedy)


@dataclass(frozen=True)
class TaskProgress:
    """How far a task is. fraction: 0 to 1; None where it is unknown. result: what the task made, a path or an address.
    error: why it failed."""

    name: str
    fraction: float | None
    text: str
    result: str = ""
    error: TaskError | None = None


def read_progress(path: Path) -> TaskProgress | None:
    """None where the file is not there, or is not a progress file."""
    return read_dataclass(TaskProgress, path)
