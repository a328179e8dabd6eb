"""Scenes over time: the nearest step of a series is drawn, in volumes, slices and labels."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pellucid.rendering.camera import Camera
from pellucid.rendering.labels import LabelColor, Labels
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, SliceLayer, VolumeLayer
from pellucid.rendering.transfer import TransferFunction

CAMERA = Camera((7.5, 7.5, -50.0), (7.5, 7.5, 4.0), (0.0, 1.0, 0.0), None, 8.0)
TRANSFER = TransferFunction(opacities=((0.0, 1.0),), value_range=(0.0, 255.0))
LEVELS = (40, 90, 140, 190)


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four steps of 8 × 16 × 16, each filled with one value."""
    path: Path = tmp_path_factory.mktemp("series") / "growing.npy"
    np.save(path, np.broadcast_to(np.array(LEVELS, np.uint8)[:, None, None, None], (4, 8, 16, 16)))
    return str(path)


def middle(renderer: Renderer, scene: Scene) -> list[int]:
    rgba: list[int] = renderer.render(scene, 9, 9).rgba[4, 4].tolist()
    return rgba


@pytest.mark.parametrize(
    ("time", "step"), [(0.0, 0), (0.4, 0), (0.6, 1), (2.0, 2), (3.3, 3), (17.0, 3), (-1.0, 0), (1.0, 1)]
)
def test_the_nearest_step_is_drawn(renderer: Renderer, series: str, time: float, step: int) -> None:
    grey = [LEVELS[step]] * 3 + [255]
    volume = Scene((VolumeLayer(series, TRANSFER, shading="none"),), CAMERA, time=time)
    assert middle(renderer, volume) == pytest.approx(grey, abs=1)
    plane = SliceLayer.across(series, "z", 3.0, transfer=TRANSFER)
    assert middle(renderer, Scene(camera=CAMERA, slices=(plane,), time=time)) == pytest.approx(grey, abs=1)


def test_a_step_that_is_named_stays(renderer: Renderer, series: str) -> None:
    fixed = VolumeLayer(f"{series}:t=2", TRANSFER, shading="none")
    for time in (0.0, 3.0):
        assert middle(renderer, Scene((fixed,), CAMERA, time=time))[0] == LEVELS[2]


def test_labels_over_time(renderer: Renderer, series: str) -> None:
    colors = Labels(1.0, (LabelColor(LEVELS[0], (1.0, 0.0, 0.0)), LabelColor(LEVELS[1], (0.0, 1.0, 0.0))))
    scene = Scene((VolumeLayer(series, shading="none", labels=colors),), CAMERA)
    assert middle(renderer, scene) == [255, 0, 0, 255]
    assert middle(renderer, replace(scene, time=1.0)) == [0, 255, 0, 255]


def test_shadows_follow_the_time(renderer: Renderer, tmp_path: Path) -> None:
    """The light is worked out anew for every step."""
    voxels = np.zeros((2, 16, 16, 16), np.uint8)
    voxels[1, :4] = 200
    voxels[:, 8:] = 200
    np.save(tmp_path / "lid.npy", voxels)
    solid = TransferFunction(opacities=((0.0, 0.0), (0.5, 0.0), (0.5, 1.0)), value_range=(0.0, 200.0))
    layer = VolumeLayer(str(tmp_path / "lid.npy"), solid, shading="occlusion")
    scene = Scene((layer,), Camera((7.5, 40.0, 30.0), (7.5, 7.5, 7.5), (0.0, 0.0, 1.0), 40.0))
    images = [renderer.render(replace(scene, time=time), 24, 24).rgba for time in (0.0, 1.0, 0.0)]
    assert np.array_equal(images[0], images[2])
    assert np.abs(images[0].astype(int) - images[1]).max() > 50
