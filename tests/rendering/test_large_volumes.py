"""No axis ends at 2048, and indices pass 2³¹."""

import numpy as np
import pytest

from pellucid.box import Shape
from pellucid.device import Device
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import framing
from pellucid.rendering.frame import Frame
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume
from tests.contracts.lazy_volumes import lazy_volume, repeated

TRANSFER = TransferFunction(opacities=((0.0, 0.0), (0.5, 0.0), (0.6, 0.7)), value_range=(0.0, 255.0))


def balls(edge: int = 64) -> Voxels:
    """One ball in a cube of air, to be repeated."""
    z, y, x = np.meshgrid(*[np.arange(edge) - edge / 2 + 0.5] * 3, indexing="ij")
    ball: Voxels = np.clip(255 - 9 * np.sqrt(z**2 + y**2 + x**2), 0, 255).astype(np.uint8)
    return ball


def drawn(volume: Volume, renderer: Renderer, last: int) -> Frame:
    """Its last voxels along every axis, from the side."""
    x, y, z = (float(max(0, n - last)) for n in volume.shape[::-1])
    camera = framing((x, y, z), volume.shape[::-1], direction=(0.6, -1.0, 0.5), up=(0.0, 0.0, 1.0))
    return renderer.render(Scene((VolumeLayer(str(volume.location), TRANSFER),), camera), 64, 64)


def renderer_of(volume: Volume, device: Device, budget_bytes: int | None = None) -> Renderer:
    renderer = Renderer(device, budget_bytes)
    renderer.add(volume)
    return renderer


@pytest.mark.parametrize("shape", [(2049, 100, 100), (100, 100, 2049), (4096, 64, 64), (64, 4096, 64)])
def test_long_axes(device: Device, shape: Shape) -> None:
    volume = lazy_volume(shape, repeated(balls()))
    whole = drawn(volume, renderer_of(volume, device), last=150)
    bricks = drawn(volume, renderer_of(volume, device, volume.nbytes // 2), last=150)
    assert bricks.statistics.full_resolution == 1
    assert np.abs(whole.rgba.astype(int) - bricks.rgba).max() <= (1 if device.is_cuda else 0)
    assert whole.rgba[..., :3].std() > 20


def test_more_than_two_to_the_31_voxels(device: Device) -> None:
    shape = (1300, 1300, 1300)
    volume = lazy_volume(shape, repeated(balls()))
    renderer = renderer_of(volume, device, 320 * 2**20)
    frame = drawn(volume, renderer, last=1300)
    assert 0 < frame.statistics.full_resolution < 1
    assert frame.rgba[20:44, 20:44, :3].std() > 10
    (seen,) = frame.statistics.visible_bricks
    assert len(seen.weights) > 1000
    assert seen.indices.max() > 30
    # The far corner, beyond voxel 2³¹, at full resolution.
    corner = drawn(volume, renderer, last=100)
    assert corner.statistics.full_resolution == 1
    assert corner.rgba[..., :3].std() > 20
