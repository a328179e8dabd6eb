"""A renderer that is told to forget a volume holds on to nothing of it."""

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

from pellucid.device import choose
from pellucid.errors import NotFound
from pellucid.rendering.camera import Camera
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import PointsLayer, Scene
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.sample_volume import sample
from pellucid.volume.volume import Volume


def test_a_forgotten_volume_is_gone() -> None:
    renderer, volume = Renderer(choose("cpu")), Volume.from_array(sample(16))
    renderer.add(volume)
    scene = automatic_scene(volume)
    renderer.render(scene, 16, 16)
    held = weakref.ref(volume)
    renderer.forget(str(volume.location))
    del volume
    gc.collect()
    assert held() is None
    with pytest.raises(NotFound):
        renderer.render(scene, 16, 16)


def test_points_of_a_file_are_loaded_again_once_they_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("x,y,z,value\n0,0,0,1\n")
    transfer = TransferFunction(opacities=((0.0, 1.0), (1.0, 1.0)), value_range=(0.0, 2.0))
    scene = Scene(points=(PointsLayer(str(path), transfer),), camera=Camera(position=(0.0, 0.0, 20.0)))
    with Renderer(choose("cpu")) as renderer:
        first = renderer.render(scene, 32, 32).rgba
        path.write_text("x,y,z,value\n0,0,0,1\n3,0,0,1\n")
        np.testing.assert_array_equal(renderer.render(scene, 32, 32).rgba, first)
        renderer.forget(str(path))
        assert not np.array_equal(renderer.render(scene, 32, 32).rgba, first)
