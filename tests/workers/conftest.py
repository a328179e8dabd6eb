"""A real Worker process, and somebody who listens to it."""

import queue
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pellucid.errors import PellucidError
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.rendering.scene import Scene
from pellucid.volume.sample_volume import sample
from pellucid.workers.array_store import OwnedArray
from pellucid.workers.process import Deadlines, ExitReason
from pellucid.workers.protocol.replies import FrameDrawn, ProgressReported, Stage
from pellucid.workers.protocol.requests import Describe, ViewSpec
from pellucid.workers.supervisor import SupervisedWorker
from tests.waiting import TIMEOUT_S

EDGE = 24
SOURCE = "memory:ball"
SPACING = (1.0, 0.5, 2.0)


@dataclass
class Ear:
    """What a Worker told: everything in order, pictures copied."""

    heard: "queue.Queue[tuple[str, Any]]" = field(default_factory=queue.Queue)
    has_released: bool = True

    def worker_is_ready(self, device: str) -> None:
        self.heard.put(("ready", device))

    def worker_was_lost(self, ending: ExitReason, is_given_up: bool) -> None:
        self.heard.put(("lost", ending))

    def stage_changed(self, stage: Stage) -> None:
        self.heard.put(("stage", stage))

    def frame_drawn(self, drawn: FrameDrawn, pixels: Voxels, release: Callable[[], None]) -> None:
        self.heard.put(("picture", (drawn, pixels.copy())))
        if self.has_released:
            release()

    def drawing_failed(self, number: int, error: PellucidError) -> None:
        self.heard.put(("failed", error))

    def progress_reported(self, progress: ProgressReported) -> None:
        self.heard.put(("progress", progress))

    def next(self, kind: str) -> Any:
        """The next thing of a kind; others are passed over."""
        while (heard := self.heard.get(timeout=TIMEOUT_S))[0] != kind:
            pass
        return heard[1]

    def exact(self, number: int) -> Voxels:
        """The last picture of a Draw."""
        while True:
            drawn, pixels = self.next("picture")
            if drawn.number == number and drawn.is_exact:
                return pixels  # type: ignore[no-any-return]


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
def worker(ear: Ear) -> Iterator[SupervisedWorker]:
    """A Worker that has the sample."""
    started = SupervisedWorker("cpu", ear, Deadlines(shading=5.0))
    try:
        started.use_array(SOURCE, handed_over()).result(TIMEOUT_S)
        yield started
    finally:
        started.close()


def handed_over() -> OwnedArray:
    """The sample, in memory that a Worker can take."""
    voxels = sample(EDGE)
    shared = SharedArray.create(voxels.shape, voxels.dtype)
    shared.array[...] = voxels
    return OwnedArray(shared, SPACING, "um")


@pytest.fixture
def scene(worker: SupervisedWorker) -> Scene:
    described = worker.send_request("describing", lambda request: Describe(request, SOURCE)).result(TIMEOUT_S)
    return Scene((described.volume,), described.camera)


def shaded(scene: Scene, hash: str) -> Scene:
    (layer,) = scene.volumes
    return replace(scene, volumes=(replace(layer, shading="user", user_shading=hash),))


def small(scene: Scene) -> tuple[ViewSpec, ...]:
    return (ViewSpec(scene, 48, 32),)
