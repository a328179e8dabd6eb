"""A command in a process of the viewer, as a task: its progress, its log, its end.

Here: CommandRun; log_file, where its log goes.
Not here: which command (runs, denoising), the same through the agent (agent_run).

Stopped, or left by a viewer that ends, the command can be started again and continues.
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.errors import Cancelled, PellucidError
from pellucid.formats.local_files import VARIABLE, limit_text
from pellucid.instance.reconstruction.run_time import TimeLeft
from pellucid.instance.tasks.tasks import TaskRegistry
from pellucid.jobs.task_progress import TaskProgress, read_progress
from pellucid.python_processes import module_command

if TYPE_CHECKING:
    from pellucid.instance.session import Session

LOOK_S = 0.2
TIMEOUT_S = 5.0
INTERRUPTED = 130


def log_file(folder: Path, task: str) -> Path:
    return folder / f"{task}.log"


@dataclass
class CommandRun:
    """One process. what: it makes, for errors. left: how long it takes. progress: the last that it reported."""

    words: list[str]
    recipe: str
    session: "Session"
    what: str
    is_watched: bool = False
    left: TimeLeft = field(default_factory=lambda: TimeLeft(None))
    progress: TaskProgress | None = None
    _process: asyncio.subprocess.Process | None = field(default=None, repr=False)
    _stopped_at: float | None = None

    def stop(self) -> None:
        """In order: what is written stays of use. Who does not heed it is killed after a while."""
        self._stopped_at = self._stopped_at or time.monotonic()
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGINT)

    async def carry_out(self, id: str, tasks: TaskRegistry) -> None:
        log, progress = log_file(tasks.folder, id), tasks.folder / f"{id}.progress"
        recipe = tasks.folder / f"{id}.recipe.json"
        recipe.write_text(self.recipe)
        self.words += ["--recipe", str(recipe), "--device", self.session.relay.device]
        self.words += ["--view", "-"] if self.is_watched else []

        def report(share: float | None) -> None:
            tasks.report(id, round(100 * (share or 0.0)), 100, "%", self.left.seconds(share))

        report(None)
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
        self, process: asyncio.subprocess.Process, progress: Path, report: Callable[[float | None], None]
    ) -> None:
        if self._stopped_at is not None:  # Before it had begun.
            self.stop()
        try:
            while not await _has_ended(process):
                if self._stopped_at is not None and time.monotonic() > self._stopped_at + TIMEOUT_S:
                    process.kill()
                if (made := read_progress(progress)) is not None:
                    self.progress = made
                report(None if made is None else made.fraction)
        finally:
            if process.returncode is None:
                process.terminate()

    def _conclude(self, code: int, progress: TaskProgress | None) -> None:
        if self._stopped_at is not None or code == INTERRUPTED:
            raise Cancelled(self.what)
        if code != 0 and progress is not None and progress.error is not None:
            raise progress.error.to_error()
        if code != 0:
            raise PellucidError(f"{self.what} failed with exit code {code}.", remedy="See its log.")


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
