"""The render thread of a Worker: images, and all other work that needs the device.

Here: RenderThread: the latest request wins, jobs come in between, screenshots last, those of guests after all others.
Not here: reading files (queries), messages (channel).
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from pellucid.device import never_cancelled
from pellucid.errors import Cancelled, InvalidInput
from pellucid.rendering.frame import Frame
from pellucid.workers.protocol.replies import Compiled, FrameDrawn, Stage
from pellucid.workers.protocol.requests import Compile, Draw, ProbePixel, TakeScreenshot, ViewSpec
from pellucid.workers.render.frame_slots import FrameSlots
from pellucid.workers.render.refinement import FrameRefiner, LastFrame, sources_of
from pellucid.workers.render.renderers import RendererGroup

Job = Callable[[], None]
MAX_WAIT_S = 5.0
"""So long a screenshot waits for images of pages: a guest with the controls can ask for these without end."""
MAX_PUT_OFF = 3
"""How often the reading of a large file waits for another first image."""


class ReplySender(Protocol):
    """How a thread of the Worker answers."""

    def send_reply(self, answer: Any, descriptor: int | None = None) -> None: ...
    def failed(self, error: Exception, *, number: int = -1, request: int = -1) -> None: ...


class RenderThread:
    """Runs on one thread; everything but run may be called from others."""

    def __init__(self, renderers: RendererGroup, speaking: ReplySender) -> None:
        self.renderers = renderers
        self.slots = FrameSlots()
        self.shown: dict[int, LastFrame] = {}
        self._speaking = speaking
        self._refining = FrameRefiner(renderers)
        self._loaded: set[str] = set()
        self._first_images: Counter[frozenset[str]] = Counter()
        self._request: Draw | None = None
        self._done = -1
        self._jobs: deque[Job] = deque()
        self._snapshots: deque[TakeScreenshot] = deque()
        self._snapshot_at = time.monotonic()
        self._guest_snapshots: deque[TakeScreenshot] = deque()
        self._guest_jobs: deque[Job] = deque()
        self._changed = threading.Condition()
        self._stage: Stage = "idle"
        self._sign_at = time.monotonic()

    # From other threads

    def draw(self, request: Draw) -> None:
        with self._changed:
            self._request = request
            self._changed.notify()

    def add(self, job: Job) -> None:
        """Do this soon; an image under way is put off."""
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()

    def add_for_guest(self, job: Job) -> None:
        """Do this when nothing else is wanted. It ends early if is_wanted becomes true."""
        with self._changed:
            self._guest_jobs.append(job)
            self._changed.notify()

    @property
    def is_wanted(self) -> bool:
        """Whether something waits that is not for a guest alone."""
        is_stale = self._request is not None and self._request.number != self._done
        return is_stale or bool(self._jobs or self._snapshots)

    def add_snapshot(self, snapshot: TakeScreenshot) -> None:
        with self._changed:
            if not snapshot.is_for_guest and not self._snapshots:
                self._snapshot_at = time.monotonic()
            (self._guest_snapshots if snapshot.is_for_guest else self._snapshots).append(snapshot)
            self._changed.notify()

    def touch(self, stage: Stage | None = None) -> None:
        """Something moves."""
        self._sign_at = time.monotonic()
        if stage is not None and self._stage != "idle":
            self._stage = stage

    @property
    def stage(self) -> tuple[Stage, float]:
        """What is being done, and for how long nothing moved."""
        return self._stage, 0.0 if self._stage == "idle" else time.monotonic() - self._sign_at

    # On the thread

    def run(self) -> None:
        while True:
            job = self._next()
            self._sign_at, self._stage = time.monotonic(), "loading"
            job()
            self._stage = "idle"

    def _next(self) -> Job:
        with self._changed:
            while True:
                if self._jobs:
                    return self._jobs.popleft()
                is_overdue = bool(self._snapshots) and time.monotonic() - self._snapshot_at > MAX_WAIT_S
                if self._request is not None and self._request.number != self._done and not is_overdue:
                    request = self._request
                    return lambda: self._draw(request)
                if self._guest_jobs and not self._snapshots:
                    return self._guest_jobs.popleft()
                if snapshots := self._snapshots or self._guest_snapshots:
                    snapshot = snapshots.popleft()
                    self._snapshot_at = time.monotonic()
                    return lambda: self._take(snapshot)
                self._changed.wait()

    def _draw(self, request: Draw) -> None:
        try:
            for index, view in enumerate(request.views):
                self._draw_view(request, index, view)
        except Cancelled:
            pass
        except Exception as error:  # noqa: BLE001  # Users' scenes end here; the Worker goes on.
            self._speaking.failed(error, number=request.number)
            self._done = request.number
            return
        if self._jobs and self._is_latest(request):
            return  # Put off for a job: it is drawn again after that.
        self._done = request.number

    def _draw_view(self, request: Draw, index: int, view: ViewSpec) -> None:
        stage = _stage_of(view)

        def is_cancelled() -> bool:
            self.touch(stage)
            return bool(self._jobs) or not self._is_latest(request)

        sources = sources_of(view.scene)
        started = time.perf_counter()
        if sources <= self._loaded:
            self.touch(stage)  # What takes long now is no reading.
        elif self._draw_first(request, index, view, is_cancelled):
            return
        for frame, is_exact in self._refining.frames(request, view, self.shown.get(0), is_cancelled):
            if is_cancelled():
                return
            self._loaded |= sources
            self.shown[index] = LastFrame(view.scene, frame)
            self._hand_over(FrameDrawn(request.number, -1, index, is_exact), frame, started, is_cancelled)
            started = time.perf_counter()

    def _draw_first(self, request: Draw, index: int, view: ViewSpec, is_cancelled: Callable[[], bool]) -> bool:
        """Draw a large file from some voxels. Whether to read the rest later: nothing interrupts that, and a page
        sends its size just after its first request. Not again and again: a page that moves would never see the rest."""
        sources, started = frozenset(sources_of(view.scene)), time.perf_counter()
        self._first_images[sources] += 1
        may_stop = is_cancelled if self._first_images[sources] <= MAX_PUT_OFF else never_cancelled
        first = self.renderers.draw_first(view.scene, view.width, view.height, may_stop)
        if first is None:
            return False
        self.shown[index] = LastFrame(view.scene, first)
        self._hand_over(FrameDrawn(request.number, -1, index, is_exact=False), first, started, is_cancelled)
        return may_stop()

    def _is_latest(self, request: Draw) -> bool:
        return self._request is not None and self._request.number == request.number

    def _take(self, snapshot: TakeScreenshot) -> None:
        try:
            view, started = snapshot.view, time.perf_counter()
            go_on = self._going_on(_stage_of(view))
            renderer = self.renderers.of(view.scene)
            is_cancelled = self._giving_way(go_on) if snapshot.is_for_guest else go_on
            frame = renderer.render(view.scene, view.width, view.height, is_cancelled=is_cancelled)
            self._hand_over(FrameDrawn(-1, snapshot.request, 0, is_exact=True), frame, started, go_on)
        except Cancelled:
            with self._changed:
                self._guest_snapshots.appendleft(snapshot)  # Drawn again, when nothing else is wanted.
        except Exception as error:  # noqa: BLE001  # As above.
            self._speaking.failed(error, request=snapshot.request)

    def _going_on(self, stage: Stage) -> Callable[[], bool]:
        """Never stops, but reports progress."""

        def go_on() -> bool:
            self.touch(stage)
            return False

        return go_on

    def _giving_way(self, go_on: Callable[[], bool]) -> Callable[[], bool]:
        """Stops as soon as something else is wanted: an image of a guest may take minutes, and the owner would wait."""
        return lambda: go_on() or self.is_wanted

    def _hand_over(self, drawn: FrameDrawn, frame: Frame, started: float, is_cancelled: Callable[[], bool]) -> None:
        """Put an image into a slot, and send what it is. started: when its drawing began."""
        render_ms = (time.perf_counter() - started) * 1000
        while (slot := self.slots.acquire(timeout_s=0.1)) is None:
            if is_cancelled():
                return
        nbytes, descriptor = self.slots.put(slot, frame.rgba)
        height, width = frame.rgba.shape[:2]
        drawn = replace(
            drawn, slot=slot, nbytes=nbytes, width=width, height=height, render_ms=render_ms,
            full_resolution=frame.statistics.full_resolution,
            is_along_rays=frame.statistics.is_along_rays,
        )  # fmt: skip
        self._speaking.send_reply(drawn, descriptor)

    def compile(self, command: Compile) -> None:
        """Make a shading of the user's; a job."""
        self.touch("compiling")
        try:
            shading = self.renderers.add_shading(command.source)
        except Exception as error:  # noqa: BLE001  # Users' code ends here; the Worker goes on.
            self._speaking.failed(error, request=command.request)
        else:
            self._speaking.send_reply(Compiled(command.request, shading.hash, shading.parameters))

    def frame_at(self, probe: ProbePixel) -> LastFrame:
        """The image that a probe means."""
        if probe.view not in self.shown:
            raise InvalidInput("No image has been rendered yet.", remedy="Wait for it.")
        return self.shown[probe.view]


def _stage_of(view: ViewSpec) -> Stage:
    return "shading" if any(layer.shading == "user" for layer in view.scene.visible.volumes) else "drawing"
