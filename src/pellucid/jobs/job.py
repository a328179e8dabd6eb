"""A command that a scheduler runs.

Here: Job; SubmittedJob, which identifies a job at its scheduler; the names of the files in its folder.
Not here: running it (local, slurm), its script (batch_script), what it may use (resources).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pellucid.jobs.resources import Resources

LOG, EXIT, STARTED, WAITING, SCRIPT = "log.txt", "exit", "started", "waiting", "script.sh"


@dataclass(frozen=True)
class Job:
    """A command with a folder.

    id: unique, of letters, digits and dashes; the job's name at the scheduler has it. folder: its own, which only its
    owner can enter; log, script and exit code lie there. environment: nothing secret, it can be read by others.
    serial_lock: a file; jobs with the same file run one after another, where no scheduler does that.
    """

    id: str
    command: tuple[str, ...]
    folder: Path
    resources: Resources = field(default_factory=Resources)
    environment: Mapping[str, str] = field(default_factory=dict)
    serial_lock: Path | None = None


@dataclass(frozen=True)
class SubmittedJob:
    """handle: the scheduler's id of the job; "" if the program stopped before it was saved."""

    id: str
    handle: str
    folder: Path


def exit_code(folder: Path) -> int | None:
    """What a job's command ended with; None where it has not, or where it was killed with everything around it."""
    try:
        return int((folder / EXIT).read_text())
    except (OSError, ValueError):
        return None
