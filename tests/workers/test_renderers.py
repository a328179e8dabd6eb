"""Several devices of one Worker: the picture of one of them, whatever is asked for."""

import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pellucid.device import choose, choose_all
from pellucid.errors import DeviceUnavailable
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, ShadingName
from pellucid.volume import subsample
from pellucid.volume.sample_volume import sample
from pellucid.volume.volume import open_volume
from pellucid.workers.channel import MessageChannel
from pellucid.workers.main import WorkerMain
from pellucid.workers.protocol.requests import Describe
from pellucid.workers.queries.sources import MappedArray
from pellucid.workers.render.renderers import RendererGroup
from pellucid.workers.supervisor import SupervisedWorker
from tests.waiting import TIMEOUT_S
from tests.workers.conftest import EDGE, SOURCE, SPACING, Ear, handed_over, shaded, small


@pytest.fixture
def shared() -> Iterator[tuple[SupervisedWorker, Ear]]:
    """A Worker with two devices, that has the sample, and who listens to it."""
    ear = Ear()
    started = SupervisedWorker("cpu,cpu", ear)
    try:
        started.use_array(SOURCE, handed_over()).result(TIMEOUT_S)
        yield started, ear
    finally:
        started.close()


def test_several_devices_draw_what_one_draws(shared: tuple[SupervisedWorker, Ear], scene: Scene) -> None:
    worker, ear = shared
    assert ear.next("ready") == "cpu, cpu"
    renderer = Renderer(choose("cpu"))
    renderer.add(MappedArray(sample(EDGE), SPACING, "um").volume(SOURCE))
    shadings: tuple[ShadingName, ...] = ("gradient", "shadow")  # Shared, and not.
    for shading in shadings:
        lit = replace(scene, volumes=(replace(scene.volumes[0], shading=shading),))
        wanted = renderer.render(lit, 48, 32).rgba
        np.testing.assert_array_equal(ear.exact(worker.draw(small(lit), 50, True)), wanted)
        np.testing.assert_array_equal(worker.screenshot(small(lit)[0]).result(TIMEOUT_S), wanted)


def test_a_shading_of_the_users_is_on_all_of_them(shared: tuple[SupervisedWorker, Ear], scene: Scene) -> None:
    worker, ear = shared
    made = worker.compile("return vec3(1.0f, 0.0f, 0.0f);").result(TIMEOUT_S)
    drawn = ear.exact(worker.draw(small(shaded(scene, made.hash)), 50, True))
    assert drawn[..., 0].max() > 200 and drawn[..., 1].max() == 0


def test_devices_that_are_not_there_are_named() -> None:
    with pytest.raises(DeviceUnavailable, match="cuda:9"):
        choose_all("cpu,cuda:9")


def test_a_volume_is_on_the_device_before_a_scene_names_it() -> None:
    voxels = sample(16)
    renderers = RendererGroup([choose("cpu")])
    renderers.add(MappedArray(voxels, (1.0, 1.0, 1.0), "").volume("memory:next"))
    assert renderers.value_range("memory:next") is None
    renderers.load("memory:next")
    assert renderers.value_range("memory:next") == (voxels.min(), voxels.max())


def test_the_first_image_of_a_large_file_shows_what_all_its_voxels_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subsample, "MIN_FILE_BYTES", 2**20)
    monkeypatch.setattr(subsample, "MAX_VOXELS", 2**17)
    np.save(tmp_path / "large.npy", sample(96))
    with open_volume(tmp_path / "large.npy") as volume:
        scene = automatic_scene(volume)
    renderers = RendererGroup([choose("cpu")])
    first = renderers.draw_first(scene, 64, 64)
    assert first is not None and first.statistics.full_resolution == 0
    exact = renderers.of(scene).render(scene, 64, 64)
    difference = np.abs(first.rgba[..., :3].astype(int) - exact.rgba[..., :3])
    assert exact.rgba[..., :3].max() > 100 and difference.mean() < 10
    np.save(tmp_path / "small.npy", sample(16))
    with open_volume(tmp_path / "small.npy") as volume:
        assert renderers.draw_first(automatic_scene(volume), 64, 64) is None


def test_what_draws_the_first_image_of_a_large_file_is_prepared_while_its_page_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subsample, "MIN_FILE_BYTES", 2**20)
    prepared: list[Scene] = []
    with closing(MessageChannel(socket.socketpair()[0])) as channel:
        worker = WorkerMain(channel, "cpu")
        monkeypatch.setattr(worker, "send_reply", lambda *_: None)
        monkeypatch.setattr(RendererGroup, "draw_first", lambda _, scene, *given: prepared.append(scene))
        for edge in (96, 16):
            np.save(tmp_path / f"{edge}.npy", sample(edge))
            worker.describe(Describe(1, str(tmp_path / f"{edge}.npy")))
        while worker.drawing._guest_jobs:
            worker.drawing._next()()
    assert [scene.volumes[0].source for scene in prepared] == [str(tmp_path / "96.npy")]
