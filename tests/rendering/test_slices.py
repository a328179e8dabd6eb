"""Slices: what the reference defines, where planes lie, what is before and behind them, and slices of bricks."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.device import Device
from pellucid.fields.bricks.brick_field import BrickField
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.frame import Frame, to_rgba8
from pellucid.rendering.geometry.shapes import Points
from pellucid.rendering.presets.color_maps import color_points
from pellucid.rendering.reference import geometry, surfaces
from pellucid.rendering.reference import volumes as reference
from pellucid.rendering.reference.shading import Sun
from pellucid.rendering.reference.slices import draw_slice
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import ClipPlane, Isosurface, PointsLayer, Scene, SliceLayer, Transform, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume

SIZE = 64
SHAPE, SPACING = (20, 26, 30), (2.0, 1.0, 1.0)
CAMERA = framing((0.0, 0.0, 0.0), (30.0, 26.0, 40.0), direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))
COLORS = TransferFunction(color_points("viridis"), ((0.0, 0.0), (0.4, 0.0), (0.4, 0.3)), (0.0, 200.0))
OBLIQUE = ((15.0, 13.0, 20.0), (1.0, 0.5, -0.3))


def waves(shape: tuple[int, int, int]) -> Voxels:
    z, y, x = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    values: Voxels = (100 + 60 * np.sin(z / 3) * np.cos(y / 4) + 40 * np.sin((x + y) / 5)).astype(np.uint8)
    return values


@pytest.fixture(scope="module")
def volume() -> Volume:
    return Volume.from_array(waves(SHAPE), SPACING)


def rays_of(scene: Scene) -> reference.Rays:
    return reference.camera_rays(scene.camera, SIZE, SIZE, is_jittered=scene.is_jittered)


def decibels(frame: Frame, image: surfaces.ReferenceImage, scene: Scene) -> float:
    expected = to_rgba8(image[0].reshape(SIZE, SIZE, 4).astype(np.float32), scene.background)
    assert expected[..., :3].std() > 3, "the reference's picture shows nothing: the test would prove nothing"
    depth = image[1].reshape(SIZE, SIZE)
    both = np.isfinite(frame.depth) & np.isfinite(depth)
    assert not both.any() or np.median(np.abs(frame.depth[both] - depth[both])) < 0.01
    error = np.mean((frame.rgba.astype(float) - expected.astype(float)) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(255**2 / error))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"is_solid": False},
        {"opacity": 0.4},
        {"point": (0.0, 0.0, 19.0), "normal": (0.0, 0.0, 2.0)},
        {"clip": Box((4, 4, 4), (16, 22, 26))},
        {"transform": Transform((1.2, 0.8, 1.0), (20.0, -35.0, 50.0), (4.0, -3.0, 2.0))},
        {"planes": (ClipPlane((0.0, 0.0, 1.0), 15.0),)},
        {"camera": replace(CAMERA, field_of_view_deg=None, height=40.0)},
        {"camera": Camera((15.0, 13.0, 20.0), (30.0, 26.0, 40.0), (0.0, 0.0, 1.0), 60.0), "normal": (0.9, 0.7, 1.1),
         "point": (20.0, 18.0, 28.0)},
    ],
    ids="-".join,
)  # fmt: skip
def test_a_slice_is_the_reference_s(renderer: Renderer, volume: Volume, changes: dict[str, object]) -> None:
    layer = SliceLayer(str(volume.location), *OBLIQUE, COLORS)
    in_layer = {name: value for name, value in changes.items() if hasattr(layer, name)}
    layer = replace(layer, **in_layer)  # type: ignore[arg-type]
    rest = {"camera": CAMERA, **{name: value for name, value in changes.items() if name not in in_layer}}
    scene = Scene(slices=(layer,), **rest)  # type: ignore[arg-type]
    rays = rays_of(scene)
    drawn = draw_slice(volume.read(), SPACING, layer, rays, scene.planes)
    expected = surfaces.SurfaceWalk(surfaces.arranged([drawn], SIZE * SIZE)).finish()
    assert decibels(renderer.render(scene, SIZE, SIZE), expected, scene) >= 45


@pytest.mark.parametrize("opacity", [1.0, 0.5])
@pytest.mark.parametrize(
    "changes",
    [
        {"shading": "none"},
        {"mode": "max"},
        {"mode": "mean"},
        {"mode": "isosurface", "isosurfaces": (Isosurface(90.0, opacity=0.5), Isosurface(130.0, (0.2, 0.9, 0.3)))},
    ],
    ids="-".join,
)
def test_slices_lie_among_volume_and_spheres(
    renderer: Renderer, volume: Volume, changes: dict[str, object], opacity: float
) -> None:
    source = str(volume.location)
    thin = replace(COLORS, opacities=((0.0, 0.0), (0.5, 0.0), (1.0, 0.25)))
    layer = replace(VolumeLayer(source, thin), **changes)  # type: ignore[arg-type]
    planes = (
        SliceLayer(source, *OBLIQUE, COLORS, opacity, is_solid=False),
        SliceLayer.across(source, "z", 11.0, transfer=COLORS, opacity=opacity),
    )
    points = Points(np.array([[12.0, 6.0, 20.0], [26.0, 3.0, 30.0]]), np.array([4.0, 3.0]))
    spheres = PointsLayer(points.name, TransferFunction(((0.0, (1.0, 0.2, 0.2)),), ((0.0, 1.0),)))
    scene = Scene((layer,), CAMERA, slices=planes, points=(spheres,))
    rays = rays_of(scene)
    images = [draw_slice(volume.read(), SPACING, plane, rays) for plane in planes]
    around = surfaces.arranged(
        [geometry.draw_points(points, spheres, rays, Sun.over(scene.light, scene.camera)), *images], SIZE * SIZE
    )
    medium = reference.Medium(volume.read(), SPACING, layer, scene.light, scene.step, camera=scene.camera)
    expected = reference.render([medium], rays, around)
    # Textures are read with weights of 8 bits, and a ray that grazes a surface may or may not meet it.
    assert decibels(renderer.render(scene, SIZE, SIZE), expected, scene) >= (40 if renderer.device.is_cuda else 45)


def test_of_slices_in_one_plane_the_later_lies_on_top(renderer: Renderer) -> None:
    ones = Volume.from_array(np.ones((9, 9, 9), np.uint8))
    source = str(ones.location)
    red, green, blue = (TransferFunction(((0.0, color),)) for color in ((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)))
    opacities = (1.0, 0.5, 0.5)
    planes = tuple(
        SliceLayer(source, (4.0, 4.0, 4.0), OBLIQUE[1], transfer, opacity)
        for transfer, opacity in zip((red, green, blue), opacities, strict=True)
    )
    camera = Camera((4.0, 4.0, -50.0), (4.0, 4.0, 4.0), (0.0, 1.0, 0.0), None, 4.0)
    frame = renderer.render(Scene(camera=camera, slices=planes), 9, 9)
    assert frame.rgba[4, 4].tolist() == pytest.approx([64, 64, 128, 255], abs=1)
    swapped = renderer.render(Scene(camera=camera, slices=(planes[1], planes[2], planes[0])), 9, 9)
    assert swapped.rgba[4, 4].tolist() == pytest.approx([64, 64, 128, 255], abs=1)


def test_a_slice_lies_where_its_plane_is(renderer: Renderer) -> None:
    ramp = np.broadcast_to(np.arange(10, dtype=np.float32)[:, None, None], (10, 10, 10))
    volume = Volume.from_array(ramp, (3.0, 1.0, 1.0))
    transfer = TransferFunction(value_range=(0.0, 10.0))
    camera = Camera((4.5, 4.5, -50.0), (4.5, 4.5, 0.0), (0.0, 1.0, 0.0), None, 5.0)
    scene = Scene(camera=camera, slices=(SliceLayer.across(str(volume.location), "z", 13.5, transfer=transfer),))
    frame = renderer.render(scene, 16, 16)
    assert np.abs(frame.depth - 63.5).max() < 1e-3
    assert np.abs(frame.rgba[..., :3].astype(float) - 255 * 0.45).max() <= 1


def test_slices_of_bricks_fetch_what_they_show(device: Device) -> None:
    shape = (100, 110, 128)
    volume = Volume.from_array(waves(shape))
    plane = SliceLayer(str(volume.location), (64.0, 55.0, 50.0), (0.3, 1.0, 0.2), COLORS)
    camera = framing((0.0, 0.0, 0.0), shape[::-1], direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))
    scene = Scene(camera=camera, slices=(plane,))
    whole = Renderer(device).render(scene, SIZE, SIZE)
    renderer = Renderer(device)
    field = BrickField(volume, device, volume.nbytes)
    renderer.add_field(str(volume.location), field)
    bricks = renderer.render(scene, SIZE, SIZE)
    assert bricks.statistics.full_resolution == 1
    assert 4 < field.bricks_read < 60, "of 64 bricks, those that the plane cuts"
    assert np.abs(whole.rgba.astype(int) - bricks.rgba).max() <= (1 if device.is_cuda else 0)
    assert whole.rgba[..., :3].std() > 10
