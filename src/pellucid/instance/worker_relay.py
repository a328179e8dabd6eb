"""From the Worker's threads to the event loop.

Here: WorkerRelay, which passes the Worker's events to the session on its own thread; PrestartedWorker: both.
Not here: what the session makes of it (session).
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from pellucid import progress
from pellucid.cluster.viewer.cluster_file import PREFIX
from pellucid.errors import InvalidInput, PellucidError, WorkerLost
from pellucid.formats.protocol import Voxels
from pellucid.workers.process import Deadlines, ExitReason
from pellucid.workers.protocol.replies import FrameDrawn, ProgressReported, Stage
from pellucid.workers.supervisor import SupervisedWorker, WorkerListener

Result = TypeVar("Result")
POLL_S = 0.5
CLUSTER_SERVICE = "pellucid.cluster.viewer.service:ClusterWorkerMain"
"""Of the render Worker whose device names Device Workers."""


class WorkerRelay:
    """Until there is a loop, progress is shown in the terminal, and a failure to start is kept for wait()."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listener: WorkerListener | None = None
        self.device = ""
        self.failure: PellucidError | None = None
        self._settled = threading.Event()

    def wait(self) -> None:
        """Until the Worker is ready; if it cannot be, the reason is raised."""
        self._settled.wait()
        if self.failure is not None:
            raise self.failure

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        return self._loop

    def connect(self, loop: asyncio.AbstractEventLoop, listener: WorkerListener) -> None:
        self._loop, self._listener = loop, listener

    def disconnect(self) -> None:
        self._loop = self._listener = None

    def worker_is_ready(self, device: str) -> None:
        self.device = device
        self._settled.set()
        self._post(lambda listener: listener.worker_is_ready(device))

    def worker_was_lost(self, ending: ExitReason, is_given_up: bool) -> None:
        if not self._settled.is_set():
            self.failure = self.failure or WorkerLost("starting", ending.why)
            self._settled.set()
        self._post(lambda listener: listener.worker_was_lost(ending, is_given_up))

    def stage_changed(self, stage: Stage) -> None:
        self._post(lambda listener: listener.stage_changed(stage))

    def frame_drawn(self, drawn: FrameDrawn, pixels: Voxels, release: Callable[[], None]) -> None:
        if not self._post(lambda listener: listener.frame_drawn(drawn, pixels, release)):
            release()

    def drawing_failed(self, number: int, error: PellucidError) -> None:
        if not self._settled.is_set():
            self.failure = error
            self._settled.set()
        self._post(lambda listener: listener.drawing_failed(number, error))

    def progress_reported(self, progress_made: ProgressReported) -> None:
        if not self._post(lambda listener: listener.progress_reported(progress_made)):
            _show(progress_made)

    def call(self, function: Callable[[], object]) -> None:
        """On the event loop, soon; nothing happens where the viewer is ending."""
        self._post(lambda _: function())

    def wait_for(self, work: Coroutine[Any, Any, Result]) -> Result:
        """What work on the event loop comes to; for other threads, which wait."""
        loop = self._loop
        if loop is None or loop.is_closed():
            work.close()
            raise _ended()
        result = asyncio.run_coroutine_threadsafe(work, loop)
        while not wait([result], timeout=POLL_S).done:
            if self._loop is not loop:  # It stopped, and will never come to this.
                raise _ended()
        return result.result()

    def _post(self, notify: Callable[[WorkerListener], object]) -> bool:
        loop, listener = self._loop, self._listener
        if loop is None or listener is None or loop.is_closed():
            return False
        try:
            loop.call_soon_threadsafe(notify, listener)
        except RuntimeError:  # Closed between the question and the call.
            return False
        return True


def _ended() -> PellucidError:
    return InvalidInput("The viewer has ended.", remedy="Start it again.")


@dataclass(frozen=True)
class PrestartedWorker:
    """A Worker and its relay, before the session exists: both start while the other modules are imported."""

    relay: WorkerRelay
    worker: SupervisedWorker

    @classmethod
    def of(cls, device: str | None, deadlines: Deadlines | None = None) -> "PrestartedWorker":
        relay = WorkerRelay()
        service = CLUSTER_SERVICE if (device or "").startswith(PREFIX) else ""
        return cls(relay, SupervisedWorker(device, relay, deadlines, service))

    @classmethod
    @contextmanager
    def started(cls, device: str | None) -> "Iterator[PrestartedWorker]":
        """For as long as it takes to begin: where nothing comes of that, the Worker is ended again."""
        ahead = cls.of(device)
        try:
            ahead.worker.start()
            yield ahead
        except BaseException:
            ahead.worker.close()
            raise


def _show(made: ProgressReported) -> None:
    rate_known = progress.Update(
        -made.task, made.name, made.done, made.total, made.unit, 0.0, None, made.seconds_left,
        made.is_finished, made.is_stopped,
    )  # fmt: skip
    progress.current().report(rate_known)
