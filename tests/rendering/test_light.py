"""Light comes from where it should, and is followed through volumes without traces of how."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.light import FROM_ABOVE_LEFT, HEADLIGHT, Light
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, ShadingName, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume

SIZE = 64
SOLID = TransferFunction(((0.0, (1.0, 1.0, 1.0)),), ((0.0, 0.0), (0.5, 0.0), (0.5, 0.9), (1.0, 0.9)), (0.0, 200.0))
FRONT = Camera((23.5, -60.0, 23.5), (23.5, 23.5, 23.5), (0.0, 0.0, 1.0), None, 46.0)
"""Looks along y; x goes to the right, z up."""


def plate_before_wall() -> Voxels:
    """A wall at the back, and a small plate some voxels before its middle; (z, y, x)."""
    voxels = np.zeros((48, 48, 48), np.uint8)
    voxels[:, 36:] = 200
    voxels[17:31, 20:23, 17:31] = 200
    return voxels


def brightness(renderer: Renderer, voxels: Voxels, shading: ShadingName, **changes: object) -> Voxels:
    volume = Volume.from_array(voxels)
    scene = Scene((VolumeLayer(str(volume.location), SOLID, shading=shading),), FRONT)
    return renderer.render(replace(scene, **changes), SIZE, SIZE).rgba[..., 0].astype(float)  # type: ignore[arg-type]


@pytest.mark.parametrize("shading", ["none", "shadow", "occlusion"])
def test_a_spacing_may_come_from_numpy(renderer: Renderer, shading: ShadingName) -> None:
    images = []
    for spacing in ((0.7, 0.5, 0.6), tuple(np.array([0.7, 0.5, 0.6]))):
        volume = Volume.from_array(plate_before_wall(), spacing=spacing)
        scene = Scene((VolumeLayer(str(volume.location), SOLID, shading=shading),), FRONT)
        images.append(renderer.render(scene, SIZE, SIZE).rgba)
    assert np.array_equal(images[0], images[1]) and images[0][..., 0].max() > 100


def test_a_light_moves_with_the_camera_unless_it_has_a_direction() -> None:
    random, expected = np.random.default_rng(0), -np.array(FROM_ABOVE_LEFT) / np.linalg.norm(FROM_ABOVE_LEFT)
    for _ in range(20):
        position, target, up_vector = random.normal(size=(3, 3)).tolist()
        camera = Camera(tuple(position), tuple(target), tuple(up_vector))
        right, up, forward = camera.axes()
        seen = [float(axis @ Light().towards(camera)) for axis in (right, up, -forward)]
        assert seen == pytest.approx(expected)
        assert HEADLIGHT.towards(camera) == pytest.approx(-forward)
        assert Light((0.0, 0.0, -2.0)).towards(camera) == pytest.approx([0.0, 0.0, 1.0])


def test_the_shadow_of_the_key_light_falls_to_the_lower_right(renderer: Renderer) -> None:
    shown = brightness(renderer, plate_before_wall(), "shadow")
    lit, dark = shown[8, 8], shown < 0.6 * shown[8, 8]
    rows, columns = np.nonzero(dark)
    # The plate's middle is the image's; its shadow falls 14.5 voxels behind it, on the wall.
    expected = np.array([0.65, 0.5]) * 14.5 * SIZE / 46
    assert lit > 200
    assert [rows.mean() - 31.5, columns.mean() - 31.5] == pytest.approx(expected, abs=2.5)


@pytest.mark.parametrize("shading", ["shadow", "occlusion", "full"])
def test_the_rough_picture_has_shadows_too(renderer: Renderer, shading: ShadingName) -> None:
    volume, ratios = Volume.from_array(plate_before_wall()), []
    for budget_ms in (1e-3, 1e6):
        levels = []
        for one in ("none", shading):
            scene = Scene((VolumeLayer(str(volume.location), SOLID, shading=one),), FRONT)
            frame = next(iter(renderer.render_progressive(scene, 512, 512, budget_ms=budget_ms)))
            assert (frame.statistics.scale < 0.1) == (budget_ms < 1)
            levels.append(frame.rgba[..., 0].mean())
        ratios.append(levels[1] / levels[0])
    rough, exact = ratios
    assert exact < 0.95
    assert rough == pytest.approx(exact, abs=0.04)


@pytest.mark.parametrize(("opacity", "least"), [(0.9, 0.99), (0.3, 0.88), (0.1, 0.99)])
def test_faces_on_the_border_of_a_volume_are_not_greyed(renderer: Renderer, opacity: float, least: float) -> None:
    volume = Volume.from_array(np.full((40, 40, 40), 200, np.uint8))
    camera = framing((0.0, 0.0, 0.0), (40.0, 40.0, 40.0), direction=(1.0, 0.8, 0.6), up=(0.0, 0.0, 1.0))
    transfer = replace(SOLID, opacities=((0.0, opacity),))
    images = []
    for shading in ("gradient", "occlusion"):
        layer = VolumeLayer(str(volume.location), transfer, shading=shading)
        images.append(renderer.render(Scene((layer,), camera), SIZE, SIZE).rgba[..., 0].astype(float))
    seen = images[0] > 100
    assert seen.mean() > 0.3
    assert (images[1][seen] / images[0][seen]).mean() > least


def test_all_together_is_darker_than_each_alone(renderer: Renderer) -> None:
    voxels = plate_before_wall()
    alone = [brightness(renderer, voxels, shading) for shading in ("gradient", "occlusion")]
    together = brightness(renderer, voxels, "full")
    assert all((together <= one + 1).all() for one in alone)
    shadow = brightness(renderer, voxels, "shadow") < 150
    assert together[shadow].mean() < 0.7 * alone[0][shadow].mean()


def test_what_reaches_a_sample_does_not_depend_on_what_is_skipped(renderer: Renderer) -> None:
    """Empty cells on the way of the light change no bit of it: here they are as visible as they can hardly be."""
    voxels = plate_before_wall()
    volume = Volume.from_array(voxels)
    faint = replace(SOLID, opacities=((0.0, 1e-9), (0.5, 1e-9), (0.5, 0.9), (1.0, 0.9)))
    images = []
    for transfer in (SOLID, faint):
        layer = VolumeLayer(str(volume.location), transfer, shading="full")
        images.append(renderer.render(Scene((layer,), FRONT), SIZE, SIZE).rgba.astype(int))
    assert np.abs(images[0] - images[1]).max() <= 1


def test_nothing_flickers_while_the_camera_turns(renderer: Renderer) -> None:
    """The light of a picture changes as evenly as the picture without it."""
    volume, uneven = Volume.from_array(plate_before_wall()), {}
    for shading in ("gradient", "shadow", "full"):
        layer = VolumeLayer(str(volume.location), SOLID, shading=shading)
        cameras = [FRONT.turned(10 + 0.2 * turn) for turn in range(10)]
        levels = [renderer.render(Scene((layer,), camera), SIZE, SIZE).rgba[..., 0].mean() for camera in cameras]
        uneven[shading] = np.abs(np.diff(levels, 2)).mean()
    assert max(uneven["shadow"], uneven["full"]) < 1.5 * uneven["gradient"] + 0.2
