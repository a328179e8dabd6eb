"""A supervised Worker: when its process is lost, another one replaces it.

Here: SupervisedWorker, which remembers arrays and shadings and gives them to the next process.
Not here: one process (process), what to draw after a loss (instance).
"""

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pellucid.box import Box
from pellucid.errors import PellucidError, WorkerLost, error_named
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.rendering.scene import Scene
from pellucid.volume.label_statistics import COLUMNS, LabelTable
from pellucid.workers.folder_limit import FolderLimit
from pellucid.workers.process import Deadlines, ExitReason, WorkerProcess
from pellucid.workers.protocol import replies, requests

MAX_LOSSES = 4
"""One after the other, with nothing done in between."""


@dataclass(frozen=True)
class WorkerFrame:
    """A frame that a Worker drew. pixels: (height, width, 4) uint8 in memory that the Worker uses again: release it."""

    drawn: replies.FrameDrawn
    pixels: Voxels
    release: Callable[[], None]


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
    calls the session's on the event loop."""

    def worker_is_ready(self, device: str) -> None: ...
    def worker_was_lost(self, ending: ExitReason, is_given_up: bool) -> None: ...
    def stage_changed(self, stage: replies.Stage) -> None: ...
    def frame_drawn(self, image: WorkerFrame) -> None: ...
    def drawing_failed(self, number: int, error: PellucidError) -> None: ...
    def progress_reported(self, progress_made: replies.ProgressReported) -> None: ...


@dataclass(frozen=True)
class OwnedArray:
    """An array in memory that the supervisor owns, for the Worker of now and for the next; kind, vertices, is_next: as
    in UseArray. released: is given the memory when no Worker uses it any more; without it, it is given back."""

    shared: SharedArray
    spacing: Spacing = (1.0, 1.0, 1.0)
    unit: str = ""
    kind: requests.ArrayKind = "volume"
    vertices: int = 0
    is_next: bool = False
    released: Callable[[SharedArray], None] | None = None


@dataclass(frozen=True)
class _Waiting:
    """A request whose answer has not come. doing: for the sentence that is said if the Worker is lost meanwhile."""

    doing: str
    future: "Future[Any]"
    command: requests.Request


def _taken(waiting: dict[int, _Waiting], request: int) -> "Future[Any]":
    """What waits for an answer, which has come."""
    return waiting.pop(request).future if request in waiting else Future()


def _scenes(waiting: Iterable[requests.Request]) -> Iterator[Scene]:
    """Those that are still to be drawn for programs."""
    return (one.view.scene for one in waiting if isinstance(one, requests.TakeScreenshot))


