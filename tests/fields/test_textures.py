"""Voxels in hardware textures are those of the volume, and cells know what is around them."""

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.device import Device, choose, devices, launch, runtime
from pellucid.device.pinned_memory import to_host
from pellucid.fields.bricks.brick_field import BrickField
from pellucid.fields.bricks.visibility import VisibleBricks
from pellucid.fields.dense import DenseField
from pellucid.fields.device_field import DeviceField, empty_distance_of, solid_distance_of
from pellucid.fields.sizes import TEXTURED
from pellucid.fields.textures import upload
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume
from tests.fields.texture_reading import read_points

SHAPE = (41, 66, 77)
KINDS = ["uint8", "int8", "uint16", "int16", "float16", "float32"]


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    if request.param == "cuda" and not any(found.is_cuda for found in devices()):
        pytest.skip("needs a CUDA device")
    return choose(request.param)


def every_value(kind: str) -> Voxels:
    """All that 8 and 16 bits can hold, from the lowest on; random numbers for the others."""
    random, dtype = np.random.default_rng(0), np.dtype(kind)
    if dtype.kind == "f":
        return random.normal(size=SHAPE).astype(dtype)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    voxels = random.integers(low, high + 1, SHAPE).astype(dtype)
    voxels.ravel()[: high - low + 1] = np.arange(low, high + 1)
    return voxels


def field_of(kind: str, volume: Volume, device: Device, *, is_texture: bool = True) -> DeviceField:
    if kind == "whole":
        return DenseField(volume, device, is_texture=is_texture)
    field = BrickField(volume, device, 8 * volume.nbytes + 2**20, is_texture=is_texture)
    field.prepare_frame()
    field._wanted.fill_(1.0)
    field.load_missing()
    return field


def read(field: DeviceField, points: Voxels, *, is_exact: bool) -> tuple[Voxels, Voxels]:
    warp, name = runtime.start(), field.device.name
    values = warp.zeros(len(points), dtype=warp.float32, device=name)
    gradients = warp.zeros(len(points), dtype=warp.vec3, device=name)
    places = warp.array(points.astype(np.float32), dtype=warp.vec3, device=name)
    launch(read_points, len(points), [field.struct, places, int(is_exact)], [values, gradients], field.device)
    return values.numpy(), gradients.numpy()


@pytest.mark.parametrize("kind", ["whole", "bricks"])
@pytest.mark.parametrize("dtype", KINDS)
def test_every_voxel_is_read_as_it_is(device: Device, kind: str, dtype: str) -> None:
    voxels = every_value(dtype)
    field = field_of(kind, Volume.from_array(voxels), device)
    assert (field.struct.whole.kind >= TEXTURED) == device.is_cuda
    z, y, x = np.meshgrid(*map(np.arange, SHAPE), indexing="ij")
    points = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    for is_exact in (True, False):
        values, _ = read(field, points, is_exact=is_exact)
        exact = voxels.ravel().astype(np.float32)
        assert np.abs(values - exact).max() <= 1e-7 * np.abs(exact).max()


@pytest.mark.parametrize("kind", ["whole", "bricks"])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_between_voxels_textures_and_arrays_agree(device: Device, kind: str, dtype: str) -> None:
    voxels = every_value(dtype)
    volume = Volume.from_array(voxels)
    texture, array = (field_of(kind, volume, device, is_texture=is_texture) for is_texture in (True, False))
    assert array.struct.whole.kind < TEXTURED
    points = np.random.default_rng(1).uniform(-0.5, np.array(SHAPE[::-1]) - 0.5, (20_000, 3))
    (values, slopes), (exact_values, exact_slopes) = (read(texture, points, is_exact=e) for e in (False, True))
    expected_values, expected_slopes = read(array, points, is_exact=True)
    span = float(voxels.astype(np.float32).max()) - float(voxels.astype(np.float32).min())
    # Coordinates of that many texels are exact to about 1/16384.
    assert np.abs(exact_values - expected_values).max() <= 2e-4 * span
    assert np.abs(exact_slopes - expected_slopes).max() <= 2e-4 * span
    # Three weights of 8 bits: each is off by half of 1/256.
    assert np.abs(values - expected_values).max() <= 3 / 512 * span
    assert np.abs(slopes - expected_slopes).max() <= 3 / 512 * span


def test_ranges_are_the_same_from_textures_and_arrays(device: Device) -> None:
    for dtype in KINDS:
        volume = Volume.from_array(every_value(dtype))
        fields = [DenseField(volume, device, is_texture=is_texture) for is_texture in (True, False)]
        assert np.array_equal(fields[0].ranges.numpy(), fields[1].ranges.numpy())


def test_pieces_are_whole_rows_and_chunks() -> None:
    flat = Volume.from_array(np.zeros((600, 300, 400), np.uint8))
    z, y, x = upload.piece_shape(flat, np.dtype("uint8"))
    assert (y, x) == (300, 400)
    assert z * y * x <= upload.PIECE_BYTES < 2 * z * y * x


def test_what_comes_to_the_host_is_used_again_only_when_nobody_holds_it(device: Device) -> None:
    warp = runtime.start()
    arrays = [warp.array(np.full((5, 7), n, np.float32), device=device.name) for n in range(3)]
    first, second = to_host(arrays[:2], device)
    part = first[2:, :3]
    del first
    (third,) = to_host(arrays[2:], device)
    assert [part.mean(), second.mean(), third.mean()] == [0, 1, 2]
    address = second.ctypes.data
    del second
    (again,) = to_host(arrays[:1], device)
    assert (again.ctypes.data == address) == device.is_cuda
    assert again.mean() == 0


def test_distances_between_visible_cells_and_others(device: Device) -> None:
    occupied = (np.random.default_rng(0).random((9, 10, 11)) < 0.03).astype(np.uint8)
    occupied[:7, :6, :5] = 1
    warp = runtime.start()
    vacancy = empty_distance_of(warp.array(occupied, device=device.name), device)
    solidity = solid_distance_of(vacancy, device)
    places = np.argwhere(np.ones_like(occupied))
    for found, goals in ((vacancy, occupied == 1), (solidity, occupied == 0)):
        steps = np.abs(places[:, None] - np.argwhere(goals)[None]).max(axis=-1).min(axis=1)
        assert np.array_equal(found.numpy().ravel(), steps)
    assert solidity.numpy().max() == 5


def test_surfaces_pass_cells_between_their_lowest_and_highest_value(device: Device) -> None:
    ramp = np.broadcast_to(np.arange(64, dtype=np.float32)[:, None, None], (64, 16, 16))
    vacancy = DenseField(Volume.from_array(ramp), device).empty_distance_to_surfaces([10.5, 33.5]).numpy()
    assert (vacancy == np.array([1, 0, 1, 1, 0, 1, 2, 3])[:, None, None]).all()


def test_visible_bricks_are_sorted_when_asked() -> None:
    wanted = np.zeros((2, 2, 2), np.float32)
    wanted[0, 1, 0], wanted[1, 1, 1] = 2.0, 5.0
    is_full = np.ones((2, 2, 2), bool)
    is_full[0, 1, 0] = False
    seen = VisibleBricks.of_all((60, 60, 60), wanted, is_full)
    assert (seen.total_weight, seen.missing_weight) == (7, 2)
    assert seen.weights.tolist() == [5, 2]
    assert seen.is_full.tolist() == [True, False]
    assert seen.boxes() == [Box((32, 32, 32), (60, 60, 60)), Box((0, 32, 0), (32, 60, 32))]
    assert VisibleBricks.of_all((60, 60, 60), wanted, None).missing_weight == 0
