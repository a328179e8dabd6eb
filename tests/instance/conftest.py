"""A real instance on a free port, served from a thread."""

from collections.abc import Iterator

import numpy as np
import pytest

from pellucid.device import choose
from pellucid.instance.server import Instance
from pellucid.rendering.automatic import automatic_scene
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene
from pellucid.volume.sample import sample
from pellucid.volume.volume import Volume, open_volume
from tests.instance.loopback import running

EDGE = 24


@pytest.fixture(scope="session")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Volume]:
    path = tmp_path_factory.mktemp("instance") / "ball.npy"
    np.save(path, sample(EDGE))
    with open_volume(path) as opened:
        yield opened


@pytest.fixture(scope="session")
def renderer() -> Renderer:
    return Renderer(choose("cpu"))


@pytest.fixture
def scene(volume: Volume) -> Scene:
    return automatic_scene(volume)


@pytest.fixture
def instance(volume: Volume, renderer: Renderer) -> Iterator[Instance]:
    with running(volume, renderer) as started:
        yield started
