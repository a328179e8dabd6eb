"""The thread of a Worker that has the renderer: pictures, and everything else that needs the device.

Here: Drawing: the latest wish wins, jobs go in between, pictures nobody waits for come last.
Not here: reading files (reading), the line (main).
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from pellucid.errors import Cancelled, InvalidInput
from pellucid.rendering.frame import Frame
from pellucid.rendering.progressive import Pace, guess, kind
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene
from pellucid.workers.commands import Compile, Compiled, Draw, Drawn, Probe, Snapshot, Stage, View
from pellucid.workers.slots import Slots

STEPS = 16
"""Rough pictures are so many sixteenths of the whole: one that changes its size all the time flickers, and every new
size costs a video stream a key frame."""

Job = Callable[[], None]


class Speaking(Protocol):
    """How a thread of the Worker answers."""

    def say(self, answer: Any, descriptor: int | None = None) -> None: ...
    def failed(self, error: Exception, *, number: int = -1, request: int = -1) -> None: ...


@dataclass(frozen=True)
class Shown:
    """The picture that was drawn last of a view; depth as in Frame."""

    scene: Scene
    frame: Frame


class Drawing:
    """Runs on one thread; everything but run may be called from others."""

    def __init__(self, renderer: Renderer, speaking: Speaking) -> None:
        self.renderer = renderer
        self.slots = Slots()
        self.shown: dict[int, Shown] = {}
        self._speaking = speaking
        self._pace = Pace()
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
        def is_cancelled() -> bool:
            self.sign("drawing")
            return bool(self._jobs) or not self._is_latest(wish)

        sources = _sources(view.scene)
        if sources <= self._loaded:
            self.sign("drawing")  # What takes long now is no reading.
        started = time.perf_counter()
        for frame, is_exact in self._frames(wish, view, is_cancelled):
            if is_cancelled():
                return
            self._loaded |= sources
            self._measure(view.scene, frame)
            self.shown[index] = Shown(view.scene, frame)
            self._hand_over(Handing(wish.number, -1, index, is_exact, started), frame, is_cancelled)
            started = time.perf_counter()

    def _is_latest(self, wish: Draw) -> bool:
        return self._wish is not None and self._wish.number == wish.number

    def _frames(self, wish: Draw, view: View, is_cancelled: Callable[[], bool]) -> Iterator[tuple[Frame, bool]]:
        """Ever better pictures; the second part says whether it is the last."""
        if not wish.is_exact:
            yield self._rough(wish, view), False
        elif self._is_all_there(view):
            # Nothing is missing but pixels: the rough pictures on the way would only put the exact one off.
            yield self.renderer.render(view.scene, view.width, view.height, is_cancelled=is_cancelled), True
        else:
            yield from self._better(wish, view, is_cancelled)

    def _rough(self, wish: Draw, view: View) -> Frame:
        """A picture within the budget, as small as that makes it: what is not drawn need not be encoded or sent."""
        whole, otherwise = (view.height, view.width), guess(self.renderer, view.scene)
        rows, _ = self._pace.affordable(kind(view.scene), whole, wish.budget_ms / 1000, otherwise)
        scale = max(rows * STEPS // view.height, 1) / STEPS
        size = max(1, round(view.width * scale)), max(1, round(view.height * scale))
        return self.renderer.render(view.scene, *size, is_exact=False)

    def _measure(self, scene: Scene, frame: Frame) -> None:
        """Learn from a picture what the next will cost; loading left out, which is not done again."""
        (height, width), statistics = frame.rgba.shape[:2], frame.statistics
        drawn = max(1, round(height * statistics.scale)), max(1, round(width * statistics.scale))
        times_s = statistics.times_s
        self._pace.measured(kind(scene), drawn, times_s["draw"], times_s["prepare"] + times_s["finish"])

    def _better(self, wish: Draw, view: View, is_cancelled: Callable[[], bool]) -> Iterator[tuple[Frame, bool]]:
        last: Frame | None = None
        size, budget = (view.width, view.height), wish.budget_ms
        pictures = self.renderer.render_progressive(view.scene, *size, budget_ms=budget, is_cancelled=is_cancelled)
        for frame in pictures:
            if frame.statistics.pictures > 1:
                break  # From here on they only get smoother.
            if frame.statistics.is_exact:
                yield frame, True
                return
            last = frame
            yield frame, False
        if last is not None and not is_cancelled():
            yield last, True  # As good as this device can.

    def _is_all_there(self, view: View) -> bool:
        """Whether the last picture of these volumes had all that it showed at full resolution."""
        shown = self.shown.get(0)
        if shown is None or shown.frame.statistics.full_resolution < 1:
            return False
        return _sources(shown.scene) == _sources(view.scene)

    def _take(self, snapshot: Snapshot) -> None:
        try:
            view, started = snapshot.view, time.perf_counter()
            frame = self.renderer.render(view.scene, view.width, view.height, is_cancelled=self._go_on)
            self._hand_over(Handing(-1, snapshot.request, 0, True, started), frame, self._go_on)
        except Exception as error:  # noqa: BLE001  # As above.
            self._speaking.failed(error, request=snapshot.request)

    def _go_on(self) -> bool:
        """Whether to stop: never; but somebody is alive."""
        self.sign()
        return False

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
            shading = self.renderer.add_shading(command.source)
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


def _sources(scene: Scene) -> set[str]:
    return {layer.source for layer in scene.volumes}
