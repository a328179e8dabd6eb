"""A volume that changes block by block is drawn as it is, and only what changed is read again."""

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.device import Device
from pellucid.fields.bricks.brick_field import BrickField
from pellucid.fields.dense import DenseField
from pellucid.fields.device_field import DeviceField
from pellucid.fields.sizes import CELL
from pellucid.rendering.camera import framing
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume
from tests.contracts.lazy_volumes import ComputedReader, lazy_volume

SHAPE = (64, 96, 80)
CAMERA = framing((0.0, 0.0, 0.0), SHAPE[::-1], direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))
TRANSFER = TransferFunction(opacities=((0.0, 0.0), (0.3, 0.0), (1.0, 0.6)), value_range=(0.0, 255.0))
BLOCKS = [Box((0, 0, 0), (20, 30, 40)), Box((25, 30, 31), (40, 66, 33)), Box((10, 50, 60), (64, 96, 80))]


def field_of(kind: str, volume: Volume, device: Device) -> DeviceField:
    return DenseField(volume, device) if kind == "dense" else BrickField(volume, device, 4 * volume.nbytes)


@pytest.mark.parametrize("kind", ["dense", "bricks"])
def test_blocks_that_arrive_are_drawn(device: Device, kind: str) -> None:
    voxels = np.zeros(SHAPE, np.uint8)
    volume = Volume.from_array(voxels)
    scene = Scene((VolumeLayer(str(volume.location), TRANSFER),), CAMERA)
    renderer, field = Renderer(device), field_of(kind, volume, device)
    renderer.add_field(str(volume.location), field)
    assert renderer.render(scene, 64, 64).rgba[..., :3].max() == 0
    random = np.random.default_rng(0)
    for block in BLOCKS:
        voxels[block.slices] = random.integers(0, 255, block.shape)
        volume.changed(block)
        seen = renderer.render(scene, 64, 64)
        fresh = Renderer(device).render(scene, 64, 64)
        assert np.abs(seen.rgba.astype(int) - fresh.rgba).max() <= (1 if device.is_cuda else 0)
        assert fresh.rgba[..., :3].std() > 5
    assert field.revision >= len(BLOCKS)
    assert np.array_equal(field.ranges.numpy(), DenseField(volume, device).ranges.numpy())


@pytest.mark.parametrize("kind", ["dense", "bricks"])
def test_only_the_changed_part_is_read_again(device: Device, kind: str) -> None:
    voxels = np.random.default_rng(0).integers(0, 255, SHAPE, dtype=np.uint8)
    volume = lazy_volume(SHAPE, lambda box: voxels[box.slices])
    reader = volume._opened.reader
    assert isinstance(reader, ComputedReader)
    scene = Scene((VolumeLayer(str(volume.location), TRANSFER, "mean"),), CAMERA)
    renderer, field = Renderer(device), field_of(kind, volume, device)
    renderer.add_field(str(volume.location), field)
    renderer.render(scene, 32, 32)
    before, bricks_before = reader.voxels_read, getattr(field, "bricks_read", 0)
    block = Box((34, 40, 40), (44, 50, 50))  # Inside one brick, more than an apron from its border.
    voxels[block.slices] = 255
    volume.changed(block)
    renderer.render(scene, 32, 32)
    if isinstance(field, BrickField):
        assert field.bricks_read - bricks_before == 2  # One of level 0, and the only one of the coarsest level.
    else:
        assert reader.voxels_read - before == block.size
    assert reader.voxels_read - before < voxels.size / 3
    assert field.ranges.numpy()[34 // CELL, 40 // CELL, 40 // CELL, 1] == 255


def test_changes_are_no_longer_heard_after_closing(device: Device) -> None:
    volume = Volume.from_array(np.zeros(SHAPE, np.uint8))
    field = BrickField(volume, device, 4 * volume.nbytes)
    field.close()
    volume.changed(volume.box)
    field.prepare_frame()
    assert field.revision == 1  # The coarsest level, at the beginning.


def test_who_announces_faster_than_is_drawn_is_not_heard_for_ever(device: Device) -> None:
    voxels = np.zeros(SHAPE, np.uint8)
    volume = Volume.from_array(voxels)
    field = DenseField(volume, device)
    refreshed: list[Box] = []
    field._refresh = refreshed.append  # type: ignore[assignment,method-assign]
    for _ in range(1000):
        volume.changed(BLOCKS[0])
    volume.changed(Box((60, 0, 0), (99, 200, 5)))
    volume.changed(Box((70, 0, 0), (80, 5, 5)))
    field.prepare_frame()
    assert refreshed == [BLOCKS[0], Box((60, 0, 0), (64, 96, 5))]
    refreshed.clear()
    for y in range(96):
        volume.changed(Box((3, y, 0), (5, y + 1, 80)))
    field.prepare_frame()
    assert sum(box.size for box in refreshed) == 2 * 96 * 80
    assert len(refreshed) < 64
