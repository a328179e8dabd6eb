"""What is rendered when: rough images while something moves, the exact one at rest.

Here: FrameScheduler: the latest request, the frame in progress, the exact image when nothing moves.
Not here: drawing (workers), encoding and sending (sender), the scene (history).

A rough image that was begun is finished, or a hand that never rests would see none. The exact image is abandoned as
soon as anything else is wanted.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from pellucid.formats.protocol import Voxels
from pellucid.instance.frames.quality import LEVELS, QualityLevel
from pellucid.instance.frames.sender import FrameSender, RenderedFrame
from pellucid.instance.protocol.server_messages import FrameHeader
from pellucid.instance.protocol.shared_types import StageTimes, View
from pellucid.instance.scene.history import History
from pellucid.instance.websocket.client import ConnectedClient
from pellucid.rendering.scene import Scene
from pellucid.workers.protocol import requests
from pellucid.workers.protocol.replies import FrameDrawn
from pellucid.workers.supervisor import SupervisedWorker

REST_S = 0.3
"""How long nothing has to change before the exact image is drawn, unless the page says that it is at rest."""
BUDGET_MS, CUDA_BUDGET_MS = 80.0, 14.0
"""What a rough image may take: ten and more a second on a CPU, sixty on a card."""
FIRST = 0.7
"""How much of it the first image of a movement may take: until it comes, nothing has answered the hand."""
MIN_SCALE = 0.5
"""Of the edges of a rough image: a quarter of the pixels. Frames are dropped instead, where a CPU is busy."""
MIN_EDGE = 16
"""Pixels: a page that asks for a smaller frame, as one that has no room for it may, gets this."""
VIEWS: tuple[View, View] = ("main", "other")


@dataclass(frozen=True)
class FrameRequest:
    """What the next image should show. number grows with every change."""

    number: int
    arrived_at: float
    sent_at_ms: float = 0.0


@dataclass(frozen=True)
class FrameInProgress:
    """What the Worker draws now."""

    number: int
    request: FrameRequest
    revision: int
    scenes: tuple[Scene, ...]
    size: tuple[int, int]
    is_exact: bool
    left: int


class FrameScheduler:
    """All methods are called on the event loop."""

    def __init__(self, history: History, worker: SupervisedWorker, delivery: FrameSender) -> None:
        self._history, self._worker, self._delivery = history, worker, delivery
        self.size = (1280, 720)
        self.budget_ms = BUDGET_MS
        self.drawable: Callable[[Scene], Scene] = lambda scene: scene
        self.holder: Callable[[], ConnectedClient | None] = lambda: None
        self.is_watched: Callable[[], bool] = lambda: False
        self._request = FrameRequest(0, time.perf_counter())
        self._rough = self._exact = -1  # Numbers of the requests drawn last, roughly and exactly.
        self._is_at_rest = True
        self._is_first = True  # The next rough image, of its movement.
        self._is_stopped = False
        self._timer: asyncio.TimerHandle | None = None
        self._under_way: FrameInProgress | None = None
        self._deliveries: set[asyncio.Task[None]] = set()

    def request_frame(self, is_moving: bool, sent_at_ms: float = 0.0) -> None:
        """Something changed."""
        self._request = FrameRequest(self._request.number + 1, time.perf_counter(), sent_at_ms)
        self._is_stopped = False
        self._is_first = self._is_first or self._is_at_rest
        self._is_at_rest = not is_moving
        if self._timer is not None:
            self._timer.cancel()
        if is_moving:
            self._timer = asyncio.get_running_loop().call_later(REST_S, self._rest)
        self.start_next()

    def stop(self) -> None:
        """Draw no more until something is wanted: what is wanted now cannot be drawn."""
        self._is_stopped, self._under_way = True, None

    def restart(self) -> None:
        """What was being drawn will never come; draw it anew."""
        self._under_way = None
        self._rough = self._exact = -1
        self.start_next()

    def start_next(self) -> None:
        """Start the next frame, if one is requested and the one in progress may be dropped."""
        if self._is_stopped or not self.is_watched() or not self._has_something():
            return
        if self._under_way is not None and not self._under_way.is_exact:
            return
        if self._is_at_rest and self._exact != self._request.number:
            self._begin(is_exact=True)
        elif not self._is_at_rest and self._rough != self._request.number and self._is_taken():
            self._begin(is_exact=False)

    def frame_drawn(self, drawn: FrameDrawn, pixels: Voxels, release: Callable[[], None]) -> None:
        begun = self._under_way
        if begun is None or drawn.number != begun.number:
            release()
            return
        self._deliver(drawn, pixels, release, begun)
        if drawn.is_exact or not begun.is_exact:
            left = begun.left - 1
            self._under_way = FrameInProgress(**{**vars(begun), "left": left}) if left else None
        self.start_next()

    def failed(self, number: int) -> None:
        if self._under_way is not None and self._under_way.number == number:
            self._under_way = None
            self.start_next()

    @property
    def drawn_scenes(self) -> tuple[Scene, ...]:
        """What the Worker is drawing now, for pages."""
        return self._under_way.scenes if self._under_way else ()

    def _rest(self) -> None:
        self._is_at_rest = True
        self.start_next()

    def _has_something(self) -> bool:
        scene = self._history.scene
        return bool(scene.volumes or scene.points or scene.meshes or scene.slices)

    def _is_taken(self) -> bool:
        holder = self.holder()
        return holder is None or holder.frames.can_send

    def _level(self) -> QualityLevel:
        holder = self.holder()
        return LEVELS[0] if holder is None else holder.frames.quality.level

    def _begin(self, is_exact: bool) -> None:
        history = self._history
        wanted = (history.scene,) if history.other is None else (history.scene, history.other)
        scenes = tuple(self.drawable(scene) for scene in wanted)
        width, height = max(MIN_EDGE, self.size[0] // history.columns), max(MIN_EDGE, self.size[1])
        scale = 1.0 if is_exact else self._level().scale
        size = (max(MIN_EDGE, round(width * scale)), max(MIN_EDGE, round(height * scale)))
        views = tuple(
            requests.ViewSpec(scene, *size, 0.0 if is_exact else min(1.0, MIN_SCALE / scale)) for scene in scenes
        )
        # Noted before it is drawn: an image that fails must not be tried for ever.
        self._rough = self._request.number
        self._exact = self._request.number if is_exact else self._exact
        budget_ms = self.budget_ms * (FIRST if self._is_first and not is_exact else 1.0)
        self._is_first = is_exact
        number = self._worker.draw(views, budget_ms / len(views), is_exact)
        self._under_way = FrameInProgress(
            number, self._request, history.revision, scenes, (width, height), is_exact, len(views)
        )

    def _deliver(self, drawn: FrameDrawn, pixels: Voxels, release: Callable[[], None], begun: FrameInProgress) -> None:
        drawn_at = time.perf_counter()
        input_ms = max(0.0, (drawn_at - begun.request.arrived_at) * 1000 - drawn.render_ms)
        header = FrameHeader(
            0, VIEWS[drawn.view], begun.revision, begun.scenes[drawn.view].camera, drawn.width, drawn.height,
            *begun.size, "png", drawn.is_exact, drawn.full_resolution, StageTimes(input_ms, drawn.render_ms, 0.0),
            begun.request.sent_at_ms, 0.0, is_along_rays=drawn.is_along_rays,
        )  # fmt: skip
        shot = RenderedFrame(header, pixels, release, self._level().jpeg, drawn_at)
        task = asyncio.get_running_loop().create_task(self._delivery.encode_and_send(shot))
        self._deliveries.add(task)
        task.add_done_callback(self._deliveries.discard)
