"""The supervised Worker that renders: when its process is lost, another one replaces it.

Here: SupervisedWorker, which remembers shadings, draws and takes screenshots; what it reports.
Not here: requests and replacement (supervised_process), arrays (array_store), what to draw after a loss (instance).
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from pellucid.box import Box
from pellucid.errors import PellucidError
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.rendering.scene import Scene
from pellucid.workers.array_store import ArrayStore, OwnedArray
from pellucid.workers.folder_limit import FolderLimit
from pellucid.workers.process import Deadlines, ExitReason, WorkerCommand, WorkerProcess
from pellucid.workers.protocol import replies, requests
from pellucid.workers.supervised_process import SupervisedProcess, WaitingRequest, error_of


class FrameSlotViews:
    """The shared memory for images of one process."""

    def __init__(self) -> None:
        self._memory: dict[int, SharedArray] = {}

    def pixels(self, drawn: replies.FrameDrawn, descriptor: int | None) -> Voxels:
        """(height, width, 4). descriptor: of a slot that is new."""
        if descriptor is not None:
            self._memory[drawn.slot] = SharedArray(descriptor, (drawn.nbytes,), np.uint8)
        size = drawn.width * drawn.height * 4
        return self._memory[drawn.slot].array[:size].reshape(drawn.height, drawn.width, 4)


class WorkerListener(Protocol):
    """Receives what a Worker reports. SupervisedWorker calls it from its own threads, and it must not wait; WorkerRelay
    calls the session's on the event loop. pixels: (height, width, 4) uint8 in memory that the Worker uses again:
    release it."""

    def worker_is_ready(self, device: str) -> None: ...
    def worker_was_lost(self, ending: ExitReason, is_given_up: bool) -> None: ...
    def stage_changed(self, stage: replies.Stage) -> None: ...
    def frame_drawn(self, drawn: replies.FrameDrawn, pixels: Voxels, release: Callable[[], None]) -> None: ...
    def drawing_failed(self, number: int, error: PellucidError) -> None: ...
    def progress_reported(self, progress_made: replies.ProgressReported) -> None: ...


def _scenes(waiting: Iterable[requests.Request]) -> Iterator[Scene]:
    """Those that are still to be drawn for programs."""
    return (one.view.scene for one in waiting if isinstance(one, requests.TakeScreenshot))


class SupervisedWorker(SupervisedProcess):
    """The Worker of the role "render". It starts with its first request, and again as soon as it is lost. service: as
    in WorkerCommand, where others draw than the devices of this machine."""

    restarts_at_once = True

    def __init__(
        self, device: str | None, listener: WorkerListener, deadlines: Deadlines | None = None, service: str = ""
    ) -> None:
        command = WorkerCommand(device, service)
        super().__init__("render", command, deadlines or Deadlines(), ArrayStore(), FolderLimit())
        self.device, self._listener = device, listener
        self.is_remote = bool(service)
        self._slots = FrameSlotViews()
        self._shadings: dict[str, str] = {}
        self._draws = itertools.count()
        self._again: dict[str, Future[replies.Compiled]] = {}
        self._is_ready = False
        self._request: requests.Draw | None = None

    # What it can do

    def draw(self, views: tuple[requests.ViewSpec, ...], budget_ms: float, is_exact: bool) -> int:
        """Draw these instead of whatever is being drawn. Returns the number that its images carry."""
        with self._lock:
            self._request = requests.Draw(next(self._draws), views, budget_ms, is_exact)
            self.start()
            # Until the process listens, requests would queue in the socket.
            if self._is_ready and self._process:
                self._process.send(self._request)
            return self._request.number

    def screenshot(self, view: requests.ViewSpec, *, is_for_guest: bool = False) -> "Future[Voxels]":
        """One exact image, copied, when there is time for it. is_for_guest: it waits for everything else."""
        what = "taking a screenshot"
        return self.send_request(what, lambda request: requests.TakeScreenshot(request, view, is_for_guest))

    def compile(self, source: str) -> "Future[replies.Compiled]":
        """Make a shading; once it is made, every process that takes over has it too."""
        made = self._compile(source)

        def remember(done: "Future[replies.Compiled]") -> None:
            if done.exception() is None:
                self._shadings[done.result().hash] = source

        made.add_done_callback(remember)
        return made

    def forget_shading(self, hash: str) -> None:
        self._shadings.pop(hash, None)

    # Arrays, which Workers of other roles share

    @property
    def shared_arrays(self) -> ArrayStore:
        return self._arrays

    @property
    def arrays(self) -> set[str]:
        """The names of the arrays that were handed over."""
        return self._arrays.names

    @property
    def releasing(self) -> "set[Future[None]]":
        """Done when the memory of an array that is being forgotten was released."""
        return self._arrays.releasing

    def use_array(self, source: str, handed: OwnedArray) -> "Future[replies.Done]":
        """A volume by this name, now and in every process that takes over. The array belongs to this object."""
        return self._arrays.add(source, handed, self)

    def changed(self, source: str, boxes: Iterable[Box]) -> None:
        """Voxels of an array that was handed over are new; an image that is drawn from now on shows them."""
        self._arrays.changed(source, boxes)

    def forget_array(self, source: str) -> "Future[replies.Done]":
        """Give its memory back."""
        return self._arrays.remove(source, self)

    # Inside

    def _compile(self, source: str) -> "Future[replies.Compiled]":
        return self.send_request("compiling a shading", lambda request: requests.Compile(request, source))

    def _process_started(self) -> None:
        self._again = {hash: self._compile(text) for hash, text in self._shadings.items()}

    def _on_reply(self, process: WorkerProcess, answer: Any, descriptor: int | None) -> None:
        match answer:
            case replies.Ready(device):
                self._ready(process, device)
            case replies.FrameDrawn():
                self._losses = 0  # Only an image shows that it works: arrays are handed over before it fails again.
                self._drawn(process, answer, descriptor)
            case replies.Heartbeat(stage):
                self._listener.stage_changed(stage)
            case replies.ProgressReported():
                self._listener.progress_reported(answer)
            case replies.Failed(number, request) if request < 0:
                self._listener.drawing_failed(number, error_of(answer))
            case _:
                super()._on_reply(process, answer, descriptor)

    def _ready(self, process: WorkerProcess, device: str) -> None:
        with self._lock:
            self._is_ready = True
            if self._request is not None:
                process.send(self._request)
        self._listener.worker_is_ready(device)

    def _drawn(self, process: WorkerProcess, drawn: replies.FrameDrawn, descriptor: int | None) -> None:
        pixels = self._slots.pixels(drawn, descriptor)

        def release() -> None:
            process.send(requests.Release(drawn.slot))

        if drawn.request < 0:
            self._listener.frame_drawn(drawn, pixels, release)
            return
        copied = pixels.copy()
        release()
        with suppress(InvalidStateError):
            self._taken(drawn.request).set_result(copied)

    def _process_lost(self, ending: ExitReason, waiting: "list[WaitingRequest]") -> ExitReason:
        self._is_ready, self._slots = False, FrameSlotViews()
        # The image in progress may have caused it: the listener decides what is drawn next.
        self._request = None
        if ending.is_fault:
            unfinished = {hash for hash, made in self._again.items() if not made.done()}
            self._shadings = {hash: text for hash, text in self._shadings.items() if hash not in unfinished}
        return replace(ending, scenes=tuple(_scenes(one.command for one in waiting)))

    def _report_loss(self, ending: ExitReason, is_given_up: bool) -> None:
        self._listener.worker_was_lost(ending, is_given_up)
