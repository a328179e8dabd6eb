"""Largest and smallest values along rays are those of the trilinear field, also between samples."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pellucid.box import Box
from pellucid.device import Device
from pellucid.fields.bricks.brick_field import BrickField
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import framing
from pellucid.rendering.reference import volumes as reference
from pellucid.rendering.reference.extremes import largest_along
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import ClipPlane, Scene, Transform, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.interpolate import trilinear
from pellucid.volume.volume import Volume

SIZE = 20
OVERSAMPLING = 20
DTYPES = {"uint8": 255.0, "uint16": 60000.0, "float32": 1.0}


@dataclass(frozen=True)
class Case:
    """A random volume, and a scene that shows its largest or smallest values in greys."""

    volume: Volume
    scene: Scene

    @classmethod
    def of(cls, seed: int) -> "Case":
        rng = np.random.default_rng(seed)
        dtype = str(rng.choice(list(DTYPES)))
        voxels = _random_voxels(rng, dtype)
        volume = Volume.from_array(voxels, spacing=tuple(rng.uniform(0.3, 3.0, 3)))
        layer = VolumeLayer(
            str(volume.location),
            TransferFunction(opacities=((0.0, 1.0),), value_range=(0.0, DTYPES[dtype])),
            mode=str(rng.choice(["max", "min"])),  # type: ignore[arg-type]
            clip=_random_box(rng, voxels.shape) if rng.random() < 0.3 else None,
            transform=_random_transform(rng) if rng.random() < 0.4 else Transform(),
        )
        return cls(volume, _random_scene(rng, volume, layer))

    def expected(self) -> tuple[Voxels, Voxels]:
        """(n,) values from 0 to 1 of rays with 20 times as many samples, and whether a ray is long enough to count."""
        (layer,), scene = self.scene.volumes, self.scene
        step = 0.5 * min(self.volume.spacing) * min(map(abs, layer.transform.scale)) / OVERSAMPLING
        medium = reference.Medium(
            self.volume.read(), self.volume.spacing, layer, scene.light, step, scene.planes, scene.camera
        )
        rays = reference.camera_rays(scene.camera, SIZE, SIZE, is_jittered=False)
        near, far = medium.inside(rays)
        found = np.zeros(len(near))
        for ray in np.flatnonzero(far > near):
            found[ray] = _oversampled(medium, rays.origins[ray], rays.directions[ray], near[ray], far[ray])
        return found / layer.transfer.value_range[1], far - near > step


def _oversampled(medium: reference.Medium, origin: Voxels, direction: Voxels, near: float, far: float) -> float:
    """The extreme of samples 1/20 step apart, and then of closer ones around the one that was found."""
    pick = np.argmax if medium.layer.mode == "max" else np.argmin
    distances = np.linspace(near, far, int((far - near) / medium.step) + 2)
    for _ in range(2):
        values = medium.value(origin + distances[:, None] * direction)
        best, apart = distances[pick(values)], distances[1] - distances[0]
        distances = np.clip(np.linspace(best - apart, best + apart, 2 * OVERSAMPLING + 1), near, far)
    return float(values[pick(values)])


def _random_voxels(rng: np.random.Generator, dtype: str) -> Voxels:
    shape, top = tuple(rng.integers(1, 11, 3)), DTYPES[dtype]
    if rng.random() < 0.5:
        voxels = np.zeros(shape)
        voxels[tuple(rng.integers(0, shape))] = top
    else:
        voxels = rng.uniform(0, top, shape)
    return voxels.astype(dtype)


def _random_box(rng: np.random.Generator, shape: tuple[int, ...]) -> Box:
    start = [int(rng.integers(0, n)) for n in shape]
    stop = [int(rng.integers(a + 1, n + 1)) for a, n in zip(start, shape, strict=True)]
    return Box((start[0], start[1], start[2]), (stop[0], stop[1], stop[2]))


def _random_transform(rng: np.random.Generator) -> Transform:
    scale, turn, move = rng.uniform(0.5, 2, 3), rng.uniform(-180, 180, 3), rng.uniform(-5, 5, 3)
    return Transform(tuple(scale), tuple(turn), tuple(move))


def _random_scene(rng: np.random.Generator, volume: Volume, layer: VolumeLayer) -> Scene:
    z, y, x = np.array(volume.shape) * volume.spacing
    direction, up = rng.normal(size=3), rng.normal(size=3)
    camera = framing((0.0, 0.0, 0.0), (x, y, z), direction=tuple(direction), up=tuple(up))
    if rng.random() < 0.5:
        camera = replace(camera, field_of_view_deg=None)
    plane = ClipPlane(tuple(rng.normal(size=3)), float(rng.uniform(-3, 3)))
    return Scene((layer,), camera, planes=(plane,) if rng.random() < 0.3 else (), background=(0.0, 0.0, 0.0, 1.0))


def shown(renderer: Renderer, scene: Scene) -> Voxels:
    """(n,) the grey of every pixel, from 0 to 1."""
    return renderer.render(scene, SIZE, SIZE).rgba[..., 0].ravel() / 255


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32 - 1))
def test_the_extreme_is_that_of_twenty_times_as_many_samples(renderer: Renderer, seed: int) -> None:
    case = Case.of(seed)
    expected, is_hit = case.expected()
    assert np.abs(shown(renderer, case.scene) - expected)[is_hit].max(initial=0) <= 1 / 255 + 1e-3


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_reference_s_cubics_are_what_many_samples_see(seed: int) -> None:
    rng = np.random.default_rng(seed)
    voxels = rng.uniform(0, 1, tuple(rng.integers(1, 6, 3)))
    origin, speed = rng.uniform(-4, 8, (1, 3)), rng.normal(size=(1, 3))
    value, distance = largest_along(voxels, origin, speed, np.array([0.0]), np.array([6.0]))
    samples = trilinear(voxels, (origin + np.linspace(0, 6, 20001)[:, None] * speed)[:, ::-1])
    assert samples.max() <= value[0] + 1e-12
    assert samples.max() == pytest.approx(value[0], abs=1e-3)
    assert trilinear(voxels, (origin + distance * speed)[:, ::-1])[0] == pytest.approx(value[0])


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_a_single_bright_voxel_is_equally_bright_wherever_it_is(renderer: Renderer, dtype: str) -> None:
    """Rays pass through its centre; samples half a voxel apart used to show 192 to 255 of it."""
    rng = np.random.default_rng(0)
    for _ in range(12):
        voxels = np.zeros((24, 24, 24), dtype)
        place = rng.integers(0, 24, 3)
        voxels[tuple(place)] = DTYPES[dtype]
        volume = Volume.from_array(voxels)
        transfer = TransferFunction(opacities=((0.0, 1.0),), value_range=(0.0, DTYPES[dtype]))
        camera = framing((0.0, 0.0, 0.0), (24.0, 24.0, 24.0), direction=tuple(rng.normal(size=3)))
        shift = np.subtract(place[::-1], camera.target)
        camera = replace(camera, position=tuple(camera.position + shift), target=tuple(camera.target + shift))
        layer = VolumeLayer(str(volume.location), transfer, mode="max")
        assert renderer.render(Scene((layer,), camera), 21, 21).rgba[10, 10, 0] >= 254


@pytest.mark.parametrize("mode", ["max", "min"])
@pytest.mark.parametrize("is_texture", [True, False])
def test_bricks_show_what_a_whole_volume_shows(device: Device, mode: str, is_texture: bool) -> None:
    voxels = np.random.default_rng(1).integers(0, 256, (40, 70, 35)).astype(np.uint8)
    volume = Volume.from_array(voxels, spacing=(1.5, 1.0, 1.0))
    greys = TransferFunction(opacities=((0.0, 1.0),), value_range=(0.0, 255.0))
    layer = VolumeLayer(str(volume.location), greys, mode=mode)  # type: ignore[arg-type]
    camera = framing((0.0, 0.0, 0.0), (35.0, 70.0, 60.0), direction=(0.3, 1.0, 0.5))
    case = Case(volume, Scene((layer,), camera, background=(0.0, 0.0, 0.0, 1.0)))
    renderer = Renderer(device)
    renderer.add_field(str(volume.location), BrickField(volume, device, 8 * volume.nbytes, is_texture=is_texture))
    expected, is_hit = case.expected()
    assert np.abs(shown(renderer, case.scene) - expected)[is_hit].max() <= 1 / 255 + 1e-3


@pytest.mark.parametrize("mode", ["max", "min"])
def test_where_no_voxel_is_a_number_the_lowest_colour_is_drawn(renderer: Renderer, mode: str) -> None:
    voxels = np.full((8, 8, 8), np.nan, np.float32)
    voxels[:, :, 4:] = 3.0
    volume = Volume.from_array(voxels)
    greys = TransferFunction(colors=((0.0, (0.4,) * 3), (1.0, (1.0,) * 3)), value_range=(2.0, 3.0))
    layer = VolumeLayer(str(volume.location), greys, mode=mode)  # type: ignore[arg-type]
    camera = replace(framing((0.0,) * 3, (8.0,) * 3, direction=(0.0, 0.0, 1.0)), field_of_view_deg=None)
    row = renderer.render(Scene((layer,), camera), 16, 16).rgba[8, 5:11, 0]
    assert {int(grey) for grey in row} == {102, 255}


def test_a_flat_top_lies_where_it_begins(renderer: Renderer) -> None:
    voxels = np.zeros((30, 9, 9), np.uint8)
    voxels[4:26] = 255
    volume = Volume.from_array(voxels)
    layer = VolumeLayer(str(volume.location), TransferFunction(value_range=(0.0, 255.0)), mode="max")
    camera = replace(framing((0.0,) * 3, (9.0, 9.0, 30.0), direction=(0.0, 0.0, -1.0)), field_of_view_deg=None)
    depth = renderer.render(Scene((layer,), camera), 9, 9).depth[4, 4]
    assert camera.position[2] + depth == pytest.approx(4.0, abs=1e-3)
