"""A scheduler that submits nothing, whose states are set by the test."""

from collections.abc import Iterable

import pytest

from pellucid.agent.jobs import schedulers
from pellucid.jobs.job import Job, SubmittedJob
from pellucid.jobs.job_state import JobState
from pellucid.jobs.site import Site


class FakeScheduler:
    """known: states by job. cancelled: ids, and whether it was urgent. refusal: raised instead of submitting a job."""

    def __init__(self) -> None:
        self.known: dict[str, JobState] = {}
        self.jobs: list[Job] = []
        self.cancelled: list[tuple[str, bool]] = []
        self.questions = 0
        self.refusal: Exception | None = None

    def submit(self, job: Job, site: Site) -> str:
        if self.refusal is not None:
            raise self.refusal
        self.jobs.append(job)
        self.known.setdefault(job.id, JobState("queued", "Priority", place=3))
        return str(len(self.jobs))

    def states(self, jobs: Iterable[SubmittedJob]) -> dict[str, JobState]:
        self.questions += 1
        return {job.id: self.known.get(job.id, JobState("lost")) for job in jobs}

    def cancel(self, job: SubmittedJob, is_urgent: bool = False) -> None:
        self.cancelled.append((job.id, is_urgent))


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> FakeScheduler:
    """Used instead of the site's."""
    fake = FakeScheduler()
    monkeypatch.setattr(schedulers, "make_scheduler", lambda _: fake)
    return fake
