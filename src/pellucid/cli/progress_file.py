"""Progress for another program, such as the agent that started this task.

Here: ProgressFile, which keeps one small file up to date, and writes lines to the log as well; write_result and
write_error, how the command ended; check_progress_file, whether a file may be replaced by one.
Not here: what is in the file (jobs.task_progress).
"""

from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from pellucid import progress
from pellucid.errors import InvalidInput, PellucidError
from pellucid.jobs.private_files import write_json
from pellucid.jobs.task_progress import TaskError, TaskProgress, read_progress


def check_progress_file(path: Path) -> None:
    """Refuse to replace a file that was not written here; an empty one, made to have its name, may be."""
    if not path.exists() or (path.is_file() and path.stat().st_size == 0):
        return
    if not path.is_file() or read_progress(path) is None:
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
        _write(self._path, TaskProgress(update.name, update.fraction, progress.sentence(update)))
        super().report(update)


def write_result(path: str, result: str) -> None:
    """The command has succeeded. result: a path, which is made absolute, or an address."""
    whole = result if not result or "://" in result else str(Path(result).absolute())
    _write(Path(path), replace(_last(path), fraction=1.0, result=whole))


def write_error(path: str, error: PellucidError) -> None:
    """The command has failed."""
    _write(Path(path), replace(_last(path), error=TaskError.of(error)))


def _last(path: str) -> TaskProgress:
    return read_progress(Path(path)) or TaskProgress("", None, "")


def _write(path: Path, written: TaskProgress) -> None:
    with suppress(OSError):  # The work continues if progress cannot be written.
        write_json(path, asdict(written))
