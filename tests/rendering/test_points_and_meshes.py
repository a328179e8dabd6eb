"""Spheres and triangles: what the reference defines, what geometry says, and what lies before and behind a volume."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.errors import InvalidInput, NotFound
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.first_view.geometry import with_scenery
from pellucid.rendering.frame import Frame, to_rgba8
from pellucid.rendering.geometry.isosurfaces import extract_isosurface
from pellucid.rendering.geometry.shapes import Mesh, Points, in_memory
from pellucid.rendering.layers.spheres import default_radius_scale, visible_spheres
from pellucid.rendering.light import HEADLIGHT, Light
from pellucid.rendering.presets.color_maps import color_points
from pellucid.rendering.reference import geometry as reference_geometry
from pellucid.rendering.reference import volumes as reference
from pellucid.rendering.reference.shading import Sun
from pellucid.rendering.reference.surfaces import ReferenceImage
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import ClipPlane, MeshLayer, PointsLayer, Scene, Transform, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume

SIZE = 64
CAMERA = framing((0.0, 0.0, 0.0), (20.0, 20.0, 20.0), direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))
FRONT = Camera((0.0, 0.0, -100.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0), None, 8.0)
SHOWN = TransferFunction(color_points("viridis"), ((0.0, 1.0),), (0.0, 2.0))
CLEAR = (0.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def cloud() -> Points:
    """120 points in a cube of 20, values 0.2 to 2."""
    random = np.random.default_rng(3)
    return Points(random.uniform(1, 19, (120, 3)), random.uniform(0.2, 2.0, 120))


@pytest.fixture(scope="module")
def ball() -> Mesh:
    """A closed ball of 8 in the middle of a cube of 20, some 600 triangles."""
    z, y, x = np.meshgrid(*[np.arange(11.0)] * 3, indexing="ij")
    distance = np.sqrt((z - 5.1) ** 2 + (y - 4.9) ** 2 + (x - 5.0) ** 2)
    return extract_isosurface(Volume.from_array((4 - distance).astype(np.float32), (2.0, 2.0, 2.0)), 0.0)


def decibels(frame: Frame, image: ReferenceImage, scene: Scene) -> float:
    color, depth = image
    expected = to_rgba8(color.reshape(SIZE, SIZE, 4).astype(np.float32), scene.background)
    assert expected[..., :3].std() > 3, "the reference's picture shows nothing: the test would prove nothing"
    both = np.isfinite(frame.depth) & np.isfinite(depth.reshape(SIZE, SIZE))
    assert np.median(np.abs(frame.depth[both] - depth.reshape(SIZE, SIZE)[both])) < 0.001
    error = np.mean((frame.rgba.astype(float) - expected.astype(float)) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(255**2 / error))


CHANGES = [
    {},
    {"is_lit": False},
    {"light": Light(direction=(0.3, 1.0, -0.5))},
    {"camera": CAMERA.turned(180.0)},
    {"camera": replace(CAMERA, field_of_view_deg=None, height=30.0)},
    {"camera": Camera((10.0, 10.0, 10.0), (20.0, 18.0, 16.0), (0.0, 0.0, 1.0), 80.0)},
    {"planes": (ClipPlane((0.6, 0.8, 0.0), 12.0), ClipPlane((0.0, 0.0, -1.0), -16.0))},
    {"transform": Transform((1.2, 0.8, 1.0), (20.0, -35.0, 50.0), (4.0, -3.0, 2.0))},
    {"background": (0.2, 0.4, 0.6, 0.5)},
]


def parts(changes: dict[str, object], layer: PointsLayer | MeshLayer) -> tuple[dict[str, object], dict[str, object]]:
    """What of the changes is the layer's, and what is the scene's."""
    in_layer = {name: value for name, value in changes.items() if hasattr(layer, name)}
    return in_layer, {"camera": CAMERA, **{name: value for name, value in changes.items() if name not in in_layer}}


@pytest.mark.parametrize("changes", CHANGES, ids="-".join)
def test_spheres_are_the_reference_s(renderer: Renderer, cloud: Points, changes: dict[str, object]) -> None:
    layer = PointsLayer(cloud.name, SHOWN, 0.6)
    in_layer, in_scene = parts(changes, layer)
    layer = replace(layer, **in_layer)  # type: ignore[arg-type]
    scene = Scene(points=(layer,), **in_scene)  # type: ignore[arg-type]
    rays = reference.camera_rays(scene.camera, SIZE, SIZE, is_jittered=False)
    expected = reference_geometry.draw_points(cloud, layer, rays, Sun.over(scene.light, scene.camera), scene.planes)
    assert decibels(renderer.render(scene, SIZE, SIZE), expected, scene) >= 45


@pytest.mark.parametrize("changes", CHANGES, ids="-".join)
def test_triangles_are_the_reference_s(renderer: Renderer, ball: Mesh, changes: dict[str, object]) -> None:
    layer = MeshLayer(ball.name, (0.9, 0.5, 0.2))
    in_layer, in_scene = parts(changes, layer)
    layer = replace(layer, **in_layer)  # type: ignore[arg-type]
    scene = Scene(meshes=(layer,), **in_scene)  # type: ignore[arg-type]
    rays = reference.camera_rays(scene.camera, SIZE, SIZE, is_jittered=False)
    expected = reference_geometry.draw_mesh(ball, layer, rays, Sun.over(scene.light, scene.camera), scene.planes)
    assert decibels(renderer.render(scene, SIZE, SIZE), expected, scene) >= 45


def test_spheres_and_triangles_hide_each_other(renderer: Renderer, cloud: Points, ball: Mesh) -> None:
    points, mesh = PointsLayer(cloud.name, SHOWN, 0.6), MeshLayer(ball.name)
    scene = Scene(camera=CAMERA, points=(points,), meshes=(mesh,))
    rays = reference.camera_rays(CAMERA, SIZE, SIZE, is_jittered=False)
    spheres = reference_geometry.draw_points(cloud, points, rays, Sun.over(scene.light, scene.camera))
    triangles = reference_geometry.draw_mesh(ball, mesh, rays, Sun.over(scene.light, scene.camera))
    both = reference_geometry.nearest([spheres, triangles])
    assert (spheres[1] < triangles[1]).any() and (triangles[1] < spheres[1]).any()
    assert decibels(renderer.render(scene, SIZE, SIZE), both, scene) >= 45


def test_hidden_layers_are_as_if_they_were_not_there(renderer: Renderer, cloud: Points, ball: Mesh) -> None:
    points, mesh = PointsLayer(cloud.name, SHOWN), MeshLayer(ball.name)
    scene = Scene(camera=CAMERA, points=(replace(points, is_visible=False),), meshes=(mesh,))
    without = renderer.render(replace(scene, points=()), SIZE, SIZE)
    np.testing.assert_array_equal(renderer.render(scene, SIZE, SIZE).rgba, without.rgba)
    *_, last = renderer.render_progressive(scene, SIZE, SIZE)
    assert last.statistics.images == 9 and np.array_equal(last.depth, without.depth)
    empty = replace(scene, meshes=(replace(mesh, is_visible=False),), background=(0.2, 0.4, 0.6, 1.0))
    assert np.unique(renderer.render(empty, SIZE, SIZE).rgba.reshape(-1, 4), axis=0).tolist() == [[51, 102, 153, 255]]


def test_a_sphere_has_its_silhouette_and_its_depth(renderer: Renderer) -> None:
    points = Points(np.array([[0.0, 0.0, 0.0]]), np.array([1.5]))
    scene = Scene(camera=FRONT, background=CLEAR, points=(PointsLayer(points.name, SHOWN, 2.0),))
    frame = renderer.render(scene, 128, 128)
    row, column = np.indices((128, 128))
    radius = np.hypot(row - 63.5, column - 63.5) / 16
    assert (frame.rgba[radius < 2.999, 3] == 255).all()
    assert (frame.rgba[radius > 3.001, 3] == 0).all()
    inside = radius < 2.9
    assert np.abs(frame.depth[inside] - (100 - np.sqrt(9 - radius[inside] ** 2))).max() < 1e-3
    assert np.isinf(frame.depth[radius > 3.001]).all()


@pytest.mark.parametrize("spread", ["one place", "ever closer"])
def test_uneven_clouds_are_drawn_whole(renderer: Renderer, spread: str) -> None:
    """Trees over such clouds are deep, or have boxes that are all alike."""
    count = 3000
    places = np.zeros((count, 3)) if spread == "one place" else 3.9 * 0.99 ** np.arange(count)[:, None] * [[1.0, 0, 0]]
    points = Points(places, np.linspace(0.01, 1.0, count) if spread == "one place" else np.full(count, 0.1))
    scene = Scene(camera=FRONT, background=CLEAR, points=(PointsLayer(points.name, SHOWN),))
    frame = renderer.render(scene, SIZE, SIZE)
    rays = reference.camera_rays(FRONT, SIZE, SIZE, is_jittered=False)
    _, depth = reference_geometry.draw_points(points, scene.points[0], rays, Sun.over(scene.light, scene.camera))
    hit = np.isfinite(depth.reshape(SIZE, SIZE))
    assert hit.sum() > 40
    assert np.array_equal(np.isfinite(frame.depth), hit)
    assert np.abs(frame.depth[hit] - depth.reshape(SIZE, SIZE)[hit]).max() < 1e-3


def test_the_middle_of_a_sphere_has_all_of_the_light(renderer: Renderer) -> None:
    points = Points(np.array([[0.0, 0.0, 0.0]]), np.array([1.0]))
    grey = TransferFunction(((0.0, (0.5, 0.5, 0.5)),), ((0.0, 1.0),))
    light = replace(HEADLIGHT, specular=0.0)
    frame = renderer.render(Scene(camera=FRONT, light=light, points=(PointsLayer(points.name, grey),)), 129, 129)
    assert frame.rgba[64, 64].tolist() == [128, 128, 128, 255]


def test_what_the_transfer_function_makes_transparent_disappears() -> None:
    points = Points(np.zeros((5, 3)), np.array([0.2, 1.5, -1.0, np.nan, 1.0]))
    upper = TransferFunction(((0.0, (1.0, 0.0, 0.0)),), ((0.0, 0.0), (0.45, 0.0), (0.5, 1.0)), (0.0, 2.0))
    assert visible_spheres(points, PointsLayer("", upper, 2.0)).spheres[:, 3].tolist() == [3.0, 2.0]
    assert visible_spheres(points, PointsLayer("", SHOWN, 2.0)).spheres[:, 3].tolist() == pytest.approx([0.4, 3.0, 2.0])


def test_nothing_visible_is_background(renderer: Renderer) -> None:
    points = Points(np.zeros((2, 3)), np.array([-1.0, 0.0]))
    scene = Scene(camera=FRONT, background=(0.2, 0.4, 0.6, 1.0), points=(PointsLayer(points.name, SHOWN),))
    assert (renderer.render(scene, 8, 8).rgba == [51, 102, 153, 255]).all()


def slab_and_sphere(sphere_z: float, mode: str = "composite") -> tuple[Scene, tuple[Volume, Points]]:
    """A slab of 4 voxels, each taking a fifth of the light, at z from -0.5 to 3.5; the eye looks along z."""
    slab = Volume.from_array(np.ones((4, 40, 40), np.float32))
    white = TransferFunction(((0.0, (1.0, 1.0, 1.0)),), ((0.0, 0.2),), (0.0, 2.0))
    red = TransferFunction(((0.0, (1.0, 0.0, 0.0)),), ((0.0, 1.0),), (0.0, 2.0))
    points = Points(np.array([[20.0, 20.0, sphere_z]]), np.array([1.0]))
    camera = replace(FRONT, position=(20.0, 20.0, -100.5), target=(20.0, 20.0, 0.0))
    layer = VolumeLayer(str(slab.location), white, shading="none", mode=mode)  # type: ignore[arg-type]
    scene = Scene(
        (layer,), camera, points=(PointsLayer(points.name, red, is_lit=False),), is_jittered=False, background=CLEAR
    )
    return scene, (slab, points)


@pytest.mark.parametrize(("sphere_z", "voxels_before"), [(-10.0, 0.0), (2.5, 2.0), (20.0, 4.0)])
def test_a_volume_lies_before_and_behind_a_sphere(renderer: Renderer, sphere_z: float, voxels_before: float) -> None:
    """The middle of the sphere is seen through as much of the slab as lies before it."""
    scene, kept = slab_and_sphere(sphere_z)
    frame = renderer.render(scene, 65, 65)
    white = 1 - 0.8**voxels_before
    assert frame.rgba[32, 32].tolist() == pytest.approx([255, round(255 * white), round(255 * white), 255], abs=1)
    opacity = 1 - 0.8**4
    assert frame.rgba[0, 0].tolist() == pytest.approx([255, 255, 255, round(255 * opacity)], abs=1)
    if voxels_before < 3:
        assert frame.depth[32, 32] == pytest.approx(100.5 + sphere_z - 1, abs=1e-3)
    assert kept


def test_two_sides_of_a_triangle_are_alike(renderer: Renderer) -> None:
    vertices = np.array([[-9.0, -9.0, 0.0], [9.0, -9.0, 0.0], [0.0, 9.0, 0.0]])
    for triangle in ([[0, 1, 2]], [[0, 2, 1]]):
        mesh = Mesh(vertices, np.array(triangle))
        scene = Scene(camera=FRONT, light=HEADLIGHT, meshes=(MeshLayer(mesh.name, (0.5, 0.5, 0.5)),))
        frame = renderer.render(scene, 17, 17)
        assert frame.rgba[8, 8].tolist() == [191, 191, 191, 255]
        assert frame.depth[8, 8] == pytest.approx(100)


def test_a_radius_that_suits() -> None:
    corners: Voxels = np.array([[x, y, z] for x in (0, 8) for y in (0, 8) for z in (0, 8)], float)
    assert default_radius_scale(Points(corners, np.full(8, 2.0))) == pytest.approx(4 / 2 / 2)
    assert default_radius_scale(Points(corners[:1], np.ones(1))) == 1.0


def test_shapes_are_checked() -> None:
    square = np.zeros((4, 3))
    with pytest.raises(InvalidInput, match=r"vertex 4, but the mesh has 4\. Use vertex numbers from 0 to 3"):
        Mesh(square, np.array([[0, 1, 4]]))
    with pytest.raises(InvalidInput, match="three integers"):
        Mesh(square, np.array([[0.0, 1.0, 2.0]]))
    with pytest.raises(InvalidInput, match="4 positions, values of shape"):
        Points(square, np.zeros(3))
    with pytest.raises(InvalidInput, match=r"\(n, 3\)"):
        Points(np.zeros((4, 2)), np.zeros(4))
    with pytest.raises(InvalidInput, match="The scene is empty"):
        Renderer().render(Scene(), 8, 8)
    with pytest.raises(InvalidInput, match="Invalid radius_scale: 0"):
        PointsLayer("a.csv", radius_scale=0.0)


def test_memory_is_found_while_it_lives() -> None:
    points = Points(np.zeros((1, 3)), np.zeros(1))
    name = points.name
    assert in_memory(name, Points) is points
    with pytest.raises(NotFound, match="in this process"):
        in_memory(name, Mesh)
    del points
    with pytest.raises(NotFound):
        in_memory(name, Points)


def test_layers_go_through_json() -> None:
    scene = Scene(
        points=(PointsLayer("a.csv", SHOWN, 0.5),),
        meshes=(MeshLayer("b.ply", (0.1, 0.2, 0.3), False, Transform(translation=(1.0, 2.0, 3.0))),),
    )
    assert Scene.from_json(scene.to_json()) == scene


def test_triangles_with_a_corner_that_is_no_number_are_left_out(renderer: Renderer) -> None:
    corners = np.array([[-2.0, -2.0, 0.0], [2.0, -2.0, 0.0], [0.0, 2.0, 0.0], [np.nan, 0.0, 0.0], [np.inf, 0.0, 0.0]])
    whole, holed = (Mesh(corners[:n], np.array([[0, 1, 2], [0, 1, 3], [2, 1, 4]])[: n - 2]) for n in (3, 5))
    seen = [renderer.render(Scene(camera=FRONT, meshes=(MeshLayer(one.name),)), SIZE, SIZE) for one in (whole, holed)]
    assert seen[0].rgba[..., :3].max() > 100
    assert (seen[0].rgba == seen[1].rgba).all()


def test_a_cloud_of_one_point_is_framed() -> None:
    point = Points(np.array([[5.0, 5.0, 5.0]]), np.array([2.0]))
    assert with_scenery(Scene(), [point.name], []).camera.target == (5.0, 5.0, 5.0)
