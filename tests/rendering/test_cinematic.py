"""Paths of light: the kernel's mean is the definition's, no energy is made or lost, and scenes are lit as a whole."""

import os
from dataclasses import replace
from pathlib import Path

import imagecodecs
import numpy as np
import pytest

from pellucid.device import Device, LaunchRange
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, Vector, framing
from pellucid.rendering.cinematic.environments import environment_map
from pellucid.rendering.cinematic.options import Cinematic
from pellucid.rendering.cinematic.packing import environment_frame
from pellucid.rendering.drawing.device_renderer import DeviceRenderer
from pellucid.rendering.drawing.draw_pass import DrawRegion
from pellucid.rendering.geometry.shapes import Mesh, Points
from pellucid.rendering.labels import LabelColor, Labels
from pellucid.rendering.light import Light
from pellucid.rendering.reference.path_tracing import TracedMedium
from pellucid.rendering.reference.volumes import Medium, Rays
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import ClipPlane, MeshLayer, PointsLayer, Scene, SliceLayer, Transform, VolumeLayer
from pellucid.rendering.transfer import Edges, TransferFunction
from pellucid.volume.volume import Volume

EDGE, SIZE = 16, 12
CLOUD = TransferFunction(
    colors=((0.0, (0.4, 0.6, 0.9)), (1.0, (1.0, 0.9, 0.7))),
    opacities=((0.0, 0.0), (0.2, 0.0), (1.0, 0.35)),
    value_range=(0.0, 200.0),
)
WHITE = TransferFunction(((0.0, (1.0, 1.0, 1.0)),), ((0.0, 0.0), (0.2, 0.0), (1.0, 0.5)), (0.0, 200.0))
CAMERA = framing((0.0, 0.0, 0.0), (15.0, 15.0, 15.0), direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0)).zoomed(2.2)
FRONT = Camera((7.5, -40.0, 7.5), (7.5, 7.5, 7.5), (0.0, 0.0, 1.0), None, 16.0)


@pytest.fixture(scope="module")
def volume() -> Volume:
    """Two balls that touch, in air."""
    z, y, x = np.meshgrid(*(np.arange(EDGE),) * 3, indexing="ij")
    first = 190 * np.exp(-(((z - 5) / 3.5) ** 2 + ((y - 6) / 4) ** 2 + ((x - 5) / 4) ** 2))
    second = 220 * np.exp(-(((z - 11) / 3) ** 2 + ((y - 9) / 3) ** 2 + ((x - 11) / 3) ** 2))
    return Volume.from_array(np.clip(first + second, 0, 255).astype(np.uint8))


def scene_of(volume: Volume, transfer: TransferFunction = CLOUD, **options: object) -> Scene:
    layer = VolumeLayer(str(volume.location), transfer, shading="cinematic")
    cinematic = Cinematic(**{"is_denoised": False, **options})  # type: ignore[arg-type]
    return Scene((layer,), CAMERA, cinematic=cinematic)


