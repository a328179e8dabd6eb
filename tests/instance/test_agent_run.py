"""A reconstruction that the agent runs, as the task of a viewer: what it waits for, how far it is, how it ends."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pellucid.errors import Cancelled, InvalidInput, NotEnoughMemory, PellucidError
from pellucid.instance.lifecycle.idle import IdleTimer
from pellucid.instance.reconstruction.agent_run import AgentRun
from pellucid.instance.tasks.runner import CommandReport, CommandRequest
from pellucid.instance.tasks.tasks import TaskRegistry
from pellucid.jobs.job_state import JobState
from pellucid.jobs.task_progress import TaskError, TaskProgress

QUEUED = CommandReport(JobState("queued", "Resources.", place=2))
RUNNING = CommandReport(JobState("running"), TaskProgress("Reconstructing", 0.5, ""))
FINISHED = CommandReport(JobState("ended"), TaskProgress("Reconstructing", 1.0, "", "/a.zarr"))
STOPPED = CommandReport(JobState("ended"), TaskProgress("Reconstructing", 0.5, ""))
SHORT = TaskError("NotEnoughMemory", "It needs 9 GiB.", "Use fewer rows.")
FAILED = CommandReport(JobState("failed", "Failed with exit code 1."), TaskProgress("", None, "", error=SHORT))
KILLED = CommandReport(JobState("failed", "Killed."), None)


@dataclass
class Command:
    """A runner and its command, whose reports are given; the last one stays. stop_at: the look at which it stops."""

    reports: Sequence[CommandReport]
    stop_at: int = -1
    is_here: bool = False
    looks: int = 0
    cancelled: int = 0
    run: AgentRun | None = None
    notes: list[tuple[int, int | None, str]] = field(default_factory=list)
    log: Path = Path("/nowhere/log.txt")

    def submit(self, request: CommandRequest) -> "Command":
        return self

    def look(self) -> CommandReport:
        self.looks += 1
        return self.reports[min(self.looks, len(self.reports)) - 1]

    def cancel(self) -> None:
        self.cancelled += 1


def carried_out(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int | None, str]]:
    """What the task said while the command went on: done, total, note."""
    monkeypatch.setattr("pellucid.instance.reconstruction.agent_run.POLL_S", 0.001)
    seen: list[tuple[int, int | None, str]] = []

    async def work() -> None:
        tasks = TaskRegistry(IdleTimer(60.0), list)
        id = tasks.begin("Reconstructing a")
        run = AgentRun(command, CommandRequest("Reconstructing a", ("reconstruct",)), tmp_path, "The reconstruction")
        look = command.look

        def watched() -> CommandReport:
            if command.looks == command.stop_at:
                loop.call_soon_threadsafe(run.stop)
            status = tasks.status(id)
            seen.append((status.done, status.total, status.note))
            return look()

        loop = asyncio.get_running_loop()
        monkeypatch.setattr(command, "look", watched)
        try:
            await run.carry_out(id, tasks)
        finally:
            tasks.close()

    asyncio.run(work())
    return list(dict.fromkeys(seen))


def test_what_waits_says_so_and_shows_no_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = Command([CommandReport(), QUEUED, RUNNING, FINISHED])
    assert carried_out(command, tmp_path, monkeypatch) == [
        (0, None, ""),
        (0, None, "Waiting for the agent"),
        (0, None, "Waiting in the queue at position 2: Resources"),
        (50, 100, ""),
    ]


@pytest.mark.parametrize(
    ("last", "kind", "what"),
    [
        (FAILED, NotEnoughMemory, "It needs 9 GiB."),
        (KILLED, PellucidError, "The reconstruction did not finish: Killed."),
        (STOPPED, Cancelled, "The reconstruction"),
        (CommandReport(refusal=InvalidInput("No partition.", remedy="Ask.")), InvalidInput, "No partition."),
    ],
)
def test_how_it_fails(
    last: CommandReport, kind: type[PellucidError], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(kind) as raised:
        carried_out(Command([RUNNING, last]), tmp_path, monkeypatch)
    assert raised.value.what.startswith(what)


@pytest.mark.parametrize("before", [CommandReport(), RUNNING])
def test_stopping_cancels_it_once(before: CommandReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = Command([before] * 5 + [STOPPED], stop_at=2)
    with pytest.raises(Cancelled):
        carried_out(command, tmp_path, monkeypatch)
    assert command.cancelled == 1
