"""Reconstructing the volume of a scan in the background: a command with a recipe file, as a task.

Here: start; the command in a process of the viewer: its progress, its log, its end.
Not here: what it does (tomo, by way of the command line), trying settings before (previews), the same through the agent
(agent_run).

The command does what the shown one does. Stopped, or left by a viewer that ends, it can be started again and goes on
where it was.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pellucid.dataclass_json import check_storable
from pellucid.errors import Cancelled, NotFound, OutputExists, PellucidError
from pellucid.formats.local_files import VARIABLE, limit_text
from pellucid.formats.location import Location
from pellucid.instance.protocol.reconstruction import ReconstructionRequest
from pellucid.instance.reconstruction.agent_run import AgentRun
from pellucid.instance.reconstruction.previews import checked_scan
from pellucid.instance.session import Session
from pellucid.instance.tasks.runner import CommandRequest, CommandRunner
from pellucid.instance.tasks.tasks import TaskRegistry
from pellucid.jobs.task_progress import TaskProgress, read_progress
from pellucid.python_processes import module_command
from pellucid.tomo.command_line import (
    ReconstructionParameters,
    arguments,
    arguments_of_files,
    recipe_text,
    shell_line,
)

LOOK_S = 0.2
TIMEOUT_S = 5.0
INTERRUPTED = 130
LOG_BYTES = 256 * 1024


def command(session: Session, request: ReconstructionRequest) -> list[str]:
    """What the process is started with, behind ``pellucid``."""
    source = checked_scan(session.roots, request.path, request.options)
    target = session.roots.require_allowed(request.output)
    return arguments(
        source, target, ReconstructionParameters(request.options, request.recipe), is_replaced=request.is_replaced
    )


def command_text(session: Session, request: ReconstructionRequest) -> str:
    return shell_line(command(session, request))


def start(session: Session, request: ReconstructionRequest) -> str:
    """Begin; the id of the task."""
    check_storable(request, "the request")
    source = checked_scan(session.roots, request.path, request.options)
    target = session.roots.require_allowed(request.output)
    if not request.is_replaced and Path(target).exists():
        raise OutputExists(request.output)
    name = f"Reconstructing {Location.parse(request.path).name}"
    words = arguments_of_files(source, target, is_replaced=request.is_replaced)
    recipe = recipe_text(ReconstructionParameters(request.options, request.recipe))
    if session.runner is None:
        run: _Run | AgentRun = _Run(words, recipe, session, is_watched=request.is_watched)
    else:
        request = replace(request, is_watched=request.is_watched and session.runner.is_here)
        run = _agent_run(session, session.runner, CommandRequest(name, tuple(words), {"--recipe": recipe}), request)

    async def work(id: str) -> None:
        await run.carry_out(id, session.tasks)

    task = session.tasks.start(name, work, run.stop)
    session.drafts.run_started(request, task)
    session.broadcast(session.drafts.message(), "own")
    return task


def _agent_run(
    session: Session, runner: CommandRunner, command: CommandRequest, request: ReconstructionRequest
) -> AgentRun:
    """Slices are shown only where it starts at once: the address of a viewer does not hold for long."""
    device = ("--device", session.relay.device) if runner.is_here else ()
    files = {**command.files, **({"--view": session.owner_url()} if request.is_watched else {})}
    command = replace(command, arguments=(*command.arguments, *device), files=files, readable=session.roots.readable)
    return AgentRun(runner, command, session.tasks.folder)


def log_of(session: Session, task: str) -> str:
    """What the process of a task has written, the end of it."""
    session.tasks.status(task)
    path = _log(session.tasks.folder, task)
    if path.is_symlink() and not path.exists():  # The agent has not started it yet.
        return ""
    if not path.exists():
        raise NotFound(f"The log of the task {task}")
    return path.read_text(errors="replace")[-LOG_BYTES:]


def _log(folder: Path, task: str) -> Path:
    return folder / f"{task}.log"


@dataclass
class _Run:
    """One process."""

    words: list[str]
    recipe: str
    session: Session
    is_watched: bool
    _process: asyncio.subprocess.Process | None = field(default=None, repr=False)
    _stopped_at: float | None = None

    def stop(self) -> None:
        """In order: what is written stays of use. Who does not heed it is killed after a while."""
        self._stopped_at = self._stopped_at or time.monotonic()
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGINT)

    async def carry_out(self, id: str, tasks: TaskRegistry) -> None:
        log, progress = _log(tasks.folder, id), tasks.folder / f"{id}.progress"
        recipe = tasks.folder / f"{id}.recipe.json"
        recipe.write_text(self.recipe)
        self.words += ["--recipe", str(recipe), "--device", self.session.relay.device]
        self.words += ["--view", "-"] if self.is_watched else []
        report = lambda share: tasks.report(id, round(100 * share), 100, "%")  # noqa: E731
        with _pipe() as (theirs, _):  # It ends when this process does, also where this is killed.
            self._process = process = await self._started(log, progress, theirs)
            await self._watch(process, progress, report)
        self._conclude(process.returncode or 0, read_progress(progress))

    async def _started(self, log: Path, progress: Path, pipe: int) -> asyncio.subprocess.Process:
        allowed = limit_text(self.session.roots.readable)
        with log.open("wb") as stream:
            process = await asyncio.create_subprocess_exec(
                *module_command("pellucid", *self.words, "--progress-file", str(progress), "--end-with", str(pipe)),
                pass_fds=[pipe],
                stdin=asyncio.subprocess.PIPE, stdout=stream, stderr=stream, env={**os.environ, VARIABLE: allowed},
            )  # fmt: skip
        _tell(process, self.session.owner_url())
        return process

    async def _watch(
        self, process: asyncio.subprocess.Process, progress: Path, report: Callable[[float], None]
    ) -> None:
        if self._stopped_at is not None:  # Before it had begun.
            self.stop()
        try:
            while not await _has_ended(process):
                if self._stopped_at is not None and time.monotonic() > self._stopped_at + TIMEOUT_S:
                    process.kill()
                if (made := read_progress(progress)) is not None:
                    report(made.fraction or 0.0)
        finally:
            if process.returncode is None:
                process.terminate()

    def _conclude(self, code: int, progress: TaskProgress | None) -> None:
        if self._stopped_at is not None or code == INTERRUPTED:
            raise Cancelled("The reconstruction")
        if code != 0 and progress is not None and progress.error is not None:
            raise progress.error.to_error()
        if code != 0:
            raise PellucidError(f"The reconstruction failed with exit code {code}.", remedy="See its log.")


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe, for a while."""
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


def _tell(process: asyncio.subprocess.Process, url: str) -> None:
    """A private file with the address of this viewer."""
    if process.stdin is not None:
        process.stdin.write(f"{url}\n".encode())
        process.stdin.close()


async def _has_ended(process: asyncio.subprocess.Process) -> bool:
    """Waits a little for it."""
    try:
        await asyncio.wait_for(process.wait(), LOOK_S)
    except TimeoutError:
        return False
    return True