class SupervisedWorker:
    """Methods may be called from any thread. Answers come as Futures; if the Worker is lost meanwhile, WorkerLost.

    releasing: done when the memory of an array that is being forgotten was released.
    """

    def __init__(self, device: str | None, listener: WorkerListener, deadlines: Deadlines | None = None) -> None:
        self.restarts, self.folder_limit = 0, FolderLimit()
        self._device, self._listener, self._deadlines = device, listener, deadlines or Deadlines()
        self._process: WorkerProcess | None = None
        self._slots = FrameSlotViews()
        self._arrays: dict[str, OwnedArray] = {}
        self.releasing: set[Future[None]] = set()
        self._shadings: dict[str, str] = {}
        self._waiting: dict[int, _Waiting] = {}
        self._requests, self._draws = itertools.count(), itertools.count()
        self._losses = 0
        self._again: dict[str, Future[replies.Compiled]] = {}
        self._is_ready = self._is_closed = False
        self._request: requests.Draw | None = None
        self._lock = threading.RLock()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        with self._lock:
            if self._process is not None or self._is_closed:
                return
            self._is_ready, self._slots = False, FrameSlotViews()
            process: WorkerProcess
            process = WorkerProcess(
                self._device,
                lambda answer, descriptor: self._on_reply(process, answer, descriptor),
                lambda ending: self._on_exit(process, ending),
                self._deadlines,
            )
            self._process = process
            process.start()
            self.folder_limit.apply_to(process)
            for source, handed in self._arrays.items():
                self._send_array(source, handed)
            self._again = {hash: self._compile(text) for hash, text in self._shadings.items()}

    def close(self) -> None:
        """Stop the process without an event."""
        with self._lock:
            self._is_closed = True
            process = self._process
        if process is not None:
            process.close()

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

    def use_array(self, source: str, handed: OwnedArray) -> "Future[replies.Done]":
        """A volume by this name, now and in every process that takes over. The array belongs to this object."""
        with self._lock:
            self._arrays[source] = handed
            self.start()
            return self._send_array(source, handed)

    def changed(self, source: str, boxes: Iterable[Box]) -> None:
        """Voxels of an array that was handed over are new; an image that is drawn from now on shows them."""
        with self._lock:
            if self._process is not None and source in self._arrays:
                self._process.send(requests.MarkChanged(source, tuple(boxes)))

    @property
    def arrays(self) -> set[str]:
        """The names of the arrays that were handed over."""
        return set(self._arrays)

    def forget_array(self, source: str) -> "Future[replies.Done]":
        """Give its memory back."""
        with self._lock:
            handed = self._arrays.pop(source)
            forgotten = self.send_request("removing an array", lambda request: requests.RemoveArray(request, source))
        _release_after(forgotten, handed, self.releasing)
        return forgotten

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

    def send_request(
        self, doing: str, command: Callable[[int], requests.Request], descriptor: int | None = None
    ) -> "Future[Any]":
        """Ask anything else. doing: for the sentence that is said if the Worker is lost meanwhile."""
        with self._lock:
            self.start()
            request = next(self._requests)
            future: Future[Any] = Future()
            if self._process is None:
                future.set_exception(WorkerLost(doing, "the viewer is stopping"))
                return future
            self._waiting[request] = _Waiting(doing, future, command(request))
            self._process.send(self._waiting[request].command, descriptor)
            return future

    def cancel(self, future: "Future[Any]") -> None:
        """Stop working on what was asked; its Future then says Cancelled, or its result after all."""
        with self._lock:
            for request, waiting in self._waiting.items():
                if waiting.future is future and self._process:
                    self._process.send(requests.Cancel(request))

    # Inside

    def _compile(self, source: str) -> "Future[replies.Compiled]":
        return self.send_request("compiling a shading", lambda request: requests.Compile(request, source))

    def _send_array(self, source: str, handed: OwnedArray) -> "Future[replies.Done]":
        shared = handed.shared
        reply = (source, shared.shape, shared.dtype.str, handed.spacing, handed.unit, handed.kind, handed.vertices)
        command = lambda request: requests.AddArray(request, *reply, is_next=handed.is_next)  # noqa: E731
        return self.send_request("adding an array", command, shared.descriptor)

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
                with suppress(InvalidStateError):  # The caller has cancelled meanwhile.
                    _settle(_taken(self._waiting, answer.request), answer, descriptor)

    def _ready(self, process: WorkerProcess, device: str) -> None:
        with self._lock:
            self._is_ready = True
            if self._request is not None:
                process.send(self._request)
        self._listener.worker_is_ready(device)

    def _drawn(self, process: WorkerProcess, drawn: replies.FrameDrawn, descriptor: int | None) -> None:
        pixels = self._slots.pixels(drawn, descriptor)
        image = WorkerFrame(drawn, pixels, lambda: process.send(requests.Release(drawn.slot)))
        if drawn.request < 0:
            self._listener.frame_drawn(image)
            return
        copied = pixels.copy()
        image.release()
        with suppress(InvalidStateError):
            _taken(self._waiting, drawn.request).set_result(copied)

    def _on_exit(self, process: WorkerProcess, ending: ExitReason) -> None:
        with self._lock:
            if self._process is not process:
                return
            self._process = None
            waiting, self._waiting = self._waiting, {}
            ending = replace(ending, scenes=tuple(_scenes(one.command for one in waiting.values())))
            # The image in progress may have caused it: the listener decides what is drawn next.
            self._request = None
            self._losses += 1
            if ending.is_fault:
                unfinished = {hash for hash, made in self._again.items() if not made.done()}
                self._shadings = {hash: text for hash, text in self._shadings.items() if hash not in unfinished}
            is_given_up = self._losses > MAX_LOSSES
            if not (self._is_closed or is_given_up):
                self.restarts += 1
                self.start()
        for one in waiting.values():
            with suppress(InvalidStateError):
                one.future.set_exception(WorkerLost(one.doing, ending.why))
        if not self._is_closed:
            self._listener.worker_was_lost(ending, is_given_up)


def _release_after(forgotten: "Future[replies.Done]", handed: OwnedArray, releasing: "set[Future[None]]") -> None:
    """Release memory, or pass it on, when the Worker no longer uses it."""
    if (released := handed.released) is None:
        return handed.shared.close()
    back: Future[None] = Future()
    releasing.add(back)

    def release(_: object) -> None:
        released(handed.shared)
        releasing.discard(back)
        back.set_result(None)

    return forgotten.add_done_callback(release)


def _settle(future: "Future[Any]", answer: Any, descriptor: int | None) -> None:
    """Give an answer to who waits for it; with its array, where one came along."""
    match answer:
        case replies.Failed():
            future.set_exception(error_of(answer))
        case replies.Sliced(_, width, height, bands) if descriptor is not None:
            shape = (height, width) if bands == 1 else (height, width, bands)
            future.set_result(SharedArray(descriptor, shape, np.uint8))
        case replies.PreviewMade(_, width, height) if descriptor is not None:
            future.set_result((answer, SharedArray(descriptor, (height, width), np.uint8)))
        case replies.LabelsMeasured(_, count, dtype) if descriptor is not None:
            with SharedArray(descriptor, (count, COLUMNS), np.int64) as shared:
                future.set_result(LabelTable.from_rows(shared.array.copy(), dtype))
        case replies.Retrieved(_, shape, dtype) if descriptor is not None:
            future.set_result((answer, SharedArray(descriptor, shape, np.dtype(dtype))))
        case _:
            future.set_result(answer)


def error_of(failed: replies.Failed) -> PellucidError:
    """The error that a Worker sent, as one of the same class."""
    return error_named(failed.kind, failed.what, failed.remedy, failed.line)
