"""Scenes, cameras, transfer functions and colours: plain data that is checked."""

import json
from collections.abc import Callable

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.labels import LabelColor, Labels
from pellucid.rendering.light import HEADLIGHT, Light
from pellucid.rendering.presets.color_maps import color_maps, color_points
from pellucid.rendering.scene import (
    MIGRATIONS,
    VERSION,
    ClipPlane,
    Isosurface,
    MeshLayer,
    Scene,
    SliceLayer,
    Transform,
    VolumeLayer,
)
from pellucid.rendering.transfer import TransferFunction

FULL = Scene(
    volumes=(
        VolumeLayer(
            "scan.zarr",
            TransferFunction(color_points("viridis"), ((0.0, 0.0), (1.0, 0.5)), (-10.0, 300.0), 0.8),
            "isosurface",
            "none",
            (Isosurface(12.0, (1.0, 0.0, 0.0), 0.5),),
            Box((1, 2, 3), (4, 5, 6)),
            Transform((1.0, 2.0, 1.0), (0.0, 90.0, 0.0), (1.0, 2.0, 3.0)),
        ),
    ),
    camera=Camera((1.0, 2.0, 3.0), field_of_view_deg=None),
    light=Light((0.0, 0.0, 1.0)),
    planes=(ClipPlane((0.0, 0.0, 1.0), 5.0),),
    slices=(SliceLayer("labels.zarr", (1.0, 2.0, 3.0), labels=Labels(0.3, (LabelColor(7, (1.0, 0.0, 0.0)),))),),
    time=2.0,
)


def test_a_scene_is_read_back_as_it_was_written() -> None:
    assert Scene.from_json(FULL.to_json()) == FULL
    assert json.loads(FULL.to_json())["version"] == 3


