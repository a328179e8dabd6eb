"""Surfaces that are seen through, and projections with something in them: what the reference defines, and by hand."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.errors import InvalidInput
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.frame import Frame, to_rgba8
from pellucid.rendering.geometry.isosurfaces import extract_isosurface
from pellucid.rendering.geometry.shapes import Mesh, Points
from pellucid.rendering.reference import geometry, surfaces
from pellucid.rendering.reference import volumes as reference
from pellucid.rendering.reference.shading import Sun
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import ClipPlane, Isosurface, MeshLayer, Mode, PointsLayer, Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume

SIZE = 40
CAMERA = framing((0.0, 0.0, 0.0), (20.0, 20.0, 20.0), direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))
FRONT = Camera((20.0, 20.0, -100.5), (20.0, 20.0, 0.0), (0.0, 1.0, 0.0), None, 8.0)
CLEAR = (0.0, 0.0, 0.0, 0.0)
RED = TransferFunction(((0.0, (1.0, 0.0, 0.0)),), ((0.0, 1.0),), (0.0, 2.0))


def ball(radius: float) -> Mesh:
    z, y, x = np.meshgrid(*[np.arange(11.0)] * 3, indexing="ij")
    distance = np.sqrt((z - 5.1) ** 2 + (y - 4.9) ** 2 + (x - 5.0) ** 2)
    return extract_isosurface(Volume.from_array((radius / 2 - distance).astype(np.float32), (2.0, 2.0, 2.0)), 0.0)


def decibels(frame: Frame, image: surfaces.ReferenceImage, scene: Scene) -> float:
    expected = to_rgba8(image[0].reshape(SIZE, SIZE, 4).astype(np.float32), scene.background)
    assert expected[..., :3].std() > 3, "the reference's picture shows nothing: the test would prove nothing"
    error = np.mean((frame.rgba.astype(float) - expected.astype(float)) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(255**2 / error))


@pytest.fixture(scope="module")
def around() -> tuple[Scene, tuple[Mesh, Mesh, Points], surfaces.ReferenceSurfaces]:
    """A clear ball around another, clear as well, with spheres in and beside them, and a plane cutting all of it."""
    outer, inner = ball(8.0), ball(4.0)
    points = Points(np.array([[10.0, 10.0, 10.0], [13.0, 4.0, 14.0]]), np.array([1.5, 1.0]))
    layers = (MeshLayer(outer.name, (0.2, 0.5, 0.9), opacity=0.3), MeshLayer(inner.name, opacity=0.6))
    scene = Scene(
        camera=CAMERA, meshes=layers, points=(PointsLayer(points.name, RED),), planes=(ClipPlane((0.0, 0.3, 1.0), 9.0),)
    )
    rays = reference.camera_rays(CAMERA, SIZE, SIZE, is_jittered=True)
    images = [geometry.draw_points(points, scene.points[0], rays, Sun.over(scene.light, scene.camera), scene.planes)]
    for mesh, layer in zip((outer, inner), layers, strict=True):
        images += geometry.draw_clear_mesh(mesh, layer, rays, Sun.over(scene.light, scene.camera), scene.planes)
    return scene, (outer, inner, points), surfaces.arranged(images, SIZE * SIZE)


def test_clear_meshes_are_the_reference_s(
    renderer: Renderer, around: tuple[Scene, tuple[Mesh, Mesh, Points], surfaces.ReferenceSurfaces]
) -> None:
    scene, _, drawn = around
    assert decibels(renderer.render(scene, SIZE, SIZE), surfaces.SurfaceWalk(drawn).finish(), scene) >= 45


@pytest.mark.parametrize("mode", ["composite", "max", "mean", "isosurface"])
def test_clear_meshes_in_a_volume_are_the_reference_s(
    renderer: Renderer, around: tuple[Scene, tuple[Mesh, Mesh, Points], surfaces.ReferenceSurfaces], mode: Mode
) -> None:
    z, y, x = np.meshgrid(*[np.arange(20)] * 3, indexing="ij")
    volume = Volume.from_array((100 + 90 * np.sin(z / 3) * np.cos(y / 4) * np.sin(x / 5)).astype(np.uint8))
    transfer = TransferFunction(opacities=((0.0, 0.0), (0.3, 0.0), (1.0, 0.3)), value_range=(0.0, 200.0))
    layer = VolumeLayer(str(volume.location), transfer, mode, isosurfaces=(Isosurface(120.0, opacity=0.4),))
    scene = replace(around[0], volumes=(layer,))
    medium = reference.Medium(volume.read(), volume.spacing, layer, scene.light, scene.step, scene.planes, scene.camera)
    rays = reference.camera_rays(CAMERA, SIZE, SIZE, is_jittered=True)
    expected = reference.render([medium], rays, around[2])
    assert decibels(renderer.render(scene, SIZE, SIZE), expected, scene) >= 45


def sheet(z: float, color: tuple[float, float, float], opacity: float) -> tuple[Mesh, MeshLayer]:
    corners = np.array([[-50.0, -50.0, z], [90.0, -50.0, z], [20.0, 110.0, z]])
    mesh = Mesh(corners, np.array([[0, 1, 2]]))
    return mesh, MeshLayer(mesh.name, color, is_lit=False, opacity=opacity)


def slab(mode: Mode, opacity: float = 0.2) -> tuple[Volume, VolumeLayer]:
    """Four voxels, each taking a fifth of the light, at z from -0.5 to 3.5."""
    volume = Volume.from_array(np.ones((4, 40, 40), np.float32))
    white = TransferFunction(((0.0, (1.0, 1.0, 1.0)),), ((0.0, opacity),), (0.0, 2.0))
    return volume, VolumeLayer(str(volume.location), white, mode, "none")


@pytest.mark.parametrize(("z", "before", "behind"), [(-3.0, 0.0, 4.0), (1.5, 2.0, 2.0), (9.0, 4.0, 0.0)])
def test_a_clear_sheet_lies_before_in_and_behind_a_slab(
    renderer: Renderer, z: float, before: float, behind: float
) -> None:
    (mesh, layer), (volume, material) = sheet(z, (1.0, 0.0, 0.0), 0.5), slab("composite")
    scene = Scene((material,), FRONT, meshes=(layer,), background=CLEAR, is_jittered=False)
    rgba = renderer.render(scene, 9, 9).rgba[4, 4] / 255
    white = (1 - 0.8**before) + 0.5 * 0.8**before * (1 - 0.8**behind)
    opacity = 1 - 0.5 * 0.8**4
    assert rgba[3] == pytest.approx(opacity, abs=0.005)
    assert rgba[1] == pytest.approx(white / opacity, abs=0.005)
    assert rgba[0] == pytest.approx(1, abs=0.005)
    assert (mesh.name, str(volume.location)) == (layer.source, material.source)


def test_the_nearest_eight_surfaces_are_seen(renderer: Renderer) -> None:
    sheets = [sheet(float(z), (1.0, 1.0, 1.0), 0.1) for z in (5, 3, 9, 1, 7, 2, 8, 4, 6, 0)]
    scene = Scene(camera=FRONT, meshes=tuple(layer for _, layer in sheets), background=CLEAR)
    frame = renderer.render(scene, 9, 9)
    assert frame.rgba[4, 4, 3] == pytest.approx(255 * (1 - 0.9**8), abs=1)
    assert frame.depth[4, 4] == pytest.approx(106.5, abs=1e-3), "half of the light is gone at the seventh"


def test_a_clear_sheet_beyond_an_opaque_one_is_hidden(renderer: Renderer) -> None:
    sheets = [sheet(5.0, (0.0, 1.0, 0.0), 0.5), sheet(2.0, (1.0, 0.0, 0.0), 1.0), sheet(0.0, (0.0, 0.0, 1.0), 0.25)]
    scene = Scene(camera=FRONT, meshes=tuple(layer for _, layer in sheets))
    frame = renderer.render(scene, 9, 9)
    assert frame.rgba[4, 4].tolist() == pytest.approx([191, 0, 64, 255], abs=1)
    assert frame.depth[4, 4] == pytest.approx(102.5, abs=1e-3)


@pytest.mark.parametrize("mode", ["max", "min", "mean"])
@pytest.mark.parametrize(("sphere_z", "is_covered"), [(-10.0, False), (2.5, True), (20.0, True)])
def test_a_sphere_is_seen_before_in_and_behind_a_projection(
    renderer: Renderer, mode: Mode, sphere_z: float, is_covered: bool
) -> None:
    """The projection covers it by the opacity that the transfer function gives the value."""
    volume, layer = slab(mode)
    points = Points(np.array([[20.0, 20.0, sphere_z]]), np.array([1.0]))
    scene = Scene((layer,), FRONT, points=(PointsLayer(points.name, RED, is_lit=False),), background=CLEAR)
    frame = renderer.render(scene, 9, 9)
    white = 0.2 if is_covered else 0.0
    assert frame.rgba[4, 4].tolist() == pytest.approx([255, 255 * white, 255 * white, 255], abs=1)
    assert frame.rgba[0, 0].tolist() == [255, 255, 255, 255]
    assert str(volume.location) == layer.source


def test_opacity_one_is_what_it_was(renderer: Renderer) -> None:
    mesh = ball(8.0)
    opaque = Scene(camera=CAMERA, meshes=(MeshLayer(mesh.name),))
    nearly = Scene(camera=CAMERA, meshes=(MeshLayer(mesh.name, opacity=0.9999),))
    assert np.array_equal(renderer.render(opaque, SIZE, SIZE).rgba, renderer.render(nearly, SIZE, SIZE).rgba)


def test_a_user_s_shading_with_clear_surfaces_is_refused(renderer: Renderer) -> None:
    shading = renderer.add_shading("return color;")
    (mesh, layer), (volume, material) = sheet(0.0, (1.0, 0.0, 0.0), 0.5), slab("composite")
    drawn = VolumeLayer(material.source, material.transfer, shading="user", user_shading=shading.hash)
    with pytest.raises(InvalidInput, match=r"does not support translucent surfaces\. Set the opacity"):
        renderer.render(Scene((drawn,), FRONT, meshes=(layer,)), 8, 8)
    assert (mesh.name, str(volume.location)) == (layer.source, material.source)
