"""The schedulers in use, and how they respond.

Here: Schedulers: made when one is needed, asked as often as is due; SchedulerStatus, what is known of their answers.
Not here: each of them (jobs), what follows from an answer (supervisor).
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pellucid.jobs.job import SubmittedJob
from pellucid.jobs.job_state import JobState
from pellucid.jobs.scheduler import Scheduler, make_scheduler

LOCAL_POLL_S = 0.1


@dataclass
class SchedulerStatus:
    """How a scheduler has answered. seconds: what its last answer took."""

    count: int = 0
    unanswered: int = 0
    seconds: float = 0.0

    def note(self, seconds: float, is_answered: bool) -> None:
        self.count, self.unanswered, self.seconds = self.count + 1, self.unanswered + (not is_answered), seconds


class Schedulers:
    """poll_s: how often one that is not of this machine is asked."""

    def __init__(self, poll_s: float, clock: Callable[[], float]) -> None:
        self._poll_s, self._clock = poll_s, clock
        self._made: dict[str, Scheduler] = {}
        self._requested_at: dict[str, float] = {}
        self.request: dict[str, SchedulerStatus] = {}

    def of(self, name: str) -> Scheduler:
        if name not in self._made:
            self._made[name] = make_scheduler(name)
        return self._made[name]

    def is_due(self, name: str) -> bool:
        """Whether it is time to ask again; a caller that gets True must ask."""
        now = self._clock()
        every_s = LOCAL_POLL_S if name == "local" else self._poll_s
        if now - self._requested_at.get(name, 0.0) < every_s:
            return False
        self._requested_at[name] = now
        return True

    def states(self, name: str, jobs: Iterable[SubmittedJob]) -> dict[str, JobState]:
        began = time.perf_counter()
        states = self.of(name).states(jobs)
        is_answered = any(state.phase != "unknown" for state in states.values())
        self.request.setdefault(name, SchedulerStatus()).note(time.perf_counter() - began, is_answered)
        return states
