"""Jobs for tests: a command that says when it began, and waits until it is let go."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pellucid.jobs.job import Job, SubmittedJob
from pellucid.jobs.job_state import JobState
from pellucid.jobs.private_files import private_folder
from pellucid.jobs.resources import Resources
from pellucid.jobs.scheduler import Scheduler
from pellucid.jobs.site import Site
from tests.waiting import wait_until

# Opening a pipe to read waits until somebody opens it to write: no sleep, and no end before it is told.
WAITING = ("/bin/sh", "-c", "echo begun; read -r code <gate; exit $code")


class Started:
    """A job under test."""

    def __init__(self, scheduler: Scheduler, site: Site, job: Job) -> None:
        self._scheduler, self.folder = scheduler, job.folder
        self.submitted = SubmittedJob(job.id, scheduler.submit(job, site), job.folder)

    @property
    def state(self) -> JobState:
        return self._scheduler.states([self.submitted])[self.submitted.id]

    def until(self, *phases: str) -> JobState:
        wait_until(lambda: self.state.phase in phases)
        return self.state

    def let_go(self, code: int = 0) -> None:
        (self.folder / "gate").write_text(f"{code}\n")

    def until_begun(self) -> None:
        wait_until(lambda: "begun" in _text(self.folder / "log.txt"))

    def cancel(self, is_urgent: bool = False) -> None:
        self._scheduler.cancel(self.submitted, is_urgent)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


Start = Callable[..., Started]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """start(scheduler, site, resources=..., command=..., turn=...): a job with a folder and a gate."""
    count = iter(range(100))

    def start(
        scheduler: Scheduler,
        site: Site,
        resources: Resources | None = None,
        command: tuple[str, ...] = WAITING,
        turn: Path | None = None,
    ) -> Started:
        id = f"{tmp_path.name.replace('_', '-')}-{next(count)}"
        folder = private_folder(tmp_path / id)
        os.mkfifo(folder / "gate")
        return Started(scheduler, site, Job(id, command, folder, resources or Resources(), serial_lock=turn))

    return start
