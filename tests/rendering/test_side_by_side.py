"""Before and after: one camera, a divider, captions."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera
from pellucid.rendering.scene import Scene, SliceLayer, VolumeLayer
from pellucid.rendering.side_by_side import divider_width, draw_side_by_side, panel_size, with_look

SCENE = Scene(
    (VolumeLayer("before", mode="max"), VolumeLayer("other")), slices=(SliceLayer("before", (1.0, 2.0, 3.0)),)
)
seen: list[Camera] = []


def draw(scene: Scene, width: int, height: int) -> Voxels:
    """A sheet whose level says which scene it is."""
    seen.append(scene.camera)
    return np.full((height, width, 4), (round(scene.time), 0, 0, 255), np.uint8)


@pytest.mark.parametrize("width", [200, 201, 640])
def test_every_scene_has_its_place(width: int) -> None:
    seen.clear()
    scenes = [replace(SCENE, time=10.0), replace(SCENE, time=20.0, camera=Camera((9.0, 9.0, 9.0)))]
    sheet = draw_side_by_side(draw, scenes, width, 100)
    across, divider = panel_size(width, 100)[0], divider_width(100)
    assert sheet.shape == (100, width, 4)
    assert (sheet[:, :across, 0] == 10).all()
    assert (sheet[:, across : across + divider] == (128, 128, 128, 255)).all()
    assert (sheet[:, across + divider :, 0] == 20).all()
    assert seen == [SCENE.camera] * 2


def test_captions_stand_above(width: int = 400) -> None:
    plain, captioned = (draw_side_by_side(draw, [SCENE, SCENE], width, 300, names) for names in ((), ("one", "two")))
    changed = (plain != captioned).any(axis=-1)
    assert changed[:30, 60:140].any() and changed[:30, 260:340].any()
    assert not changed[30:].any()


def test_the_look_goes_to_another_volume() -> None:
    other = with_look(SCENE, "after")
    assert [layer.source for layer in other.volumes] == ["after", "other"]
    assert (other.volumes[0].mode, other.slices[0].source) == ("max", "after")
    with pytest.raises(InvalidInput, match="no volume to compare"):
        with_look(Scene(), "after")