def mean_light(device: Device, scene: Scene, samples: int, size: int = SIZE, batches: int = 1) -> Voxels:
    """(size, size, 4) of the light and of how much is covered, before it becomes colours."""
    painter, total = DeviceRenderer(device), None
    fields = painter.load(scene)
    for _ in range(batches):
        tracing = painter.start_paths(scene, fields, DrawRegion((size, size), samples=samples // batches, total=total))
        tracing.draw(LaunchRange((size, size)))
        total = tracing.total
    light: Voxels = total.sums.light.numpy() / samples  # type: ignore[union-attr]
    painter.close()
    return light


def defined_light(volume: Volume, scene: Scene, samples: int) -> Voxels:
    medium = Medium(volume.read(), volume.spacing, scene.volumes[0], scene.light, 1.0, scene.planes, scene.camera)
    sky = environment_map(scene.cinematic.environment).astype(float)
    towards, random = scene.light.towards(scene.camera), np.random.default_rng(1)
    traced = TracedMedium(medium, scene.cinematic, towards, sky, environment_frame(scene), random)
    several = [jittered_rays(scene.camera, random) for _ in range(samples)]
    parts = [np.concatenate([getattr(one, name) for one in several]) for name in ("origins", "directions", "jitter")]
    rays = Rays(*parts)
    light: Voxels = traced.brought(rays).reshape(samples, SIZE, SIZE, 4).mean(axis=0)
    return light


def jittered_rays(camera: Camera, random: np.random.Generator) -> Rays:
    """One through a place in each pixel, by chance: those of four times as many pixels, of which some are taken."""
    finer = 8
    origins, directions = (
        part.reshape(SIZE, finer, SIZE, finer, 3) for part in camera.rays(SIZE * finer, SIZE * finer)
    )
    row, column = np.indices((SIZE, SIZE))
    down, across = random.integers(finer, size=(2, SIZE, SIZE))
    chosen = [part[row, down, column, across].reshape(-1, 3) for part in (origins, directions)]
    return Rays(chosen[0], chosen[1], np.zeros(SIZE * SIZE))


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ({"surface": 0.0, "anisotropy": 0.6, "environment": "sky"}, {}),
        ({"surface": 1.0, "roughness": 0.5}, {}),
        ({"surface": 0.5, "lamp_deg": 40.0}, {"planes": (ClipPlane((0.6, -0.8, 0.3), 2.0),)}),
        ({"surface": 0.0, "lamp": 3.0, "scatterings": 2}, {"light": Light(direction=(0.3, 1.0, -0.5))}),
    ],
)
def test_the_mean_is_the_definition_s(
    device: Device, volume: Volume, options: dict[str, object], changes: dict[str, object]
) -> None:
    scene = replace(scene_of(volume, **options), **changes)  # type: ignore[arg-type]
    expected, found = defined_light(volume, scene, 80), mean_light(device, scene, 2048)
    assert expected[..., 3].max() > 0.7
    assert found.mean(axis=(0, 1)) == pytest.approx(expected.mean(axis=(0, 1)), rel=0.035)
    # 80 paths of a pixel differ in brightness by about its own size: a tenth of it is left in their mean.
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.14 * expected[..., :3].max()


def test_edges_and_transforms_are_the_definition_s(device: Device, volume: Volume) -> None:
    scene = scene_of(volume, replace(CLOUD, edges=Edges(((0.0, 0.0), (1.0, 1.0)), (0.0, 20.0))))
    turned = Transform((1.2, 0.8, 1.0), (20.0, -35.0, 50.0))
    x, y, z = (7.5 - turned.matrix() @ np.full(3, 7.5)).tolist()
    moved = replace(turned, translation=(x, y, z))
    scene = replace(scene, volumes=(replace(scene.volumes[0], transform=moved),))
    expected, found = defined_light(volume, scene, 200), mean_light(device, scene, 1024)
    assert expected[..., 3].mean() > 0.05
    assert found.mean(axis=(0, 1)) == pytest.approx(expected.mean(axis=(0, 1)), rel=0.05)


@pytest.mark.parametrize("anisotropy", [0.0, 0.5])
def test_a_single_scattering_is_what_a_sum_over_the_ray_gives(device: Device, anisotropy: float) -> None:
    """A wide layer whose density changes with depth: a small place in its middle looks the same everywhere."""
    depth = np.arange(EDGE)
    layers = np.broadcast_to((60 + 50 * np.sin(depth / 2)).astype(np.uint8)[:, None], (64, EDGE, 64)).copy()
    volume = Volume.from_array(layers)
    scene = scene_of(volume, surface=0.0, scatterings=1, strength=0.0, lamp_deg=0.0, anisotropy=anisotropy)
    camera = Camera((31.5, -40.0, 31.5), (31.5, 7.5, 31.5), (0.0, 0.0, 1.0), None, 4.0)
    scene = replace(scene, camera=camera, light=Light(direction=(0.5, 1.0, -0.3)))
    medium = Medium(volume.read(), volume.spacing, scene.volumes[0], scene.light, 1.0, (), camera)
    towards, random = scene.light.towards(camera), np.random.default_rng(0)
    traced = TracedMedium(medium, scene.cinematic, towards, np.ones((2, 4, 3)), np.eye(3), random)
    ray = Rays(np.array([camera.position]), np.array([[0.0, 1.0, 0.0]]), np.zeros(1))
    expected = traced.single_scattering(ray, 0.2)[0]
    found = mean_light(device, scene, 1024)[..., :3].reshape(-1, 3).mean(axis=0)
    assert found == pytest.approx(expected, rel=0.01)


