"""Every kernel draws what the reference defines, for every mode, shading, type, camera, clipping and transform."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.device import Device
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.frame import to_rgba8
from pellucid.rendering.light import HEADLIGHT, Light
from pellucid.rendering.reference import volumes as reference
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import ClipPlane, Isosurface, Scene, Transform, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume

SIZE = 48
TRANSFER = TransferFunction(
    colors=((0.0, (0.1, 0.2, 0.9)), (0.5, (0.9, 0.5, 0.1)), (1.0, (1.0, 1.0, 0.9))),
    opacities=((0.0, 0.0), (0.35, 0.0), (0.6, 0.2), (1.0, 0.8)),
    value_range=(0.0, 200.0),
)
MOVED = Transform((1.2, 0.8, 1.0), (20.0, -35.0, 50.0), (4.0, -3.0, 2.0))
CAMERA = framing((0.0, 0.0, 0.0), (30.0, 26.0, 40.0), direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))


@pytest.fixture(scope="module")
def voxels() -> Voxels:
    """Two balls in air with smooth noise, (20, 26, 30)."""
    z, y, x = np.meshgrid(*(np.arange(n) for n in (20, 26, 30)), indexing="ij")
    first = 150 * np.exp(-(((z - 8) / 4) ** 2 + ((y - 9) / 5) ** 2 + ((x - 10) / 5) ** 2))
    second = 190 * np.exp(-(((z - 14) / 3) ** 2 + ((y - 18) / 4) ** 2 + ((x - 22) / 4) ** 2))
    ripple = 8 * np.sin(z) * np.cos(y / 2) * np.sin(x / 3)
    balls: Voxels = np.clip(first + second + ripple + 12, 0, 255).astype(np.uint8)
    return balls


def psnr(renderer: Renderer, scene: Scene, volumes: dict[str, Volume]) -> float:
    """Between the kernel's picture and the reference's, in decibels of 8-bit values."""
    frame = renderer.render(scene, SIZE, SIZE)
    rays = reference.camera_rays(scene.camera, SIZE, SIZE, is_jittered=scene.is_jittered)
    sizes = [min(volumes[layer.source].spacing) * min(map(abs, layer.transform.scale)) for layer in scene.volumes]
    media = [
        reference.Medium(
            volumes[layer.source].read(), volumes[layer.source].spacing, layer, scene.light, scene.step * min(sizes),
            scene.planes, scene.camera,
        )
        for layer in scene.volumes
    ]  # fmt: skip
    color, depth = reference.render(media, rays)
    expected = to_rgba8(color.reshape(SIZE, SIZE, 4).astype(np.float32), scene.background)
    assert expected[..., :3].std() > 3, "the reference's picture shows nothing: the test would prove nothing"
    both = np.isfinite(frame.depth) & np.isfinite(depth.reshape(SIZE, SIZE))
    assert not both.any() or np.median(np.abs(frame.depth[both] - depth.reshape(SIZE, SIZE)[both])) < 0.05
    error = np.mean((frame.rgba.astype(float) - expected.astype(float)) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(255**2 / error))


def scene_of(volume: Volume, **changes: object) -> Scene:
    layer = VolumeLayer(str(volume.location), TRANSFER)
    in_layer = {name: value for name, value in changes.items() if hasattr(layer, name)}
    in_scene = {name: value for name, value in changes.items() if not hasattr(layer, name)}
    return replace(Scene((replace(layer, **in_layer),), CAMERA), **in_scene)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"shading": "none"},
        {"shading": "gradient"},
        {"light": Light(direction=(0.3, 1.0, -0.5))},
        {"shading": "shadow", "light": Light(direction=(0.3, 1.0, -0.5))},
        {"shading": "shadow"},
        {"shading": "occlusion"},
        {"shading": "full"},
        {"shading": "full", "light": HEADLIGHT, "transform": MOVED, "planes": (ClipPlane((0.6, 0.8, 0.3), 14.0),)},
        {"shading": "full", "mode": "isosurface", "isosurfaces": (Isosurface(60.0, opacity=0.5), Isosurface(120.0))},
        {"shading": "occlusion", "mode": "isosurface", "isosurfaces": (Isosurface(70.0),)},
        {"shading": "shadow", "planes": (ClipPlane((0.6, 0.8, 0.3), 14.0),), "transform": MOVED},
        {"shading": "shadow", "clip": Box((5, 3, 8), (18, 20, 30)), "light": Light(direction=(0.3, 1.0, -0.5))},
        {"shading": "occlusion", "planes": (ClipPlane((0.61, 0.79, 0.0), 12.1), ClipPlane((0.1, 0.0, -1.0), -32.0))},
        {"is_jittered": False, "step": 1.0},
        {"step": 0.25},
        {"mode": "max"},
        {"mode": "min", "clip": Box((4, 4, 4), (16, 22, 26))},
        {"mode": "mean"},
        {"mode": "isosurface", "isosurfaces": (Isosurface(60.0, opacity=0.5), Isosurface(120.0, (0.2, 0.9, 0.3)))},
        {"mode": "isosurface", "isosurfaces": (Isosurface(80.0),), "shading": "none"},
        {"clip": Box((5, 3, 8), (18, 20, 30))},
        {"planes": (ClipPlane((0.6, 0.8, 0.0), 12.0), ClipPlane((0.0, 0.0, -1.0), -32.0))},
        {"camera": replace(CAMERA, field_of_view_deg=None, height=40.0)},
        {"camera": Camera((14.0, 12.0, 18.0), (30.0, 26.0, 40.0), (0.0, 0.0, 1.0), 60.0)},
        {"transform": MOVED},
        {"background": (0.2, 0.4, 0.6, 0.5)},
    ],
    ids="-".join,
)
def test_the_picture_is_the_reference_s(renderer: Renderer, voxels: Voxels, changes: dict[str, object]) -> None:
    volume = Volume.from_array(voxels, spacing=(2.0, 1.0, 1.0))
    assert psnr(renderer, scene_of(volume, **changes), {str(volume.location): volume}) >= 45


@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "uint16", "int16", "float16", "float32", "float64", "int32", "uint32", ">i2", ">f4"]
)
def test_every_voxel_type(renderer: Renderer, voxels: Voxels, dtype: str) -> None:
    volume = Volume.from_array((voxels // 2).astype(dtype), spacing=(2.0, 1.0, 1.0))
    for shading in ("none", "gradient"):
        scene = scene_of(volume, shading=shading, transfer=replace(TRANSFER, value_range=(0.0, 100.0)))
        assert psnr(renderer, scene, {str(volume.location): volume}) >= 45


def test_several_volumes_sample_by_sample(renderer: Renderer, voxels: Voxels) -> None:
    one = Volume.from_array(voxels, spacing=(2.0, 1.0, 1.0))
    other = Volume.from_array(voxels[::-1].astype(np.float32), spacing=(1.5, 1.5, 1.5))
    blue = replace(TRANSFER, colors=((0.0, (0.1, 0.3, 1.0)),))
    moved = Transform(rotation_deg=(0.0, 30.0, 10.0), translation=(6.0, 2.0, -5.0))
    layers = (VolumeLayer(str(one.location), TRANSFER), VolumeLayer(str(other.location), blue, transform=moved))
    both = {str(one.location): one, str(other.location): other}
    assert psnr(renderer, Scene(layers, CAMERA), both) >= 45


def test_one_volume_twice_by_both_kernels_is_the_same_picture(renderer: Renderer, voxels: Voxels) -> None:
    volume = Volume.from_array(voxels, spacing=(2.0, 1.0, 1.0))
    scene = scene_of(volume)
    nothing = VolumeLayer(str(volume.location), replace(TRANSFER, opacities=((0.0, 0.0),)))
    alone = renderer.render(scene, SIZE, SIZE)
    beside = renderer.render(replace(scene, volumes=(*scene.volumes, nothing)), SIZE, SIZE)
    assert (alone.rgba == beside.rgba).all()


@pytest.mark.parametrize("shading", ["shadow", "occlusion", "full"])
def test_what_is_cut_away_casts_no_shadow(renderer: Renderer, shading: str) -> None:
    alone = np.zeros((24, 24, 24), np.uint8)
    alone[10:22, 4:20, 4:20] = 200
    roofed = alone.copy()
    roofed[2:7] = 200
    images = []
    for cut in ({"planes": (ClipPlane((0.0, 0.0, 1.0), 8.2),)}, {"clip": Box((8, 0, 0), (24, 24, 24))}):
        for voxels in (alone, roofed):
            volume = Volume.from_array(voxels)
            scene = scene_of(volume, shading=shading, light=Light(direction=(0.1, 0.2, 1.0)), **cut)
            images.append(renderer.render(scene, SIZE, SIZE).rgba)
    # On CUDA samples are multiplied in groups of four, which begin elsewhere where other cells are empty.
    largest = 1 if renderer.device.is_cuda else 0
    for image in images[1:]:
        np.testing.assert_allclose(image.astype(int), images[0].astype(int), rtol=0, atol=largest)
    assert images[0][..., :3].max() > 100


@pytest.mark.parametrize("shading", ["shadow", "occlusion"])
def test_a_plane_that_was_moved_leaves_no_trace(renderer: Renderer, device: Device, shading: str) -> None:
    z, y, x = np.meshgrid(*(np.arange(60) - 30.0,) * 3, indexing="ij")
    volume = Volume.from_array(np.clip(250 - 9 * np.sqrt(z**2 + y**2 + x**2), 0, 250).astype(np.uint8))
    camera = framing((0.0, 0.0, 0.0), (60.0, 60.0, 60.0), direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))
    scenes = [
        scene_of(volume, camera=camera, shading=shading, planes=planes)
        for planes in ((), (ClipPlane((1.0, 0.2, 0.0), 20.0),), (ClipPlane((1.0, 0.2, 0.0), 33.0),))
    ]
    images = [renderer.render(scene, SIZE, SIZE).rgba for scene in scenes]
    for scene, image in zip(scenes, images, strict=True):
        with Renderer(device) as fresh:
            assert (fresh.render(scene, SIZE, SIZE).rgba == image).all()
    assert not (images[1] == images[2]).all()


def test_how_long_a_plane_s_normal_is_does_not_matter(renderer: Renderer, voxels: Voxels) -> None:
    scene = scene_of(Volume.from_array(voxels, spacing=(2.0, 1.0, 1.0)))
    planes = [ClipPlane((0.6 * length, 0.8 * length, 0.0), 16.0 * length) for length in (1.0, 1e-10, 1e10)]
    whole = renderer.render(scene, SIZE, SIZE).rgba.astype(int)
    first, *others = [renderer.render(replace(scene, planes=(plane,)), SIZE, SIZE).rgba for plane in planes]
    assert np.abs(first - whole).mean() > 0.5
    assert all(np.abs(first.astype(int) - other).mean() < 0.01 for other in others)


@pytest.mark.parametrize("shading", ["none", "gradient", "shadow", "occlusion", "full"])
@pytest.mark.parametrize("mode", ["composite", "isosurface"])
def test_beside_voxels_that_are_no_number(renderer: Renderer, voxels: Voxels, shading: str, mode: str) -> None:
    holed = voxels.astype(np.float32)
    holed[:, :, 12:14] = np.nan
    volume = Volume.from_array(holed, spacing=(2.0, 1.0, 1.0))
    scene = scene_of(volume, shading=shading, mode=mode, isosurfaces=(Isosurface(70.0),))
    assert psnr(renderer, scene, {str(volume.location): volume}) >= 45


@pytest.mark.parametrize("factor", [1e-30, 1e30])
def test_however_small_or_large_values_are_their_surfaces_are_lit_alike(
    renderer: Renderer, voxels: Voxels, factor: float
) -> None:
    low, high = TRANSFER.value_range
    images = []
    for times in (1.0, factor):
        volume = Volume.from_array((voxels * np.float64(times)).astype(np.float32))
        scene = scene_of(volume, transfer=replace(TRANSFER, value_range=(low * times, high * times)))
        images.append(renderer.render(scene, SIZE, SIZE).rgba.astype(int))
    assert np.abs(images[0] - images[1]).mean() < 0.1


def test_volumes_in_different_units_are_refused(renderer: Renderer, voxels: Voxels) -> None:
    volume = Volume.from_array(voxels)
    layer = VolumeLayer(str(volume.location), TRANSFER)
    tiny = replace(layer, transform=Transform(scale=(1e-7, 1e-7, 1e-7)))
    with pytest.raises(InvalidInput, match="is too small for volumes"):
        renderer.render(Scene((layer, tiny), CAMERA), SIZE, SIZE)
