"""Progress for another program, such as the agent whose task this is.

Here: ProgressFile, which keeps one small file up to date, and writes lines to the log as well; conclude, its last word;
check_progress_file, whether a file may be replaced by one.
Not here: what is in the file (agent.records.Progress).
"""

from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path

from pellucid import progress
from pellucid.agent.jobs.records import TaskProgress
from pellucid.errors import InvalidInput
from pellucid.jobs.private_files import read_json, write_json


def check_progress_file(path: Path) -> None:
    """Refuse to replace a file that was not written here; an empty one, made to have its name, may be."""
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return
    written = read_json(path) if path.is_file() else None
    if written is None or set(written) != {field.name for field in fields(TaskProgress)}:
        raise InvalidInput(
            f"{path} exists and is not a progress file.", remedy="Choose a new name for --progress-file."
        )


class ProgressFile(progress.Lines):
    """The file has the state of the task that spoke last, and is always whole."""

    interval_s = 0.5

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = Path(path)

    def report(self, update: progress.Update) -> None:
        made = TaskProgress(update.name, update.fraction, progress.sentence(update))
        with suppress(OSError):  # The work continues if progress cannot be written.
            write_json(self._path, asdict(made))
        super().report(update)


def write_result(path: str, result: str) -> None:
    """It is done, and this came of it: a path, made whole, or an address."""
    before = read_json(Path(path)) or {}
    whole = result if not result or "://" in result else str(Path(result).absolute())
    made = TaskProgress(str(before.get("name", "")), 1.0, str(before.get("text", "")), whole)
    with suppress(OSError):
        write_json(Path(path), asdict(made))