@pytest.fixture
def even_light(tmp_path: Path) -> str:
    """An environment of 1 from everywhere."""
    path = tmp_path / "even.hdr"
    path.write_bytes(imagecodecs.rgbe_encode(np.ones((8, 16, 3), np.float32)))
    return str(path)


def test_a_white_cloud_in_even_light_cannot_be_seen(device: Device, volume: Volume, even_light: str) -> None:
    """White furnace: what scatters all light looks like what is behind it."""
    scene = scene_of(volume, WHITE, surface=0.0, lamp=0.0, environment=even_light, scatterings=4096, anisotropy=0.5)
    found = mean_light(device, scene, 64)
    assert found[..., 3].max() > 0.8
    assert found[..., :3] == pytest.approx(np.repeat(found[..., 3:], 3, axis=-1), abs=1e-5)


def test_surfaces_lose_little_light_and_make_none(device: Device, volume: Volume, even_light: str) -> None:
    matt = scene_of(volume, WHITE, coat=0.0, lamp=0.0, environment=even_light, scatterings=4096)
    found = mean_light(device, matt, 64)
    assert found[..., :3] == pytest.approx(np.repeat(found[..., 3:], 3, axis=-1), abs=1e-5)
    glossy = replace(matt, cinematic=replace(matt.cinematic, coat=1.0))
    found = mean_light(device, glossy, 256)
    assert 0.9 < found[..., 0].sum() / found[..., 3].sum() < 1.0


def test_it_does_not_matter_which_paths_are_followed_together(device: Device, volume: Volume) -> None:
    scene = scene_of(volume)
    together, apart = (mean_light(device, scene, 8, batches=batches) for batches in (1, 4))
    np.testing.assert_allclose(apart, together, rtol=1e-4, atol=1e-6)


def test_the_filter_takes_noise_away_and_little_else(renderer: Renderer, volume: Volume) -> None:
    scene = scene_of(volume, samples=512)
    expected = renderer.render(scene, 96, 96).rgba.astype(float)
    errors = []
    for is_denoised in (False, True):
        few = replace(scene, cinematic=replace(scene.cinematic, samples=8, is_denoised=is_denoised))
        errors.append(np.sqrt(np.mean((renderer.render(few, 96, 96).rgba - expected) ** 2)))
    assert errors[1] < 0.7 * errors[0]
    many = replace(scene, cinematic=replace(scene.cinematic, is_denoised=True))
    # Of an image with many paths it changes as much as there is noise in it.
    noise = errors[0] * np.sqrt(8 / 512)
    assert np.sqrt(np.mean((renderer.render(many, 96, 96).rgba - expected) ** 2)) < 1.4 * noise


def test_images_get_better_until_they_have_all_paths(renderer: Renderer, volume: Volume) -> None:
    scene = scene_of(volume, samples=5)
    frames = list(renderer.render_progressive(scene, 64, 64, budget_ms=1e-3))
    assert frames[0].statistics.scale < 1
    assert [frame.statistics.is_exact for frame in frames] == [False] * (len(frames) - 1) + [True]
    assert frames[-1].statistics.paths == 5
    at_once = renderer.render(scene, 64, 64)
    assert np.abs(frames[-1].rgba.astype(int) - at_once.rgba.astype(int)).max() <= 1
    assert renderer.render(scene, 64, 64, is_exact=False).statistics.missing_paths == 4


