"""The state of a job.

Here: JobState, and the last lines of a log.
Not here: finding out (local, slurm).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Phase = Literal["queued", "starting", "running", "ending", "ended", "failed", "lost", "unknown"]
OVER: frozenset[Phase] = frozenset({"ended", "failed", "lost"})
LINES = 50
TAIL_BYTES = 64 * 1024


@dataclass(frozen=True)
class JobState:
    """One moment of a job.

    reason: why it waits, ended, failed, or cannot be known. place: in the queue, from 1. expected_start, ends_at:
    seconds since 1970; ends_at: when the scheduler ends it. last: the phase known last, for lost and unknown. log: its
    last lines, for failed.

    unknown is not lost: the scheduler could not be asked, and the job may well run.
    """

    phase: Phase
    reason: str = ""
    place: int | None = None
    expected_start: float | None = None
    ends_at: float | None = None
    node: str = ""
    last: str = ""
    log: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        return self.phase in OVER


def last_lines(path: Path, count: int = LINES) -> tuple[str, ...]:
    """The end of a log, however long it is; nothing where there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:
        return ()
    return tuple(text.splitlines()[-count:])
