"""Reading the output of squeue.

Here: SqueueRow, the columns that are asked for, and the state that each of Slurm's states stands for.
Not here: asking (slurm).

Columns rather than JSON: they are the same in every version of Slurm, and one line per job.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pellucid.jobs.job_state import JobState, Phase

SEPARATOR = "\x1f"
COLUMNS = ("%i", "%j", "%T", "%r", "%S", "%e", "%N", "%Q", "%P")
FORMAT = SEPARATOR.join(COLUMNS)
FORMAT_WITHOUT_NAMES = FORMAT.replace("%j", "")
"""For jobs of other users: a name is theirs to choose, and one with a line break in it would look like another job."""

PHASES: dict[str, Phase] = {
    "PENDING": "queued",
    "REQUEUED": "queued",
    "REQUEUE_HOLD": "queued",
    "REQUEUE_FED": "queued",
    "RESV_DEL_HOLD": "queued",
    "SPECIAL_EXIT": "queued",
    "CONFIGURING": "starting",
    "RUNNING": "running",
    "SUSPENDED": "running",
    "STOPPED": "running",
    "RESIZING": "running",
    "SIGNALING": "running",
    "STAGE_OUT": "ending",
    "COMPLETING": "ending",
    "COMPLETED": "ended",
    "CANCELLED": "ended",
    "TIMEOUT": "ended",
    "DEADLINE": "ended",
    "PREEMPTED": "ended",
    "REVOKED": "ended",
    "FAILED": "failed",
    "NODE_FAIL": "failed",
    "OUT_OF_MEMORY": "failed",
    "BOOT_FAIL": "failed",
}
SENTENCES = {
    "COMPLETED": "Finished.",
    "CANCELLED": "Cancelled.",
    "TIMEOUT": "Reached its time limit.",
    "DEADLINE": "Reached its deadline.",
    "PREEMPTED": "Preempted by another job.",
    "REVOKED": "Moved to another cluster.",
    "FAILED": "The command failed.",
    "NODE_FAIL": "The node failed.",
    "OUT_OF_MEMORY": "Out of memory.",
    "BOOT_FAIL": "The node failed to boot.",
    "SUSPENDED": "Suspended.",
    "STOPPED": "Stopped.",
}


@dataclass(frozen=True)
class SqueueRow:
    """One job. start, end: seconds since 1970, expected or real; None where Slurm does not know yet."""

    id: str
    name: str
    state: str
    reason: str
    start: float | None
    end: float | None
    nodes: str
    priority: int
    partition: str

    @classmethod
    def parse(cls, text: str) -> "SqueueRow | None":
        parts = text.split(SEPARATOR)
        if len(parts) != len(COLUMNS):
            return None
        id, name, state, reason, start, end, nodes, priority, partition = parts
        return cls(id, name, state, reason, _seconds(start), _seconds(end), nodes, _whole(priority), partition)


def parse(output: str) -> list[SqueueRow]:
    """Every job that is listed; lines that are none, such as warnings, are passed over."""
    lines = (SqueueRow.parse(text) for text in output.splitlines())
    return [line for line in lines if line is not None]


def state_of(line: SqueueRow, all_jobs: Iterable[SqueueRow] = ()) -> JobState:
    """The state of a job. all_jobs: gives a queued job its place in the queue."""
    phase = PHASES.get(line.state, "unknown")
    if phase == "queued":
        reason = "" if line.reason == "None" else line.reason
        return JobState(phase, reason, place(line, all_jobs), line.start, None)
    reason = SENTENCES.get(line.state, "" if phase != "unknown" else f"Slurm state: {line.state}.")
    ends_at = line.end if phase in ("starting", "running") else None
    return JobState(phase, reason, ends_at=ends_at, node=line.nodes)


def is_waiting(line: SqueueRow) -> bool:
    return PHASES.get(line.state) == "queued"


def is_over(line: SqueueRow) -> bool:
    """Whether it has ended, or is about to without being asked."""
    return PHASES.get(line.state) in ("ending", "ended", "failed")


def place(line: SqueueRow, all_jobs: Iterable[SqueueRow]) -> int:
    """From 1: behind those of its partition that wait with a higher priority, or with the same for longer."""
    waiting = [one for one in all_jobs if is_waiting(one) and one.partition == line.partition]
    return 1 + sum(_rank(one) < _rank(line) for one in waiting)


def _rank(line: SqueueRow) -> tuple[int, int]:
    return (-line.priority, _whole(line.id.partition("_")[0]))


def _seconds(text: str) -> float | None:
    return float(text) if text.isdecimal() and int(text) > 0 else None


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() else 0
