"""The camera that sees all that a scene shows: what the transfer function and clipping leave, at any aspect."""

from dataclasses import replace
from math import radians, tan

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera
from pellucid.rendering.first_view.shown_region import fit_camera
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.rendering.geometry.shapes import Points
from pellucid.rendering.scene import ClipPlane, PointsLayer, Scene
from pellucid.volume.volume import Volume

SIDE, UP = (0.55, 1.0, -0.35), (0.0, 0.0, -1.0)
EDGE = 40


def balls() -> Volume:
    """A bright ball in one half, a faint one in the other, nothing around them."""
    z, y, x = np.indices((EDGE, EDGE, EDGE), float)
    voxels = np.zeros((EDGE, EDGE, EDGE), np.float32)
    voxels[(z - 10) ** 2 + (y - 10) ** 2 + (x - 10) ** 2 < 36] = 1.0
    voxels[(z - 30) ** 2 + (y - 30) ** 2 + (x - 30) ** 2 < 36] = 3.0
    return Volume.from_array(voxels, (2.0, 1.0, 0.5))


def reach(camera: Camera, places: Voxels, aspect: float) -> tuple[float, float]:
    """How far places (x, y, z) are from the middle of an image, 1 at its border: the farthest, across and upwards."""
    right, up, forward = camera.axes()
    seen = places - np.asarray(camera.position)
    half = tan(radians(camera.field_of_view_deg or 30.0) / 2) * (seen @ forward)
    if camera.field_of_view_deg is None:
        half = np.full(len(places), camera.height / 2)
    return float(np.abs(seen @ right / half / aspect).max()), float(np.abs(seen @ up / half).max())


def voxels_above(volume: Volume, level: float, inside: Box | None = None) -> Voxels:
    box = inside or volume.box
    found = np.argwhere(volume.read(box) > level) + box.start
    return (found * volume.spacing)[:, ::-1]


@pytest.mark.parametrize("aspect", [0.46, 1.0, 1.8])
@pytest.mark.parametrize("field_of_view_deg", [30.0, None])
def test_what_is_shown_fills_the_image_at_any_aspect(aspect: float, field_of_view_deg: float | None) -> None:
    volume = balls()
    scene = automatic_scene(volume)
    scene = replace(scene, camera=replace(scene.camera, field_of_view_deg=field_of_view_deg))
    camera = fit_camera(scene, [volume], [], SIDE, UP, aspect)
    assert camera.field_of_view_deg == field_of_view_deg
    assert 0.7 < max(reach(camera, voxels_above(volume, 0.5), aspect)) < 1.0


def test_it_follows_the_transfer_function_and_clipping() -> None:
    volume = balls()
    scene = automatic_scene(volume)
    (layer,) = scene.volumes
    bright = replace(layer, transfer=replace(layer.transfer, value_range=(0.0, 3.0), opacities=((0.7, 0.0), (1, 1))))
    clip = Box((0, 0, 0), (20, 20, 20))
    plane = ClipPlane((1.0, 0.0, 0.0), 10.0)
    for shown, level, inside in (
        (replace(scene, volumes=(bright,)), 2.0, None),
        (replace(scene, volumes=(replace(layer, clip=clip),)), 0.5, clip),
        (replace(scene, planes=(plane,)), 0.5, Box((0, 0, 20), (EDGE, EDGE, EDGE))),
    ):
        camera = fit_camera(shown, [volume], [], SIDE, UP)
        assert 0.5 < max(reach(camera, voxels_above(volume, level, inside), 1.0)) < 1.0


def test_the_first_image_is_what_it_fits_without_changes() -> None:
    volume = balls()
    scene = automatic_scene(volume, aspect=1.5)
    side = tuple(np.subtract(scene.camera.position, scene.camera.target).tolist())
    fitted = fit_camera(scene, [volume], [], side, scene.camera.up, 1.5)
    assert fitted.position == pytest.approx(scene.camera.position)
    assert fitted.target == pytest.approx(scene.camera.target)


def test_points_are_seen_and_hidden_layers_are_not() -> None:
    volume, points = balls(), Points(np.array([[100.0, 0, 0], [101, 1, 1]]), np.ones(2), name="far")
    scene = replace(automatic_scene(volume), points=(PointsLayer("far"),))
    both = fit_camera(scene, [volume], [points], SIDE, UP)
    assert max(reach(both, np.concatenate([voxels_above(volume, 0.5), [[100.0, 0, 0]]]), 1.0)) < 1.0
    hidden = replace(scene, points=(replace(scene.points[0], is_visible=False),))
    assert fit_camera(hidden, [volume], [], SIDE, UP).target == pytest.approx(
        fit_camera(replace(scene, points=()), [volume], [], SIDE, UP).target
    )


def test_an_empty_scene_is_refused() -> None:
    with pytest.raises(InvalidInput, match="shows nothing"):
        fit_camera(Scene(), [], [], SIDE, UP)
