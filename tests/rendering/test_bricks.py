"""Volumes in bricks give the pictures of whole volumes, and say what they could not show."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.device import Device
from pellucid.errors import NotEnoughMemory
from pellucid.fields.bricks.brick_field import BrickField
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.frame import Frame
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Isosurface, Scene, Transform, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume

SIZE = 72
SHAPE = (100, 110, 128)
CAMERA = framing((0.0, 0.0, 0.0), SHAPE[::-1], direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))
TRANSFER = TransferFunction(
    colors=((0.0, (0.1, 0.2, 0.9)), (0.5, (0.9, 0.5, 0.1)), (1.0, (1.0, 1.0, 0.9))),
    opacities=((0.0, 0.0), (0.4, 0.0), (0.7, 0.3), (1.0, 0.9)),
    value_range=(0.0, 250.0),
)


def waves(shape: tuple[int, int, int] = SHAPE) -> Voxels:
    """Something everywhere, with detail of a few voxels."""
    z, y, x = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    values: Voxels = (125 + 80 * np.sin(z / 3) * np.cos(y / 4) * np.sin(x / 5) + 40 * np.sin((x + y + z) / 9)).astype(
        np.uint8
    )
    return values


def one_ball(shape: tuple[int, int, int] = SHAPE) -> Voxels:
    """A ball in one corner, air everywhere else."""
    z, y, x = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    distance = np.sqrt((z - 30) ** 2 + (y - 30) ** 2 + (x - 33) ** 2)
    ball: Voxels = np.clip(240 - 12 * distance, 0, 255).astype(np.uint8)
    return ball


def scene_of(volume: Volume, **changes: object) -> Scene:
    return Scene((replace(VolumeLayer(str(volume.location), TRANSFER), **changes),), CAMERA)  # type: ignore[arg-type]


def whole_and_bricks(device: Device, volume: Volume, scene: Scene, share: float) -> tuple[Frame, Frame]:
    """The picture of the whole volume, and that of bricks in a share of its memory."""
    whole = Renderer(device).render(scene, SIZE, SIZE)
    return whole, Renderer(device, int(volume.nbytes * share)).render(scene, SIZE, SIZE)


def decibels(one: Frame, other: Frame) -> float:
    error = np.mean((one.rgba.astype(float) - other.rgba.astype(float)) ** 2)
    return float(10 * np.log10(255**2 / max(error, 1e-9)))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"shading": "none"},
        {"mode": "max"},
        {"mode": "mean"},
        {"mode": "isosurface", "isosurfaces": (Isosurface(120.0, opacity=0.5), Isosurface(180.0))},
        {"clip": Box((3, 20, 30), (90, 90, 100))},
        {"transform": Transform((1.2, 0.8, 1.0), (20.0, -35.0, 50.0), (4.0, -3.0, 2.0))},
    ],
    ids="-".join,
)
def test_bricks_that_all_fit_change_no_bit(device: Device, changes: dict[str, object]) -> None:
    volume = Volume.from_array(waves())
    scene = scene_of(volume, **changes)
    whole = Renderer(device).render(scene, SIZE, SIZE)
    field = BrickField(volume, device, 4 * volume.nbytes)
    renderer = Renderer(device)
    renderer.add_field(str(volume.location), field)
    bricks = renderer.render(scene, SIZE, SIZE)
    assert bricks.statistics.full_resolution == 1
    assert np.abs(whole.rgba.astype(int) - bricks.rgba).max() <= (1 if device.is_cuda else 0)
    assert np.array_equal(whole.depth, bricks.depth) or device.is_cuda
    assert whole.rgba[..., :3].std() > 10


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int16", "float16", "float32"])
def test_every_voxel_type_in_bricks_changes_no_bit(device: Device, dtype: str) -> None:
    volume = Volume.from_array((waves() // 2).astype(dtype))
    field = BrickField(volume, device, 8 * volume.nbytes)
    renderer = Renderer(device)
    renderer.add_field(str(volume.location), field)
    for shading in ("none", "gradient"):
        scene = scene_of(volume, shading=shading, transfer=replace(TRANSFER, value_range=(0.0, 125.0)))
        bricks, whole = renderer.render(scene, SIZE, SIZE), Renderer(device).render(scene, SIZE, SIZE)
        assert bricks.statistics.full_resolution == 1
        assert np.abs(bricks.rgba.astype(int) - whole.rgba).max() <= (1 if device.is_cuda else 0)
        assert whole.rgba[..., :3].std() > 5


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "float16", "float32"])
@pytest.mark.parametrize("voxels", [waves, one_ball], ids=lambda make: make.__name__)
def test_close_up_bricks_change_no_bit(device: Device, dtype: str, voxels: Callable[[], Voxels]) -> None:
    """Where pixels are smaller than voxels, samples of neighbouring rays share what is read on a CPU."""
    volume = Volume.from_array((voxels() // 2).astype(dtype))
    renderer = Renderer(device)
    renderer.add_field(str(volume.location), BrickField(volume, device, 8 * volume.nbytes))
    camera = framing((5.0, 10.0, 15.0), (45.0, 50.0, 45.0), direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))
    for changes in ({"shading": "none"}, {"shading": "gradient"}, {"shading": "shadow"}):
        scene = scene_of(volume, transfer=replace(TRANSFER, value_range=(0.0, 125.0)), **changes)
        for step, is_jittered in ((0.5, False), (0.4, True)):
            closer = replace(scene, camera=camera, step=step, is_jittered=is_jittered)
            bricks, whole = renderer.render(closer, SIZE, SIZE), Renderer(device).render(closer, SIZE, SIZE)
            assert bricks.statistics.full_resolution == 1
            assert np.abs(bricks.rgba.astype(int) - whole.rgba).max() <= (1 if device.is_cuda else 0)
            assert np.array_equal(whole.depth, bricks.depth) or device.is_cuda
            assert whole.rgba[..., :3].std() > 5


def test_light_may_be_rounded_to_just_above_a_half(device: Device) -> None:
    """Of one ray, what is left after a block of samples is a half and, sample by sample, a little more: the search for
    the sample at which half of the light was gone ran beyond the last one and never ended."""
    z, y, x = np.ogrid[-1:1:96j, -1:1:96j, -1:1:96j]
    ball = np.clip(1.2 - np.sqrt(x**2 + y**2 + z**2), 0, 1) * (x**2 + y**2 > 0.05)
    volume = Volume.from_array(ball.astype(np.float32), spacing=(0.5, 0.5, 0.5))
    opacities = ((0.0, 0.0), (0.11125, 0.0), (0.37787499999999996, 0.25), (1.0, 0.9))
    transfer = TransferFunction(((0.0, (0.2, 0.1, 0.1)), (1.0, (1.0, 1.0, 0.9))), opacities)
    transfer = replace(transfer, value_range=(3.7127023071747688e-06, 0.9418513302449147))
    place, middle = (76.33467305158732, 119.35849645743146, -9.712973760101008), (23.75, 23.75, 23.75)
    scene = replace(
        scene_of(volume, transfer=transfer), camera=Camera(place, middle, (0.0, 0.0, -1.0)), is_jittered=True
    )
    renderer = Renderer(device)
    renderer.add_field(str(volume.location), BrickField(volume, device, 8 * volume.nbytes))
    bricks, whole = renderer.render(scene, 960, 540), Renderer(device).render(scene, 960, 540)
    assert np.abs(bricks.rgba.astype(int) - whole.rgba).max() <= 1
    assert np.mean(~np.isclose(whole.depth, bricks.depth, atol=0.25)) < 1e-4


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32", "float64"])
def test_what_is_visible_fits_a_third_of_the_memory(device: Device, dtype: str) -> None:
    volume = Volume.from_array(one_ball().astype(dtype))
    whole, bricks = whole_and_bricks(device, volume, scene_of(volume), 0.35)
    assert bricks.statistics.full_resolution == 1
    assert np.abs(whole.rgba.astype(int) - bricks.rgba).max() <= (1 if device.is_cuda else 0)
    assert whole.rgba[..., :3].std() > 5


def test_what_does_not_fit_is_coarser_and_said(device: Device) -> None:
    volume = Volume.from_array(waves())
    scene = scene_of(volume)
    fractions, likeness = [], []
    for share in (0.1, 0.5, 1.0):
        field = BrickField(volume, device, int(volume.nbytes * share))
        renderer = Renderer(device)
        renderer.add_field(str(volume.location), field)
        frame = renderer.render(scene, SIZE, SIZE)
        fractions.append(frame.statistics.full_resolution)
        likeness.append(decibels(Renderer(device).render(scene, SIZE, SIZE), frame))
    assert fractions[0] == 0
    assert 0 < fractions[1] < fractions[2] < 1
    assert 15 < likeness[0] < likeness[1] < likeness[2]


def test_coarse_levels_lie_where_fine_ones_do(device: Device) -> None:
    ramp = np.broadcast_to(np.arange(96.0, dtype=np.float32)[:, None, None], (96, 96, 96))
    volume = Volume.from_array(ramp)
    camera = Camera((47.5, 47.5, -100.0), (47.5, 47.5, 0.0), (0.0, 1.0, 0.0), None, 40.0)
    layer = VolumeLayer(str(volume.location), mode="isosurface", isosurfaces=(Isosurface(40.2),))
    frame = Renderer(device, 3 * 36**3 * 4).render(Scene((layer,), camera), 16, 16)
    assert frame.statistics.full_resolution == 0
    assert np.abs(frame.depth - 140.2).max() < 0.01


def test_visible_bricks_come_in_order_of_importance(device: Device) -> None:
    volume = Volume.from_array(one_ball())
    for share in (2.0, 0.35):
        (seen,) = (
            Renderer(device, int(volume.nbytes * share)).render(scene_of(volume), SIZE, SIZE).statistics.visible_bricks
        )
        assert (np.diff(seen.weights) <= 0).all()
        assert seen.boxes(1) == [Box((0, 0, 32), (32, 32, 64))] or seen.boxes(1) == [Box((0, 0, 0), (32, 32, 32))]
        assert len(seen.boxes()) < 4 * 4 * 4


def test_one_volume_whole_and_one_in_bricks(device: Device) -> None:
    ball, wave = Volume.from_array(one_ball()), Volume.from_array(waves())
    layers = (VolumeLayer(str(ball.location), TRANSFER), VolumeLayer(str(wave.location), TRANSFER))
    scene = Scene(layers, CAMERA)
    renderer = Renderer(device)
    renderer.add_field(str(ball.location), BrickField(ball, device, ball.nbytes))
    mixed = renderer.render(scene, SIZE, SIZE)
    whole = Renderer(device).render(scene, SIZE, SIZE)
    assert mixed.statistics.full_resolution == 1
    assert np.abs(whole.rgba.astype(int) - mixed.rgba).max() <= (1 if device.is_cuda else 0)


def test_one_more_volume_lets_others_go(device: Device) -> None:
    volumes = [Volume.from_array(waves() + n) for n in range(3)]
    renderer = Renderer(device, int(1.5 * volumes[0].nbytes))
    for volume in volumes:
        frame = renderer.render(scene_of(volume), SIZE, SIZE)
        assert frame.statistics.full_resolution == 1


def test_too_little_memory_for_the_coarsest_is_refused(device: Device) -> None:
    volume = Volume.from_array(waves())
    with pytest.raises(NotEnoughMemory, match=r"KiB needed, .* available\. Open a coarser level"):
        Renderer(device, 50_000).render(scene_of(volume), SIZE, SIZE)


def test_pictures_get_better_while_bricks_come_in(device: Device) -> None:
    volume = Volume.from_array(waves())
    scene, renderer = scene_of(volume), Renderer(device)
    renderer.add_field(str(volume.location), BrickField(volume, device, 4 * volume.nbytes))
    fractions = [0.0]
    while fractions[-1] < 1:
        frame = renderer.render(scene, SIZE, SIZE, is_exact=False)
        fractions.append(frame.statistics.full_resolution)
    assert fractions[1] == 0
    assert (np.diff(fractions) >= 0).all()
    assert decibels(frame, Renderer(device).render(scene, SIZE, SIZE)) > 60


def test_shadows_in_bricks(device: Device) -> None:
    volume = Volume.from_array(one_ball())
    for shading in ("shadow", "occlusion", "full"):
        whole, bricks = whole_and_bricks(device, volume, scene_of(volume, shading=shading), 0.5)
        assert bricks.statistics.full_resolution == 1
        assert decibels(whole, bricks) > 45