def test_an_image_in_motion_has_as_many_paths_as_there_is_time_for(renderer: Renderer, volume: Volume) -> None:
    scene = scene_of(volume, samples=40)
    for _ in range(2):  # The first says what an image costs.
        frame = next(renderer.render_progressive(scene, 24, 24, budget_ms=5000))
    assert frame.statistics.scale == 1
    assert frame.statistics.paths == 16
    assert next(renderer.render_progressive(scene, 24, 24, budget_ms=1e-3)).statistics.paths == 1


def test_a_sphere_casts_a_soft_shadow_and_an_unlit_one_keeps_its_colour(renderer: Renderer) -> None:
    wall = np.zeros((EDGE, EDGE, EDGE), np.uint8)
    wall[:, 12:] = 200
    volume = Volume.from_array(wall)
    scene = replace(scene_of(volume, WHITE, samples=128, strength=0.0, scatterings=1), camera=FRONT)
    scene = replace(scene, light=Light(direction=(1.0, 1.0, 0.0)))
    points = Points(np.array([[4.0, 7.0, 7.5]]), np.array([1.0]))
    red = TransferFunction(((0.0, (1.0, 0.0, 0.0)),), ((0.0, 1.0),))
    ball = PointsLayer(points.name, red, radius_scale=1.5, is_lit=False)
    alone, beside = (renderer.render(one, 32, 32).rgba.astype(float) for one in (scene, replace(scene, points=(ball,))))
    assert beside[16, 8] == pytest.approx([255, 0, 0, 255], abs=2)
    column = round(2 * (4.0 + 5.0 + 0.5))  # Five voxels behind the ball, to the right by as much.
    assert beside[15:17, column, 0].mean() < 0.5 * alone[15:17, column, 0].mean()
    assert beside[4, 26, 0] == pytest.approx(alone[4, 26, 0], abs=12)


def test_a_translucent_mesh_hides_half_and_a_slice_is_shown_as_it_is(renderer: Renderer, volume: Volume) -> None:
    empty = scene_of(volume, replace(WHITE, opacities=((0.0, 0.0),)), samples=512)
    corners = np.array([[-90.0, 2.0, -90.0], [90.0, 2.0, -90.0], [0.0, 2.0, 150.0]])
    mesh = Mesh(corners, np.array([[0, 1, 2]]))
    layer = MeshLayer(mesh.name, (0.0, 1.0, 0.0), is_lit=False, opacity=0.5)
    scene = replace(empty, meshes=(layer,), camera=FRONT, background=(0.0, 0.0, 0.0, 0.0))
    rgba = renderer.render(scene, 16, 16).rgba
    assert rgba[8, 8] == pytest.approx([0, 255, 0, 128], abs=8)
    grey = TransferFunction(value_range=(0.0, 200.0))
    across = SliceLayer.across(str(volume.location), "y", 9.0, transfer=grey)
    scene = replace(empty, slices=(across,), camera=FRONT)
    plain = replace(scene, volumes=(replace(scene.volumes[0], shading="none"),))
    shown, expected = (renderer.render(one, 16, 16).rgba.astype(float) for one in (scene, plain))
    assert shown == pytest.approx(expected, abs=2)


def test_labels_are_lit_in_their_colours_and_what_is_cut_away_is_not_there(renderer: Renderer) -> None:
    marks = np.zeros((EDGE, EDGE, EDGE), np.uint8)
    marks[:, 4:12, :8], marks[:, 4:12, 8:] = 1, 2
    volume = Volume.from_array(marks)
    labels = Labels(0.9, (LabelColor(1, (1.0, 0.0, 0.0)), LabelColor(2, (0.0, 0.0, 1.0))))
    layer = VolumeLayer(str(volume.location), labels=labels, shading="cinematic")
    scene = Scene((layer,), FRONT, cinematic=Cinematic(samples=64, coat=0.0), background=(0.0, 0.0, 0.0, 0.0))
    rgba = renderer.render(scene, 32, 32).rgba.astype(int)
    left, right = rgba[12:20, 4:12].mean(axis=(0, 1)), rgba[12:20, 20:28].mean(axis=(0, 1))
    assert left[0] > 40 > 4 * left[2]
    assert right[2] > 40 > 4 * right[0]
    cut = renderer.render(replace(scene, planes=(ClipPlane((1.0, 0.0, 0.0), 7.5),)), 32, 32).rgba
    assert cut[12:20, 2:12, 3].max() == 0
    assert cut[12:20, 20:28, 3].min() > 250