@pytest.mark.parametrize(
    ("change", "reply"),
    [
        ({"colour": 3}, r"Unknown field 'colour' in scene\. Valid fields: annotations, background, camera"),
        ({"camera": {"position": [0, 0, 1], "zoom": 2}}, r"Unknown field 'zoom' in scene.camera"),
        ({"camera": {"position": [0, 1]}}, r"scene.camera.position: \[0, 1\]\. Use 3 numbers"),
        ({"step": "fine"}, r"scene.step: 'fine'\. Use a number"),
        (
            {"volumes": [{"source": "a", "mode": "x-ray"}]},
            r"scene.volumes\[0\].mode: 'x-ray'\. Use one of",
        ),
        ({"volumes": [{}]}, r"scene.volumes\[0\] is incomplete"),
        ({"step": 0}, r"Invalid step of 0.0 voxels"),
        ({"version": 99}, r"version 99; this program supports 1 to 3\. Update Pellucid"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(change: dict[str, object], reply: str) -> None:
    document = {**json.loads(Scene().to_json()), **change}
    with pytest.raises(InvalidInput, match=reply):
        Scene.from_json(json.dumps(document))


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("make", "reply"),
    [
        (lambda: Camera((NAN, 0.0, 4.0)), "nan, 0.0, 4.0, .* is not finite. Use finite"),
        (lambda: Camera((INFINITE, 0.0, 4.0)), "Use finite numbers"),
        (lambda: Camera(up=(0.0, 0.0, 0.0)), "camera's up of 0.0, 0.0, 0.0 has no direction"),
        (lambda: Camera(field_of_view_deg=None, height=0.0), "Invalid camera height: 0.0"),
        (lambda: Camera((1e6, 0.0, 0.0), (1e6, 0.0, 0.0)), "position equals its target"),
        (lambda: Transform(scale=(1.0, 0.0, 1.0)), "The scale must not be 0"),
        (lambda: Transform(rotation_deg=(NAN, 0.0, 0.0)), "A transform of .*nan"),
        (lambda: Light(direction=(0.0, 0.0, 0.0)), "light's direction of .* has no direction"),
        (lambda: Light(shininess=-1.0), "0 or more"),
        (lambda: ClipPlane((0.0, 0.0, 0.0), 1.0), "plane's normal of .* has no direction"),
        (lambda: ClipPlane((0.0, 0.0, 1.0), NAN), "offset of nan"),
        (lambda: Isosurface(NAN), "value of nan"),
        (lambda: Isosurface(1.0, opacity=2.0), "opacity of 2.0 is out of range. Use numbers from 0 to 1"),
        (lambda: SliceLayer("a", (NAN, 0.0, 0.0)), "point of nan"),
        (lambda: MeshLayer("a", color=(9.0, 0.0, 0.0)), "mesh's colour of 9.0"),
        (lambda: LabelColor(3, (2.0, 0.0, 0.0)), "label 3 of 2.0"),
        (lambda: Scene(background=(0.0, 0.0, 2.0, 1.0)), "background of 0.0, 0.0, 2.0, 1.0"),
        (lambda: Scene(time=NAN), "time of nan"),
        (lambda: TransferFunction(gamma=INFINITE), "Invalid gamma: inf"),
        (lambda: VolumeLayer("a", mode="composit"), "Unknown mode 'composit'. Choose one of: composite, max"),  # type: ignore[arg-type]
        (lambda: VolumeLayer("a", shading="ao"), "Unknown shading 'ao'. Choose one of: none, gradient"),  # type: ignore[arg-type]
    ],
)
def test_what_means_nothing_is_refused(make: Callable[[], object], reply: str) -> None:
    with pytest.raises(InvalidInput, match=reply):
        make()


def test_a_camera_may_look_at_what_is_tiny_or_far_away() -> None:
    assert Camera((1e-9, 0.0, 0.0)).distance == 1e-9
    assert Camera((1e6, 0.0, 0.5), (1e6, 0.0, 0.0)).distance == 0.5
    near, far = (framing((0.0, 0.0, 0.0), (size, size, size)) for size in (1e-9, 1.0))
    assert np.allclose(np.array(near.position) * 1e9, far.position)
    assert framing((3.0, 3.0, 3.0), (3.0, 3.0, 3.0)).target == (3.0, 3.0, 3.0)


def test_a_scene_of_version_1_opens() -> None:
    text = """{"version": 1, "volumes": [{"source": "scan.zarr", "mode": "max", "shading": "none"}],
        "meshes": [{"source": "bone.ply", "color": [1, 0, 0]}], "step": 0.25}"""
    scene = Scene.from_json(text)
    assert scene.volumes == (VolumeLayer("scan.zarr", mode="max", shading="none"),)
    assert scene.meshes == (MeshLayer("bone.ply", (1.0, 0.0, 0.0), opacity=1.0),)
    assert (scene.step, scene.slices, scene.time) == (0.25, (), 0.0)
    with pytest.raises(InvalidInput, match="Unknown field 'colour' in scene"):
        Scene.from_json('{"version": 1, "colour": 3}')


def test_a_scene_of_version_2_has_the_light_that_it_had() -> None:
    """Without a direction it came from the eye."""
    assert Scene.from_json('{"version": 2}').light == HEADLIGHT
    lit = Scene.from_json('{"version": 2, "light": {"direction": [0, 0, 1], "ambient": 0.5}}').light
    assert (lit.direction, lit.ambient) == ((0.0, 0.0, 1.0), 0.5)
    assert Scene.from_json('{"version": 3}').light == Light()


def test_every_version_has_its_migration() -> None:
    assert sorted(MIGRATIONS) == list(range(1, VERSION))


def test_slices_are_named_by_axis_and_position() -> None:
    layer = SliceLayer.across("scan.zarr", "y", 12.5, opacity=0.5)
    assert layer == SliceLayer("scan.zarr", (0.0, 12.5, 0.0), (0.0, 1.0, 0.0), opacity=0.5)
    with pytest.raises(InvalidInput, match="Unknown axis 'w'"):
        SliceLayer.across("scan.zarr", "w", 1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="has no direction"):
        SliceLayer("scan.zarr", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    with pytest.raises(InvalidInput, match="opacity of 2"):
        MeshLayer("bone.ply", opacity=2.0)


def test_no_scene_at_all() -> None:
    for text in ("{", "[]", "{}"):
        with pytest.raises(InvalidInput, match="Invalid scene"):
            Scene.from_json(text)


def test_opacity_is_corrected_for_the_step() -> None:
    transfer = TransferFunction(opacities=((0.0, 0.3),))
    once, twice = transfer.table(1.0)[0, 3], transfer.table(0.5)[0, 3]
    assert 1 - (1 - twice) ** 2 == pytest.approx(once)


@pytest.mark.parametrize(
    "wrong",
    [{"value_range": (1.0, 1.0)}, {"gamma": 0.0}, {"opacities": ()}, {"opacities": ((0.5, 0.1), (0.2, 0.1))}],
)
def test_transfer_functions_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=r"Invalid (value range|gamma|opacity points)"):
        TransferFunction(**wrong)  # type: ignore[arg-type]


def test_colour_maps_are_named_and_spread() -> None:
    assert {"viridis", "magma", "inferno", "plasma", "cividis", "gray", "bone"} <= set(color_maps())
    assert color_points("viridis")[-1][1] == (0.9932, 0.9062, 0.1439)
    with pytest.raises(InvalidInput, match="viridis"):
        color_points("jet")


def test_a_camera_frames_a_box() -> None:
    camera = framing((0.0, 0.0, 0.0), (10.0, 20.0, 30.0))
    origins, directions = camera.rays(64, 64)
    assert origins.shape == directions.shape == (64, 64, 3)
    assert np.allclose(np.linalg.norm(directions, axis=-1), 1)
    corners = np.array([[x, y, z] for x in (0, 10) for y in (0, 20) for z in (0, 30)]) - camera.position
    right, up, forward = camera.axes()
    depth = corners @ forward
    half = np.tan(np.radians(15))
    assert (np.abs(corners @ right) <= half * depth + 1e-6).all()
    assert (np.abs(corners @ up) <= half * depth + 1e-6).all()


def test_turning_keeps_the_distance() -> None:
    camera = Camera((0.0, 0.0, 5.0))
    turned = camera.turned(90.0)
    assert np.allclose(turned.position, (5.0, 0.0, 0.0))
    assert camera.turned(30.0, 20.0).distance == pytest.approx(5.0)
    assert np.allclose(camera.turned(0.0, 45.0).position, (0.0, 5 / 2**0.5, 5 / 2**0.5))


def test_cameras_that_see_nothing_are_refused() -> None:
    with pytest.raises(InvalidInput, match="position equals its target"):
        Camera((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    with pytest.raises(InvalidInput, match="field of view"):
        Camera(field_of_view_deg=180.0)
