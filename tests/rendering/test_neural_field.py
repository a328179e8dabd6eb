"""A neural field looks like the volume that it decodes to: through bricks in every mode, and along the rays."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.device import Device
from pellucid.fields.bricks.pool import BRICK_VOXELS
from pellucid.fields.kinds import FieldRoom, make_field
from pellucid.fields.neural.device_model import DeviceModel
from pellucid.fields.neural.neural_bricks import NeuralBrickField
from pellucid.formats.location import Location
from pellucid.formats.neural_field.field import NeuralField
from pellucid.formats.neural_field.neural_volume import NeuralVolume
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import framing
from pellucid.rendering.frame import Frame
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import ClipPlane, Isosurface, Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.closable_reader import ClosableReader
from pellucid.volume.volume import Volume, open_volume
from tests.fields.test_device_ensemble import ensemble, in_bricks
from tests.formats.neural_field.sample_fields import decoder, grid, whole_volume, write_volume

SHAPE = (40, 64, 80)
CAMERA = framing((0.0, 0.0, 0.0), SHAPE[::-1], direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))
WIDTH, HEIGHT = 70, 45
ALIKE_DB = 40.0


def field() -> NeuralField:
    random = np.random.default_rng(11)
    grids = tuple(grid(random, 2, 5, 6, 7) for _ in range(4))
    return NeuralField("amgsrn", decoder(random, 8, 32, 32, 1), grids, value_range=(0.0, 60.0))


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Volume]:
    path: Path = tmp_path_factory.mktemp("neural") / "field.plf"
    with open_volume(write_volume(path, whole_volume(field(), SHAPE))) as opened:
        yield opened


@pytest.fixture(scope="module")
def decoded(volume: Volume) -> Volume:
    return Volume.from_array(volume.read())


def transfer(decoded: Volume) -> TransferFunction:
    """About a fifth of the voxels is visible."""
    low, high = (float(np.percentile(decoded.read(), q)) for q in (1, 99.9))
    return TransferFunction(
        colors=((0.0, (0.1, 0.2, 0.9)), (0.7, (0.9, 0.5, 0.1)), (1.0, (1.0, 1.0, 0.9))),
        opacities=((0.0, 0.0), (0.55, 0.0), (1.0, 0.3)),
        value_range=(low, high),
    )


def scene_of(one: Volume, decoded: Volume, **changes: object) -> Scene:
    layer = replace(VolumeLayer(str(one.location), transfer(decoded)), **changes)  # type: ignore[arg-type]
    return Scene((layer,), CAMERA)


def psnr(one: Frame, other: Frame) -> float:
    difference = one.rgba.astype(float) - other.rgba.astype(float)
    return float(10 * np.log10(255**2 / max(np.mean(difference**2), 1e-12)))


@pytest.mark.parametrize(
    "changes",
    [
        {"shading": "none"},
        {"shading": "gradient"},
        {"shading": "shadow"},
        {"shading": "full"},
        {"mode": "max"},
        {"mode": "mean"},
        {"mode": "isosurface"},
    ],
    ids=lambda changes: "-".join(changes.values()),
)
def test_through_bricks_it_looks_like_the_decoded_volume(
    device: Device, volume: Volume, decoded: Volume, changes: dict[str, object]
) -> None:
    if changes.get("mode") == "isosurface":
        value = float(np.percentile(decoded.read(), 80))
        changes = {**changes, "isosurfaces": (Isosurface(value),)}
    renderer = Renderer(device)
    renderer.add(decoded)
    expected = renderer.render(scene_of(decoded, decoded, **changes), WIDTH, HEIGHT)
    frame = renderer.render(scene_of(volume, decoded, **changes), WIDTH, HEIGHT)
    assert frame.statistics.is_exact
    assert not frame.statistics.is_along_rays
    assert expected.rgba[..., 3].max() > 50
    assert psnr(frame, expected) > ALIKE_DB
    renderer.close()


@pytest.mark.parametrize("kind", ["ngp", "fvsrn", "ensemble", "ensemble with a residual"])
@pytest.mark.parametrize("shading", ["none", "gradient"])
def test_every_kind_of_field_is_decoded_and_drawn_in_bricks(
    device: Device, tmp_path: Path, kind: str, shading: str
) -> None:
    is_one = kind in ("ngp", "fvsrn")
    stored = ensemble(SHAPE, (1, 1, 1) if is_one else (1, 2, 2), 0 if is_one else 4, [kind if is_one else "fvsrn"])
    truth = None
    if kind.endswith("residual"):
        noise = np.random.default_rng(0).normal(0, 0.3, SHAPE)
        truth = (stored.values(Box.whole(SHAPE)) + noise).astype(np.float32)
    with open_volume(write_volume(tmp_path / "a.plf", stored, truth)) as opened:
        drawn = in_bricks(opened, device)
        exact = Volume.from_array(opened.read())
        renderer = Renderer(device)
        renderer.add(exact)
        renderer.add_field(str(opened.location), drawn)
        expected, frame = (
            renderer.render(scene_of(one, exact, shading=shading), WIDTH, HEIGHT) for one in (exact, opened)
        )
        assert frame.statistics.is_exact and not frame.statistics.is_along_rays
        assert expected.rgba[..., 3].max() > 50
        assert psnr(frame, expected) > ALIKE_DB
        renderer.close()


def small_pool(volume: Volume, device: Device) -> NeuralBrickField:
    """A field whose bricks do not all fit."""
    model = DeviceModel(field(), volume.shape, device)
    return NeuralBrickField(volume, device, 6 * 4 * BRICK_VOXELS, model)


@pytest.mark.parametrize("shading", ["none", "gradient"])
def test_along_the_rays_it_looks_like_the_decoded_volume(
    device: Device, volume: Volume, decoded: Volume, shading: str
) -> None:
    drawn = small_pool(volume, device)
    assert drawn.is_drawn_directly
    renderer = Renderer(device)
    renderer.add(decoded)
    renderer.add_field(str(volume.location), drawn)
    plane = ClipPlane((1.0, 0.2, 0.0), 12.0)
    expected, frame = (
        renderer.render(
            replace(scene_of(one, decoded, shading=shading), planes=(plane,), is_jittered=True), WIDTH, HEIGHT
        )
        for one in (decoded, volume)
    )
    assert frame.statistics.is_exact
    assert frame.statistics.is_along_rays
    assert psnr(frame, expected) > ALIKE_DB
    is_seen = np.isfinite(expected.depth) & np.isfinite(frame.depth)
    assert is_seen.sum() > 100
    assert np.median(np.abs(frame.depth[is_seen] - expected.depth[is_seen])) < 0.5
    renderer.close()


def test_skipping_drops_nothing(device: Device, volume: Volume, decoded: Volume) -> None:
    """With the ranges of cells that were found, and with ranges that show everything."""
    scene = scene_of(volume, decoded)
    for room in (1 << 30, 0):
        drawn = small_pool(volume, device) if room == 0 else make_field(volume, FieldRoom(device, room))
        assert isinstance(drawn, NeuralBrickField)
        renderer = Renderer(device)
        renderer.add_field(str(volume.location), drawn)
        skipped = renderer.render(scene, WIDTH, HEIGHT)
        ranges = drawn.ranges.numpy()
        assert (np.abs(ranges) < 1e6).mean() > 0.5, "most ranges are known by now"
        drawn.ranges.assign(np.broadcast_to(np.array([-3e38, 3e38], np.float32), ranges.shape).copy())
        drawn.range_changes += 1
        drawn._unknown = drawn._unknown[:0]
        everything = renderer.render(scene, WIDTH, HEIGHT)
        assert np.array_equal(everything.rgba, skipped.rgba)
        renderer.close()


def test_a_field_that_fits_is_not_evaluated_along_the_rays(device: Device, volume: Volume) -> None:
    drawn = make_field(volume, FieldRoom(device, 1 << 30))
    assert isinstance(drawn, NeuralBrickField)
    assert not drawn.is_drawn_directly
    drawn.close()


class TwoSteps:
    """A Reader of a series of two neural fields."""

    def __init__(self, volumes: list[NeuralVolume]) -> None:
        self._volumes = volumes
        self.header = replace(volumes[0].header, times=len(volumes))

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        out[...] = self._volumes[t].values(box, level)

    def neural_at(self, t: int) -> tuple[NeuralVolume, None]:
        return self._volumes[t], None

    def close(self) -> None: ...


def test_every_step_of_a_series_is_drawn_from_its_own_field(device: Device) -> None:
    first, second = field(), replace(field(), value_range=(0.0, -30.0))
    reader = ClosableReader(TwoSteps([whole_volume(one, SHAPE) for one in (first, second)]))
    for t in (0, 1):
        volume = Volume(reader, Location(f"memory:step-{t}"), t=t)
        decoded = Volume.from_array(volume.read())
        renderer = Renderer(device)
        renderer.add(volume)
        renderer.add(decoded)
        expected, frame = (renderer.render(scene_of(one, decoded), WIDTH, HEIGHT) for one in (decoded, volume))
        assert expected.rgba[..., 3].max() > 50
        assert psnr(frame, expected) > ALIKE_DB
        renderer.close()
