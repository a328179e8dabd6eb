"""A command for a scan that the agent runs: here, or as a job of the cluster, which may have to wait.

Here: AgentRun: submitting the command, its progress, what it waits for, its end.
Not here: the agent's side (agent.jobs.viewer_tasks), a reconstruction in a child of the viewer (runs).

It goes on when the viewer ends. Stopped, it can be started again and continues.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pellucid.errors import Cancelled, PellucidError
from pellucid.instance.reconstruction.run_time import TimeLeft
from pellucid.instance.tasks.runner import CommandReport, CommandRequest, CommandRunner, RunningCommand
from pellucid.instance.tasks.tasks import TaskRegistry
from pellucid.jobs.job_state import JobState
from pellucid.jobs.task_progress import TaskProgress

POLL_S = 0.5


@dataclass
class AgentRun:
    """log_folder: where a link to the log of the command goes. what: the command makes, for errors. left: how long it
    takes. progress: the last that it reported."""

    runner: CommandRunner
    request: CommandRequest
    log_folder: Path
    what: str
    left: TimeLeft = field(default_factory=lambda: TimeLeft(None))
    progress: TaskProgress | None = None
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self) -> None:
        self._stopped.set()

    async def carry_out(self, id: str, tasks: TaskRegistry) -> None:
        command = await asyncio.to_thread(self.runner.submit, self.request)
        (self.log_folder / f"{id}.log").symlink_to(command.log)
        is_cancelled = False
        while not (seen := await asyncio.to_thread(command.look)).is_over:
            if self._stopped.is_set() and not is_cancelled:
                is_cancelled = True
                await self._cancel(command, seen)
            self.progress = seen.progress
            _report(tasks, id, seen, self.left)
            with suppress(TimeoutError):
                await asyncio.wait_for(_pause(self._stopped, is_cancelled), POLL_S)
        self._conclude(seen)

    async def _cancel(self, command: RunningCommand, seen: CommandReport) -> None:
        await asyncio.to_thread(command.cancel)
        if seen.state is None:  # The agent has not started it, and will not.
            raise Cancelled(self.what)

    def _conclude(self, seen: CommandReport) -> None:
        progress, state = seen.progress, seen.state
        if seen.refusal is not None:
            raise seen.refusal
        if progress is not None and progress.result:
            return
        if self._stopped.is_set():
            raise Cancelled(self.what)
        if progress is not None and progress.error is not None:
            raise progress.error.to_error()
        if state is not None and state.phase == "ended":  # It was stopped on the agent's page.
            raise Cancelled(self.what)
        why = "" if state is None else f": {state.reason.rstrip('.')}"
        raise PellucidError(f"{self.what} did not finish{why}.", remedy="See its log.")


async def _pause(stopped: asyncio.Event, is_cancelled: bool) -> None:
    """Until a user stops it; once that has happened, for as long as the caller allows."""
    await (asyncio.Event() if is_cancelled else stopped).wait()


def _report(tasks: TaskRegistry, id: str, seen: CommandReport, left: TimeLeft) -> None:
    if seen.state is None:
        left.begin()
        tasks.report_waiting(id, "Waiting for the agent")
    elif seen.state.phase in ("queued", "unknown"):
        left.begin()
        tasks.report_waiting(id, _waiting(seen.state))
    else:
        fraction = None if seen.progress is None else seen.progress.fraction
        tasks.report(id, round(100 * (fraction or 0.0)), 100, "%", left.seconds(fraction))


def _waiting(state: JobState) -> str:
    """
    >>> _waiting(JobState("queued", "Resources", place=3))
    'Waiting in the queue at position 3: Resources'
    """
    place = "" if state.place is None else f" at position {state.place}"
    return f"Waiting in the queue{place}" + (f": {state.reason.rstrip('.')}" if state.reason else "")