def test_a_lens_is_sharp_where_it_is_focused(renderer: Renderer) -> None:
    wall = np.zeros((EDGE, EDGE, EDGE), np.uint8)
    wall[:, 7:9, :8] = 200
    scene = scene_of(Volume.from_array(wall), replace(WHITE, opacities=((0.0, 0.0), (0.5, 1.0))), samples=64)
    widths = []
    for focus in (1.0, 0.7):
        changed = replace(scene.cinematic, aperture=0.2, focus=focus)
        shown = replace(scene, cinematic=changed, camera=FRONT, background=(0.0, 0.0, 0.0, 0.0))
        opacity = renderer.render(shown, 64, 64).rgba[32, :, 3] / 255
        widths.append(float(np.sum((opacity > 0.1) & (opacity < 0.9))))
    assert widths[0] <= 6
    assert widths[1] > 2 * widths[0]


@pytest.mark.parametrize("name", ["studio", "sky", "overcast"])
def test_built_in_environments_are_brighter_above(name: str) -> None:
    light = environment_map(name)
    assert light.shape == (64, 128, 3)
    assert light.min() >= 0
    assert light[:8].mean() > 1.5 * light[-8:].mean()


def test_unknown_and_broken_environments_are_errors(tmp_path: Path) -> None:
    broken = tmp_path / "broken.hdr"
    broken.write_bytes(b"nothing of the kind")
    for name, what in (("beach", "Unknown environment 'beach'"), (str(broken), "Cannot read")):
        with pytest.raises(InvalidInput, match=what):
            environment_map(name)


def test_hostile_environments_are_refused_before_they_are_read(tmp_path: Path) -> None:
    pipe, large = tmp_path / "pipe.hdr", tmp_path / "large.hdr"
    os.mkfifo(pipe)
    large.write_bytes(b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 32767 +X 16384\n" + bytes(64))
    zero = tmp_path / "zero.hdr"
    zero.symlink_to("/dev/zero")
    for path, what in ((pipe, "is a named pipe"), (zero, "is a device"), (large, "32,767 × 16,384 pixels")):
        with pytest.raises(InvalidInput, match=what):
            environment_map(str(path))


def test_options_that_mean_nothing_are_refused() -> None:
    for options in ({"samples": 0}, {"roughness": 0.0}, {"anisotropy": 1.0}, {"surface": 2.0}):
        with pytest.raises(InvalidInput):
            Cinematic(**options)


@pytest.mark.parametrize("scale", [(1.0, 1e-7, 1.0), (1e300, 1e-300, 1.0)])
def test_voxels_too_thin_for_a_path_are_refused(volume: Volume, device: Device, scale: Vector) -> None:
    scene = scene_of(volume)
    layer = replace(scene.volumes[0], transform=Transform(scale))
    with pytest.raises(InvalidInput, match="is too small for volumes"):
        mean_light(device, replace(scene, volumes=(layer,)), samples=1)


def test_paths_from_very_far_away_come_to_an_end(volume: Volume, device: Device) -> None:
    """At 200,000 voxels a float32 cannot state a thousandth of a voxel. Without an end, this test does not return."""
    far = replace(CAMERA, position=(7.5, 2e5, 7.5), target=(7.5, 7.5, 7.5), field_of_view_deg=1.0)
    light = mean_light(device, replace(scene_of(volume), camera=far), samples=16, size=256)
    assert np.isfinite(light).all() and (light[..., 3] > 0).any()
