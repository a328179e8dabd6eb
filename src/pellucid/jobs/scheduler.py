"""The Scheduler protocol: where jobs run.

Here: the Scheduler protocol, and making one by name.
Not here: each of them (local, slurm), their table (site).
"""

import importlib
from collections.abc import Iterable
from typing import Protocol

from pellucid.jobs.job import Job, SubmittedJob
from pellucid.jobs.job_state import JobState
from pellucid.jobs.site import SCHEDULERS, Site


class Scheduler(Protocol):
    """All of its methods may take seconds, and any thread may call them."""

    def submit(self, job: Job, site: Site) -> str:
        """Start it, now or when there is room; its handle. What can never run is refused here."""
        ...

    def states(self, jobs: Iterable[SubmittedJob]) -> dict[str, JobState]:
        """Of all of them at once, by id."""
        ...

    def cancel(self, job: SubmittedJob, is_urgent: bool = False) -> None:
        """Ask it to end, whatever it is doing; where that is urgent, it is not asked."""
        ...


def make_scheduler(name: str) -> Scheduler:
    module, _, attribute = SCHEDULERS[name].partition(":")
    scheduler: Scheduler = getattr(importlib.import_module(module), attribute)()
    return scheduler
