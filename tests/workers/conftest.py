"""A real Worker process, and somebody who listens to it."""

import queue
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pellucid.errors import PellucidError
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared import SharedArray
from pellucid.rendering.scene import Scene
from pellucid.volume.sample import sample
from pellucid.workers.commands import Describe, Progressed, Stage, View
from pellucid.workers.process import Deadlines, Ending
from pellucid.workers.supervision import Handed, Picture, SupervisedWorker

PATIENCE_S = 120
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

    def worker_was_lost(self, ending: Ending, is_given_up: bool) -> None:
        self.heard.put(("lost", ending))

    def worker_is_at(self, stage: Stage) -> None:
        self.heard.put(("stage", stage))

    def picture_was_drawn(self, picture: Picture) -> None:
        self.heard.put(("picture", (picture.drawn, picture.pixels.copy())))
        if self.has_released:
            picture.release()

    def drawing_failed(self, number: int, error: PellucidError) -> None:
        self.heard.put(("failed", error))

    def progress_was_made(self, progress: Progressed) -> None:
        self.heard.put(("progress", progress))

    def next(self, kind: str) -> Any:
        """The next thing of a kind; others are passed over."""
        while (heard := self.heard.get(timeout=PATIENCE_S))[0] != kind:
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
        started.use_array(SOURCE, handed_over()).result(PATIENCE_S)
        yield started
    finally:
        started.close()


def handed_over() -> Handed:
    """The sample, in memory that a Worker can take."""
    voxels = sample(EDGE)
    shared = SharedArray.create(voxels.shape, voxels.dtype)
    shared.array[...] = voxels
    return Handed(shared, SPACING, "um")


@pytest.fixture
def scene(worker: SupervisedWorker) -> Scene:
    described = worker.ask("describing", lambda request: Describe(request, SOURCE)).result(PATIENCE_S)
    return Scene((described.volume,), described.camera)


def shaded(scene: Scene, hash: str) -> Scene:
    (layer,) = scene.volumes
    return replace(scene, volumes=(replace(layer, shading="user", user_shading=hash),))


def small(scene: Scene) -> tuple[View, ...]:
    return (View(scene, 48, 32),)
