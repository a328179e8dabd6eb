"""A renderer that is told to forget a volume holds on to nothing of it."""

import gc
import weakref

import pytest

from pellucid.device import choose
from pellucid.errors import NotFound
from pellucid.rendering.automatic.volumes import automatic_scene
from pellucid.rendering.renderer import Renderer
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
