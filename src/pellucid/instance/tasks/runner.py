"""Commands that run outside of a viewer's own process tree.

Here: CommandRequest; CommandRunner and RunningCommand, which the agent implements for the viewers that it starts.
Not here: the agent's side (agent.jobs.viewer_tasks), commands that a viewer starts itself (reconstruction.command_run).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pellucid.errors import PellucidError
from pellucid.jobs.job_state import JobState
from pellucid.jobs.task_progress import TaskProgress


@dataclass(frozen=True)
class CommandRequest:
    """A command to run. arguments: behind ``pellucid``. files: the text of a private file for each of these options.
    readable: the folders that it may read."""

    name: str
    arguments: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    readable: tuple[str, ...] = ()


@dataclass(frozen=True)
class CommandReport:
    """How far a command is. state: of its job; None until it has one. refusal: why it was not started."""

    state: JobState | None = None
    progress: TaskProgress | None = None
    refusal: PellucidError | None = None

    @property
    def is_over(self) -> bool:
        return self.refusal is not None or (self.state is not None and self.state.is_over)


class RunningCommand(Protocol):
    """A command that was submitted. Both methods read and write files."""

    @property
    def log(self) -> Path: ...

    def look(self) -> CommandReport: ...

    def cancel(self) -> None: ...


class CommandRunner(Protocol):
    """is_here: whether commands run at once, on this machine."""

    is_here: bool

    def submit(self, request: CommandRequest) -> RunningCommand: ...
