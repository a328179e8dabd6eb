"""The thread of a Worker that has the renderer: pictures, and everything else that needs the device.

Here: Drawing: the latest wish wins, jobs go in between, pictures nobody waits for come last.
Not here: reading files (reading), the line (main).
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from pellucid.errors import Cancelled, InvalidInput
from pellucid.rendering.frame import Frame
from pellucid.workers.commands import Compile, Compiled, Draw, Drawn, Probe, Snapshot, Stage, View
from pellucid.workers.refining import Refining, Shown, sources_of
from pellucid.workers.renderers import Renderers
from pellucid.workers.slots import Slots

Job = Callable[[], None]


class Speaking(Protocol):
    """How a thread of the Worker answers."""

    def say(self, answer: Any, descriptor: int | None = None) -> None: ...
    def failed(self, error: Exception, *, number: int = -1, request: int = -1) -> None: ...


class Drawing:
    """Runs on one thread; everything but run may be called from others."""

    def __init__(self, renderers: Renderers, speaking: Speaking) -> None:
        self.renderers = renderers
        self.slots = Slots()
        self.shown: dict[int, Shown] = {}
        self._speaking = speaking
        self._refining = Refining(renderers)
        self._loaded: set[str] = set()
        self._wish: Draw | None = None
        self._done = -1
        self._jobs: deque[Job] = deque()
        self._snapshots: deque[Snapshot] = deque()
        self._changed = threading.Condition()
        self._stage: Stage = "idle"
        self._sign_at = time.monotonic()

    # From other threads

    def draw(self, wish: Draw) -> None:
        with self._changed:
            self._wish = wish
            self._changed.notify()

    def add(self, job: Job) -> None:
        """Do this soon; a picture under way is put off."""
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()

    def add_snapshot(self, snapshot: Snapshot) -> None:
        with self._changed:
            self._snapshots.append(snapshot)
            self._changed.notify()

    def sign(self, stage: Stage | None = None) -> None:
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
                if self._wish is not None and self._wish.number != self._done:
                    wish = self._wish
                    return lambda: self._draw(wish)
                if self._snapshots:
                    snapshot = self._snapshots.popleft()
                    return lambda: self._take(snapshot)
                self._changed.wait()

    def _draw(self, wish: Draw) -> None:
        try:
            for index, view in enumerate(wish.views):
                self._draw_view(wish, index, view)
        except Cancelled:
            pass
        except Exception as error:  # noqa: BLE001  # Users' scenes end here; the Worker goes on.
            self._speaking.failed(error, number=wish.number)
            self._done = wish.number
            return
        if self._jobs and self._is_latest(wish):
            return  # Put off for a job: it is drawn again after that.
        self._done = wish.number

    def _draw_view(self, wish: Draw, index: int, view: View) -> None:
        stage = _stage_of(view)

        def is_cancelled() -> bool:
            self.sign(stage)
            return bool(self._jobs) or not self._is_latest(wish)

        sources = sources_of(view.scene)
        if sources <= self._loaded:
            self.sign(stage)  # What takes long now is no reading.
        started = time.perf_counter()
        for frame, is_exact in self._refining.frames(wish, view, self.shown.get(0), is_cancelled):
            if is_cancelled():
                return
            self._loaded |= sources
            self.shown[index] = Shown(view.scene, frame)
            self._hand_over(Handing(wish.number, -1, index, is_exact, started), frame, is_cancelled)
            started = time.perf_counter()

    def _is_latest(self, wish: Draw) -> bool:
        return self._wish is not None and self._wish.number == wish.number

    def _take(self, snapshot: Snapshot) -> None:
        try:
            view, started = snapshot.view, time.perf_counter()
            go_on = self._going_on(_stage_of(view))
            renderer = self.renderers.of(view.scene)
            frame = renderer.render(view.scene, view.width, view.height, is_cancelled=go_on)
            self._hand_over(Handing(-1, snapshot.request, 0, True, started), frame, go_on)
        except Exception as error:  # noqa: BLE001  # As above.
            self._speaking.failed(error, request=snapshot.request)

    def _going_on(self, stage: Stage) -> Callable[[], bool]:
        """Whether to stop: never; but somebody is alive."""

        def go_on() -> bool:
            self.sign(stage)
            return False

        return go_on

    def _hand_over(self, handing: "Handing", frame: Frame, is_cancelled: Callable[[], bool]) -> None:
        render_ms = (time.perf_counter() - handing.started) * 1000
        while (slot := self.slots.acquire(timeout_s=0.1)) is None:
            if is_cancelled():
                return
        nbytes, descriptor = self.slots.put(slot, frame.rgba)
        height, width = frame.rgba.shape[:2]
        full = frame.statistics.full_resolution
        drawn = Drawn(
            handing.number,
            handing.request,
            handing.view,
            slot,
            nbytes,
            width,
            height,
            handing.is_exact,
            full,
            render_ms,
        )
        self._speaking.say(drawn, descriptor)

    def compile(self, command: Compile) -> None:
        """Make a shading of the user's; a job."""
        self.sign("compiling")
        try:
            shading = self.renderers.add_shading(command.source)
        except Exception as error:  # noqa: BLE001  # Users' code ends here; the Worker goes on.
            self._speaking.failed(error, request=command.request)
        else:
            self._speaking.say(Compiled(command.request, shading.hash, shading.parameters))

    def under(self, probe: Probe) -> Shown:
        """The picture that a probe means."""
        if probe.view not in self.shown:
            raise InvalidInput("There is no picture yet.", do="Wait for it.")
        return self.shown[probe.view]


@dataclass(frozen=True)
class Handing:
    """Where a picture belongs, and when its drawing began."""

    number: int
    request: int
    view: int
    is_exact: bool
    started: float


def _stage_of(view: View) -> Stage:
    return "shading" if any(layer.shading == "user" for layer in view.scene.visible.volumes) else "drawing"
