"""Pictures of textures: those of arrays but for weights of 8 bits; the same in portions, with and without leaps."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.device import Device, LaunchRange, devices, runtime
from pellucid.fields.bricks.brick_field import BrickField
from pellucid.fields.dense import DenseField
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.cinematic.options import Cinematic
from pellucid.rendering.drawing import packing
from pellucid.rendering.drawing.device_renderer import DeviceRenderer
from pellucid.rendering.drawing.draw_pass import DrawRegion
from pellucid.rendering.drawing.layer_cache import PackedLayerCache
from pellucid.rendering.drawing.ray_launch import launch_rays
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import ClipPlane, Isosurface, Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume

TRANSFER = TransferFunction(opacities=((0.0, 0.0), (0.4, 0.0), (1.0, 0.3)), value_range=(0.0, 200.0))
CAMERA = Camera((150.0, -80.0, 110.0), (35.0, 30.0, 25.0), (0.0, 0.0, 1.0))
SIZE = (90, 107)  # Whole tiles in neither direction.


@pytest.fixture(scope="module")
def volume() -> Volume:
    z, y, x = np.meshgrid(*map(np.arange, (50, 60, 70)), indexing="ij")
    waves = 60 + 40 * np.sin(z / 5) * np.cos(y / 6) * np.sin(x / 7)
    waves[20:34, 25:44, 10:50] += 90
    return Volume.from_array(waves.astype(np.uint8))


def decibels(one: Voxels, other: Voxels) -> float:
    error = np.mean((one.astype(float) - other.astype(float)) ** 2)
    return float(10 * np.log10(255**2 / max(error, 1e-9)))


@pytest.mark.parametrize(
    "changes",
    [
        {"shading": "none"},
        {"shading": "gradient"},
        {"shading": "occlusion"},
        {"shading": "full"},
        {"shading": "shadow"},
        {"mode": "max"},
        {"mode": "isosurface", "isosurfaces": (Isosurface(120.0),)},
    ],
    ids="-".join,
)
@pytest.mark.parametrize("kind", ["whole", "bricks"])
def test_textures_and_arrays_give_one_picture(
    device: Device, volume: Volume, kind: str, changes: dict[str, object]
) -> None:
    scene = Scene((replace(VolumeLayer(str(volume.location), TRANSFER), **changes),), CAMERA)  # type: ignore[arg-type]
    images = []
    for is_texture in (True, False):
        renderer = Renderer(device)
        if kind == "whole":
            field = DenseField(volume, device, is_texture=is_texture)
        else:
            field = BrickField(volume, device, 8 * volume.nbytes, is_texture=is_texture)  # type: ignore[assignment]
        renderer.add_field(str(volume.location), field)
        images.append(renderer.render(scene, 96, 96))
    assert decibels(images[0].rgba, images[1].rgba) >= 40
    assert images[0].rgba[..., :3].std() > 5
    assert images[0].statistics.full_resolution == 1
    both = np.isfinite(images[0].depth) & np.isfinite(images[1].depth)
    assert np.median(np.abs(images[0].depth[both] - images[1].depth[both])) < 0.05


@pytest.mark.gpu
@pytest.mark.parametrize("options", [{}, {"surface": 0.0, "anisotropy": 0.5}, {"aperture": 0.05, "environment": "sky"}])
def test_paths_through_a_texture_bring_what_they_bring_elsewhere(volume: Volume, options: dict[str, object]) -> None:
    device = next((found for found in devices() if found.is_cuda), None)
    if device is None:
        pytest.skip("needs a CUDA device")
    layer = VolumeLayer(str(volume.location), TRANSFER, shading="cinematic")
    scene = Scene((layer,), CAMERA, cinematic=Cinematic(**options), planes=(ClipPlane((0.0, 0.0, -1.0), -40.0),))  # type: ignore[arg-type]
    sums = []
    for is_texture in (True, False):
        painter, field, total = DeviceRenderer(device), DenseField(volume, device, is_texture=is_texture), None
        for _ in range(2):
            tracing = painter.start_paths(scene, [field], DrawRegion(SIZE, samples=64, total=total))
            tracing.draw(LaunchRange(SIZE))
            total = tracing.total
        found = total.sums  # type: ignore[union-attr]
        sums.append([one.numpy() / 128 for one in (found.light, found.squares, found.guides, found.normals)])
        painter.close()
    for there, elsewhere in zip(*sums, strict=True):
        assert there.mean(axis=(0, 1)) == pytest.approx(elsewhere.mean(axis=(0, 1)), rel=0.01, abs=2e-3)
    assert np.sqrt(np.mean((sums[0][0] - sums[1][0]) ** 2)) < 0.05 * sums[1][0][..., :3].max()


@pytest.mark.gpu
@pytest.mark.parametrize("shading", ["none", "gradient"])
def test_leaps_and_portions_change_no_bit(volume: Volume, shading: str) -> None:
    from pellucid.rendering.kernels import composite_texture

    device = next((found for found in devices() if found.is_cuda), None)
    if device is None:
        pytest.skip("needs a CUDA device")
    warp, field = runtime.start(), DenseField(volume, device)
    layer = VolumeLayer(str(volume.location), TRANSFER, shading=shading)  # type: ignore[arg-type]
    scene = Scene((layer,), CAMERA)
    packed = packing.pack_layer(scene, layer, field, 0.5)
    solidity = PackedLayerCache().solid_distance(packed, field)
    vacancy = packed.vacancy.numpy()
    assert vacancy.max() > 1
    assert solidity.numpy().max() > 1
    kernel = composite_texture.composite_unlit if shading == "none" else composite_texture.composite_lit
    whole, parts = [LaunchRange(SIZE)], [LaunchRange((37, SIZE[1])), LaunchRange((53, SIZE[1]), 37)]
    everywhere, one_cell = np.zeros_like(vacancy), np.ones_like(vacancy)
    images = []
    for cells, around, portions in (
        (vacancy, solidity.numpy(), whole),
        (vacancy, solidity.numpy(), parts),
        (vacancy, one_cell, whole),
        (everywhere, one_cell, whole),
        (everywhere, one_cell * 9, whole),
    ):
        packed.vacancy = warp.array(cells, device=device.name)
        color = warp.zeros(SIZE, dtype=warp.vec4, device=device.name)
        depth = warp.zeros(SIZE, dtype=warp.float32, device=device.name)
        view = packing.pack_view(scene, SIZE, 0.5, device)
        for rows in portions:
            inputs = [view, packed, warp.array(around, device=device.name)]
            launch_rays(kernel, rows, inputs, [color, depth], device)
        images.append((color.numpy(), depth.numpy()))
    for color, depth in images[1:]:
        assert np.array_equal(color, images[0][0])
        assert np.array_equal(depth, images[0][1])
    assert images[0][0].max() > 0.1


def test_a_layer_is_packed_again_only_when_something_changed(device: Device) -> None:
    voxels = np.random.default_rng(0).integers(0, 200, (24, 24, 24), dtype=np.uint8)
    volume = Volume.from_array(voxels)
    field, kept = DenseField(volume, device), PackedLayerCache()
    layer = VolumeLayer(str(volume.location), TRANSFER, shading="none")
    scene = Scene((layer,), framing((0.0, 0.0, 0.0), (24.0, 24.0, 24.0)))
    first = kept.layer(scene, layer, field, 0.5)
    moved = replace(scene, camera=CAMERA)
    assert kept.layer(moved, layer, field, 0.5) is first
    assert kept.solid_distance(first, field) is kept.solid_distance(first, field)
    brighter = replace(layer, transfer=replace(TRANSFER, value_range=(0.0, 100.0)))
    assert kept.layer(moved, brighter, field, 0.5) is not first
    voxels[:] = 0
    volume.changed(volume.box)
    field.prepare_frame()
    again = kept.layer(scene, layer, field, 0.5)
    assert again is not first
    assert again.vacancy.numpy().min() > 0
