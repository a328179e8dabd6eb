"""Events of the Worker, and how a session handles them.

Here: WorkerEvents: ready, lost, compiling, frames, failures, progress; which shading a lost Worker is blamed on.
Not here: from the Worker's threads to the event loop (worker_relay), replacing a lost Worker (workers.supervisor).
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pellucid.errors import PellucidError
from pellucid.formats.protocol import Voxels
from pellucid.instance.access.redaction import refuse
from pellucid.instance.frames.scheduler import BUDGET_MS, CUDA_BUDGET_MS
from pellucid.instance.protocol.server_messages import ErrorMessage, WorkerStatus
from pellucid.instance.protocol.shared_types import WorkerState
from pellucid.instance.scene.history import ScenePair
from pellucid.workers.process import ExitReason
from pellucid.workers.protocol.replies import FrameDrawn, ProgressReported, Stage

if TYPE_CHECKING:
    from pellucid.instance.session import Session

THUMBNAIL_ROWS = 240


class WorkerEvents:
    """Called on the event loop. status: the last status sent to clients."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.status = WorkerStatus("starting")

    def worker_is_ready(self, device: str) -> None:
        session = self._session
        self._tell(WorkerStatus("ready"))
        session.picturing.budget_ms = CUDA_BUDGET_MS if device.startswith("cuda") else BUDGET_MS
        session.picturing.restart()
        session.slicing.worker_is_ready()

    def worker_was_lost(self, ending: ExitReason, is_given_up: bool) -> None:
        session = self._session
        what, remedy = f"The render process stopped: {ending.why}.", "A new one is starting."
        # Also without a page: programs take screenshots and make movies.
        drawn = (*session.picturing.drawn_scenes, *ending.scenes)
        culprit = session.shadings.last_drawn_shading(drawn) if ending.is_fault else None
        if culprit is not None:
            self._drop(culprit)
            remedy = "The custom shading caused this; the last working one was restored."
        elif is_given_up:
            session.picturing.stop()
            remedy = (
                "It failed several times. Change the view or the settings to try again; see the terminal for details."
            )
        self._tell(WorkerStatus("stopped" if is_given_up else "lost", what, remedy))
        if not is_given_up:  # For a while: the other one stays until something is done.
            session.broadcast(ErrorMessage(what, remedy, session.history.revision))

    def stage_changed(self, stage: Stage) -> None:
        """Say so while kernels are compiled: the first time on a machine that takes a while, and no frame comes."""
        if stage == "compiling" and self.status.state == "ready":
            self._tell(WorkerStatus("compiling"))
        elif stage != "compiling" and self.status.state == "compiling":
            self._tell(WorkerStatus("ready"))

    def frame_drawn(self, drawn: FrameDrawn, pixels: Voxels, release: Callable[[], None]) -> None:
        session = self._session
        if drawn.is_exact:
            session.shadings.were_drawn(session.picturing.drawn_scenes[:1])
            if drawn.view == 0:
                self._show_recent(pixels)
        session.picturing.frame_drawn(drawn, pixels, release)

    def _show_recent(self, pixels: Voxels) -> None:
        """Keep the first exact image of a file that was opened for the list of recent files."""
        scenes = self._session.picturing.drawn_scenes
        volumes = scenes[0].volumes if scenes else ()
        recent = self._session.recent
        if len(volumes) == 1 and recent.wants_image(volumes[0].source):
            stride = max(1, pixels.shape[0] // THUMBNAIL_ROWS)
            small = pixels[::stride, ::stride].copy()  # The buffer of the image is used again.
            asyncio.get_running_loop().run_in_executor(None, recent.set_image, volumes[0].source, small)

    def drawing_failed(self, number: int, error: PellucidError) -> None:
        for member in self._session.members.values():
            refuse(self._session, member, error)
        self._session.picturing.failed(number)

    def progress_reported(self, progress_made: ProgressReported) -> None:
        tasks = self._session.tasks
        tasks.worker_progress(progress_made, tasks.exporting if progress_made.request >= 0 else None)

    @contextmanager
    def busy(self, doing: WorkerState) -> Iterator[None]:
        """Say so while the Worker does something that may take long."""
        self._tell(WorkerStatus(doing))
        try:
            yield
        finally:
            if self.status.state == doing:
                self._tell(WorkerStatus("ready"))

    def _drop(self, culprit: str) -> None:
        session = self._session
        session.worker.forget_shading(culprit)
        scene, other = session.shadings.without_shading(session.history.scene, culprit), session.history.other
        session.change(ScenePair(scene, None if other is None else session.shadings.without_shading(other, culprit)))
        session.shadings_changed()

    def _tell(self, status: WorkerStatus) -> None:
        self.status = status
        self._session.broadcast(status)
