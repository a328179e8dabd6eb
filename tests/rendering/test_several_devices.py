"""A volume that is shared over devices gives the picture that one device gives, and each holds only its part."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.device import Device, choose
from pellucid.errors import Cancelled, InvalidInput
from pellucid.fields.bricks.visibility import VisibleBricks
from pellucid.fields.dense import DenseField
from pellucid.fields.sizes import BRICK
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.drawing.multi_device import merged
from pellucid.rendering.drawing.partition import SplitPlane, parts, shares
from pellucid.rendering.frame import Frame
from pellucid.rendering.geometry.shapes import Points
from pellucid.rendering.renderer import Renderer, renderer_for
from pellucid.rendering.scene import (
    ClipPlane,
    Isosurface,
    PointsLayer,
    Scene,
    SliceLayer,
    Transform,
    VolumeLayer,
)
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume
from tests.rendering.waves import waves

SIZE = 72
SHAPE = (70, 80, 128)
CAMERA = framing((0.0, 0.0, 0.0), SHAPE[::-1], direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))
INSIDE = Camera((70.0, 38.0, 30.0), (20.0, 50.0, 45.0), (0.0, 0.0, 1.0), 70.0)
ALONG = Camera((63.5, -100.0, 35.0), (63.5, 40.0, 35.0), (0.0, 0.0, 1.0), None, 90.0)
TRANSFER = TransferFunction(
    colors=((0.0, (0.1, 0.2, 0.9)), (0.5, (0.9, 0.5, 0.1)), (1.0, (1.0, 1.0, 0.9))),
    opacities=((0.0, 0.0), (0.4, 0.0), (0.7, 0.05), (1.0, 0.3)),
    value_range=(0.0, 250.0),
)
TURNED = Transform((1.2, 0.8, 1.0), (20.0, -35.0, 50.0), (4.0, -3.0, 2.0))


def scene_of(volume: Volume, **changes: object) -> Scene:
    layer = replace(VolumeLayer(str(volume.location), TRANSFER), **changes)  # type: ignore[arg-type]
    return Scene((layer,), CAMERA)


def on_one_and_on(device: Device, count: int, scene: Scene) -> tuple[Frame, Frame]:
    one = Renderer(device).render(scene, SIZE, SIZE)
    return one, Renderer(devices=[device] * count).render(scene, SIZE, SIZE)


def assert_alike(one: Frame, shared: Frame, device: Device) -> None:
    assert one.rgba[..., :3].std() > 5
    assert np.abs(one.rgba.astype(int) - shared.rgba).max() <= (1 if device.is_cuda else 0)
    assert np.array_equal(one.depth, shared.depth) or device.is_cuda
    assert shared.statistics.is_exact


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"shading": "none", "transfer": replace(TRANSFER, opacities=((0.0, 0.9),))},
        {"mode": "max"},
        {"mode": "min"},
        {"mode": "mean"},
        {"mode": "isosurface", "isosurfaces": (Isosurface(120.0, opacity=0.3), Isosurface(180.0, opacity=0.6))},
        {"clip": Box((3, 20, 30), (60, 70, 100))},
        {"transform": TURNED},
        {"shading": "shadow"},
        {"shading": "occlusion", "clip": Box((3, 20, 30), (60, 70, 100))},
        {"shading": "full", "transform": TURNED},
    ],
    ids="-".join,
)
def test_two_devices_give_the_picture_of_one(device: Device, changes: dict[str, object]) -> None:
    volume = Volume.from_array(waves(SHAPE))
    assert_alike(*on_one_and_on(device, 2, scene_of(volume, **changes)), device)


@pytest.mark.parametrize("camera", [CAMERA, CAMERA.turned(180.0), INSIDE, ALONG], ids=["", "behind", "inside", "along"])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_every_number_of_devices_from_every_side(device: Device, camera: Camera, count: int) -> None:
    volume = Volume.from_array(waves(SHAPE))
    scene = replace(scene_of(volume), camera=camera, planes=(ClipPlane((0.1, 0.2, 1.0), 15.0),))
    assert_alike(*on_one_and_on(device, count, scene), device)


def test_samples_on_the_border_are_taken_once(device: Device) -> None:
    # Seen along x, without jitter, samples lie exactly on the cut between two bricks.
    volume = Volume.from_array(np.full((32, 32, 64), 200, np.uint8))
    camera = Camera((-50.0, 15.5, 15.5), (31.5, 15.5, 15.5), (0.0, 0.0, 1.0), None, 30.0)
    transfer = TransferFunction(opacities=((0.0, 0.02),), value_range=(0.0, 250.0))
    layer = VolumeLayer(str(volume.location), transfer, shading="none")
    scene = Scene((layer,), camera, is_jittered=False, background=(0.0, 0.0, 0.0, 0.0))
    for seen_from in (camera, camera.turned(180.0)):
        one, shared = on_one_and_on(device, 2, replace(scene, camera=seen_from))
        assert np.abs(one.rgba.astype(int) - shared.rgba).max() <= (1 if device.is_cuda else 0)
        assert one.rgba[36, 36, 3] == pytest.approx(255 * (1 - 0.98**64), abs=2)


def test_several_volumes_are_cut_by_the_same_planes(device: Device) -> None:
    large, small = Volume.from_array(waves(SHAPE)), Volume.from_array(waves((40, 50, 44)))
    turned = VolumeLayer(str(small.location), TRANSFER, transform=replace(TURNED, translation=(40.0, 20.0, 10.0)))
    scene = Scene((turned, VolumeLayer(str(large.location), TRANSFER)), CAMERA)
    assert_alike(*on_one_and_on(device, 2, scene), device)


def test_points_and_slices_stand_among_the_parts(device: Device) -> None:
    volume = Volume.from_array(waves(SHAPE))
    points = Points(np.random.default_rng(0).uniform((0, 0, 0), SHAPE[::-1], (40, 3)), np.full(40, 1.0))
    cloud = PointsLayer(points.name, radius_scale=4.0)
    plane = SliceLayer(str(volume.location), (64.0, 40.0, 35.0), (1.0, 1.0, 0.0), TRANSFER)
    scene = replace(scene_of(volume), points=(cloud,), slices=(plane,))
    assert_alike(*on_one_and_on(device, 3, scene), device)
    assert_alike(*on_one_and_on(device, 3, replace(scene, volumes=())), device)


def test_every_device_loads_its_part_only(device: Device) -> None:
    volume = Volume.from_array(waves(SHAPE))
    renderer = Renderer(devices=[device, device])
    frame = renderer.render(scene_of(volume, shading="none"), SIZE, SIZE)
    (left,), (right,) = renderer.load(scene_of(volume))
    sides = [field.visible().indices[:, 2] for field in (left, right)]
    assert sides[0].max() * BRICK < 64 <= sides[1].min() * BRICK
    (seen,) = frame.statistics.visible_bricks
    assert len(seen.indices) == len(sides[0]) + len(sides[1])
    assert (np.diff(seen.weights) <= 0).all()


def test_bricks_that_one_device_cannot_hold_fit_two(device: Device) -> None:
    volume = Volume.from_array(waves((64, 64, 128)))
    budget = int(0.95 * volume.nbytes)
    scene = scene_of(volume, shading="none", transfer=replace(TRANSFER, opacities=((0.0, 0.01),)))
    alone = Renderer(device, budget).render(scene, SIZE, SIZE)
    assert alone.statistics.full_resolution < 1
    assert Renderer(devices=[device] * 2, budget_bytes=budget).render(scene, SIZE, SIZE).statistics.is_exact


def test_what_hides_everything_leaves_nothing_to_load_behind_it(device: Device) -> None:
    voxels = np.zeros((32, 32, 128), np.uint8)
    voxels[:, :, 2:20] = 250
    voxels[:, :, 100:120] = 250
    volume = Volume.from_array(voxels)
    camera = Camera((-200.0, 15.5, 15.5), (0.0, 15.5, 15.5), (0.0, 0.0, 1.0), None, 20.0)
    scene = replace(scene_of(volume, shading="none"), camera=camera)
    renderer = Renderer(devices=[device, device])
    assert renderer.render(scene, SIZE, SIZE).statistics.is_exact
    (near,), (far,) = renderer.load(scene)
    assert len(near.visible().indices) == 1
    assert len(far.visible().indices) == 0


def test_pictures_of_several_devices_get_better_and_are_abandoned(device: Device) -> None:
    volume = Volume.from_array(waves(SHAPE))
    scene, renderer = scene_of(volume), Renderer(devices=[device, device])
    frames = list(renderer.render_progressive(scene, 40, 40, budget_ms=1e-3))
    one = Renderer(device).render(scene, 40, 40)
    exact = next(frame for frame in frames if frame.statistics.is_exact)
    assert np.abs(one.rgba.astype(int) - exact.rgba).max() <= (1 if device.is_cuda else 0)
    with pytest.raises(Cancelled):
        renderer.render(scene, 40, 40, is_cancelled=lambda: True)


def test_a_closed_renderer_has_let_go_and_may_go_on(device: Device) -> None:
    volume = Volume.from_array(waves(SHAPE))
    with Renderer(devices=[device, device]) as renderer:
        first = renderer.render(scene_of(volume), SIZE, SIZE)
        before = renderer.load(scene_of(volume))
    again = renderer.render(scene_of(volume), SIZE, SIZE)
    assert renderer.load(scene_of(volume))[0][0] is not before[0][0]
    assert np.array_equal(first.rgba, again.rgba) or device.is_cuda


def test_a_users_shading_on_two_devices(device: Device) -> None:
    volume = Volume.from_array(waves(SHAPE))
    renderers = [Renderer(device), Renderer(devices=[device, device])]
    shading, _ = [renderer.add_shading("return color * 0.5f;") for renderer in renderers]
    scene = scene_of(volume, shading="user", user_shading=shading.hash)
    one, shared = [renderer.render(scene, SIZE, SIZE) for renderer in renderers]
    assert_alike(one, shared, device)


def test_what_needs_the_whole_volume_is_refused(device: Device) -> None:
    volume = Volume.from_array(waves(SHAPE))
    renderer = Renderer(devices=[device, device])
    plane = SliceLayer(str(volume.location), (64.0, 40.0, 35.0), (1.0, 1.0, 0.0), TRANSFER, opacity=0.5)
    with pytest.raises(InvalidInput, match=r"Translucent surfaces do not support .* Make them opaque"):
        renderer.render(replace(scene_of(volume), slices=(plane,)), SIZE, SIZE)
    with pytest.raises(InvalidInput, match="does not support several devices"):
        renderer.add_field("x", DenseField(volume, device))


def test_cuts_lie_between_bricks_and_parts_come_front_to_back() -> None:
    assert shares((32, 64, 200), 1)[0].sides == ()
    three = shares((32, 64, 200), 3)
    assert [share.number for share in three] == [0, 1, 2]
    assert three[0].sides == ((SplitPlane(2, 64), -1),)
    assert three[1].sides == ((SplitPlane(2, 64), 1), (SplitPlane(2, 128), -1))
    assert [share.number for share in shares((32, 64, 200), 3, lambda cut: False)] == [2, 1, 0]
    world = np.diag([1.0, 1.0, 1.0]), np.zeros(3)
    between = Camera((100.0, 30.0, -200.0), (100.0, 30.0, 16.0), (0.0, 1.0, 0.0))
    assert [number for number, _ in parts((32, 64, 200), world, between, 3)] == [1, 2, 0]
    (_, first), (_, last) = parts((32, 64, 128), world, Camera((-9.0, 1.0, 1.0), (0.0, 1.0, 1.0)), 2)
    assert first.borders == last.borders == ((1.0, 0.0, 0.0, 63.5),)
    assert (first.sides, first.is_first, first.is_last) == ((-1,), True, False)
    assert (last.sides, last.is_first, last.is_last) == ((1,), False, True)


def test_what_two_devices_saw_is_put_together() -> None:
    one = VisibleBricks((64, 64, 64), np.array([[0, 0, 0], [0, 1, 0]]), np.array([5.0, 1.0]), np.array([True, True]))
    two = VisibleBricks((64, 64, 64), np.array([[0, 1, 0]]), np.array([6.0]), np.array([False]))
    both = merged([one, two])
    assert both.indices.tolist() == [[0, 1, 0], [0, 0, 0]]
    assert both.weights.tolist() == [7.0, 5.0]
    assert both.is_full.tolist() == [False, True]


def test_one_device_is_enough_for_what_fits_it() -> None:
    volume = Volume.from_array(waves(SHAPE))
    assert len(renderer_for(scene_of(volume), "cpu").devices) == 1
    assert len(renderer_for(scene_of(volume)).devices) == 1


class Card(Device):
    """A CUDA device as it would be, were it there."""

    def free_bytes(self) -> int:
        return self.total_bytes


def test_all_cards_share_what_does_not_fit_one(monkeypatch: pytest.MonkeyPatch) -> None:
    volume = Volume.from_array(waves(SHAPE))
    for total_bytes, count in ((volume.nbytes, 2), (2 * volume.nbytes, 1)):
        cards = [Card(f"cuda:{number}", "cuda", "a card", total_bytes) for number in range(2)]
        monkeypatch.setattr("pellucid.rendering.renderer.devices", lambda cards=cards: [choose("cpu"), *cards])
        monkeypatch.setattr("pellucid.rendering.renderer.choose", lambda request, cards=cards: cards[0])
        assert len(renderer_for(scene_of(volume)).devices) == count
        assert len(renderer_for(scene_of(volume), "cuda:0").devices) == 1
