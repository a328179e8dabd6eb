"""The scale bar and the axes say what the camera says, the legend what the labels are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pellucid.formats.protocol import Voxels
from pellucid.rendering.annotations import AXES, Annotations, annotated, axes, scale_bar
from pellucid.rendering.camera import Camera
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.rendering.geometry.shapes import Mesh
from pellucid.rendering.labels import LabelColor, Labels
from pellucid.rendering.legend import MAX_LINES, LegendLine, legend_lines, with_legend
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import MeshLayer, Scene, VolumeLayer
from pellucid.volume.volume import Volume

FLAT = Camera((0.0, 0.0, 9.0), (0.0, 0.0, 0.0), field_of_view_deg=None, height=100.0)
DEEP = Camera((30.0, -40.0, 25.0), (1.0, 2.0, 3.0), (0.0, 0.0, 1.0))


def sheet(width: int, height: int, level: int, opacity: int = 255) -> Voxels:
    rgba = np.full((height, width, 4), level, np.uint8)
    rgba[..., 3] = opacity
    return rgba


def bar_pixels(rgba: Voxels, level: int) -> int:
    """The longest run of one level in a row of the picture's lower right quarter."""
    height, width = rgba.shape[:2]
    quarter = rgba[height * 3 // 4 :, width // 2 :]
    return max(int((row[:, :3] == level).all(axis=-1).sum()) for row in quarter)


@pytest.mark.parametrize("camera", [FLAT, DEEP])
@pytest.mark.parametrize(("width", "height"), [(640, 480), (1920, 1080), (200, 600), (90, 60)])
def test_the_bar_is_as_long_as_the_camera_says(camera: Camera, width: int, height: int) -> None:
    bar = scale_bar(camera, width, height, "mm")
    right, _, forward = camera.axes()
    ends = [np.asarray(camera.target) + sign * right * bar.length / 2 for sign in (-1, 1)]
    depths = [(end - camera.position) @ forward for end in ends]
    size = camera.visible_height / (camera.distance if camera.field_of_view_deg else depths[0])
    seen = [(end - camera.position) @ right / (depth * size) * height for end, depth in zip(ends, depths, strict=True)]
    assert bar.pixels == pytest.approx(seen[1] - seen[0], rel=1e-6)
    assert 0.1 < bar.pixels / min(width, 1.2 * height) <= 0.28
    drawn = annotated(sheet(width, height, 30), camera, Annotations(is_scale_bar=True, unit="mm"))
    assert bar_pixels(drawn, 255) == pytest.approx(bar.pixels, abs=0.5)


@pytest.mark.parametrize(
    ("height", "unit", "label"),
    [
        (1000.0, "um", "200 µm"), (9000.0, "nm", "2 µm"), (2.4, "mm", "500 µm"), (100.0, "voxels", "20 voxels"),
        (0.004, "m", "1 mm"), (1e-4, "", "2e-05"), (3e5, "micrometer", "50 mm"), (0.5, "nm", "100 pm"),
    ],
)  # fmt: skip
def test_the_bar_has_a_unit_that_people_say(height: float, unit: str, label: str) -> None:
    assert scale_bar(replace(FLAT, height=height), 1000, 1000, unit).label == label


def test_ink_is_dark_on_light_and_light_on_dark() -> None:
    marks = Annotations(is_scale_bar=True)
    on_dark, on_light = (annotated(sheet(400, 300, level), FLAT, marks) for level in (0, 255))
    pixels = scale_bar(FLAT, 400, 300).pixels
    assert bar_pixels(on_dark, 255) == pytest.approx(pixels, abs=0.5)
    assert bar_pixels(on_light, 0) == pytest.approx(pixels, abs=0.5)


def test_ink_is_opaque_on_nothing() -> None:
    drawn = annotated(sheet(400, 300, 0, opacity=0), FLAT, Annotations(is_scale_bar=True, is_axes=True))
    assert drawn[..., 3].max() == 255
    assert drawn[:150, :, 3].max() == 0


@pytest.mark.parametrize("camera", [FLAT, DEEP, DEEP.turned(70, -30)])
def test_the_axes_point_where_the_camera_sees_them(camera: Camera) -> None:
    right, up, forward = camera.axes()
    arms = {arm.name: arm for arm in axes(camera, 800, 600)}
    for number, (name, _) in enumerate(AXES):
        along = np.subtract(arms[name].tip, arms[name].root) / (0.075 * 600)
        assert along == pytest.approx([right[number], -up[number]])
    order = [arm.depth for arm in axes(camera, 800, 600)]
    assert order == sorted(order, reverse=True)
    assert order == pytest.approx(sorted(forward, reverse=True))


def test_the_arms_are_drawn_in_their_colours() -> None:
    drawn = annotated(sheet(800, 600, 0), DEEP, Annotations(is_axes=True))
    for arm in axes(DEEP, 800, 600):
        column, row = (round(0.3 * root + 0.7 * tip) for root, tip in zip(arm.root, arm.tip, strict=True))
        assert np.abs(drawn[row - 1 : row + 2, column - 1 : column + 2, :3].astype(int) - arm.color).max(-1).min() < 30


def test_nothing_asked_changes_nothing() -> None:
    rgba = sheet(40, 30, 7)
    assert annotated(rgba, FLAT, Annotations(unit="um")) is rgba


@pytest.mark.parametrize(("width", "height"), [(1, 1), (8, 200), (16, 16)])
def test_tiny_pictures_are_no_failure(width: int, height: int) -> None:
    marks = Annotations(is_scale_bar=True, is_axes=True, unit="um")
    assert annotated(sheet(width, height, 0), FLAT, marks).shape == (height, width, 4)


def test_a_scene_carries_them(renderer: Renderer, tmp_path: Path) -> None:
    volume = Volume.from_array(np.zeros((3, 4, 5), np.uint8), (0.5, 0.5, 0.5), "um")
    assert automatic_scene(volume).annotations == Annotations(unit="um")
    assert automatic_scene(Volume.from_array(np.zeros((3, 4, 5), np.uint8))).annotations.unit == "voxels"
    corners = np.array([[-20, -20, 0], [20, -20, 0], [0, 20, 0]], np.float32)
    mesh = Mesh(corners, np.array([[0, 1, 2]], np.int32))
    plain = Scene(camera=FLAT, meshes=(MeshLayer(mesh.name),))
    marked = replace(plain, annotations=Annotations(is_scale_bar=True, is_axes=True, unit="um"))
    assert Scene.from_json(marked.to_json()) == marked
    without, with_marks = (renderer.render(scene, 200, 150).rgba for scene in (plain, marked))
    assert (with_marks == annotated(without, FLAT, marked.annotations)).all()
    assert (with_marks != without).any()


def test_the_legend_has_the_names_and_colours_of_labels_that_are_drawn() -> None:
    red, blue = LabelColor(3, (1.0, 0.0, 0.0), name="wall"), LabelColor(5, (0.0, 0.0, 1.0), name="pore")
    unnamed, hidden = LabelColor(9, (0.0, 1.0, 0.0)), LabelColor(11, name="air", is_visible=False)
    layer = VolumeLayer("marks", labels=Labels(0.5, (red, unnamed, hidden, blue)))
    scene = Scene((layer,), annotations=Annotations(is_legend=True))
    assert legend_lines(scene) == [LegendLine("wall", (1.0, 0.0, 0.0)), LegendLine("pore", (0.0, 0.0, 1.0))]
    drawn = with_legend(sheet(400, 300, 40), scene)
    for color, rows in (((255, 0, 0), slice(0, 24)), ((0, 0, 255), slice(24, 50))):
        assert (drawn[rows, :40, :3] == color).all(axis=-1).sum() > 60, color
    assert drawn[:50, 25:].max() == 255 and drawn[60:].max() == 255  # Letters, and the opacity of the rest.
    assert (drawn[60:, :, :3] == 40).all()
    plain = replace(scene, annotations=Annotations())
    assert (with_legend(sheet(400, 300, 40), plain) == sheet(400, 300, 40)).all()


def test_a_long_legend_says_how_many_are_left_out() -> None:
    labels = Labels(0.5, tuple(LabelColor(n, name=f"cell {n}") for n in range(1, 31)))
    lines = legend_lines(Scene((VolumeLayer("marks", labels=labels),)))
    assert len(lines) == MAX_LINES and lines[-1] == LegendLine("and 19 more", None)
    marked = Scene((VolumeLayer("marks", labels=labels),), annotations=Annotations(is_legend=True))
    assert with_legend(sheet(90, 60, 0), marked).shape == (60, 90, 4)
