"""A neural field on a device has the values of its definition, at points and in bricks of every level."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.box import Shape
from pellucid.device import Device, choose, devices
from pellucid.fields.kinds import FieldRoom, make_field
from pellucid.fields.neural.device_model import DeviceModel, is_supported
from pellucid.fields.neural.neural_bricks import NeuralBrickField, NeuralBricks
from pellucid.formats.neural_field.evaluation import values_at
from pellucid.formats.neural_field.field import NeuralField
from pellucid.formats.neural_field.spline import SplineGrid
from pellucid.volume.volume import Volume, open_volume
from tests.formats.neural_field.sample_fields import decoder, grid, mixed_field, numbers, whole_volume, write_volume

TOLERANCE = {"cpu": 5e-5, "cuda": 0.02}
"""Relative to the largest value: CUDA evaluates in half precision."""


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    if request.param == "cuda" and not any(found.is_cuda for found in devices()):
        pytest.skip("needs a CUDA device")
    return choose(request.param)


def field_of(seed: int, widths: list[int], hidden: int = 64, low: float = 0.0, high: float = 1.0) -> NeuralField:
    """Grids with these numbers of features, of different shapes."""
    random = np.random.default_rng(seed)
    grids = tuple(grid(random, width, *random.integers(2, 9, 3).tolist()) for width in widths)
    return NeuralField("amgsrn", decoder(random, sum(widths), hidden, hidden, 1), grids, value_range=(low, high))


def opened(path: Path, field: NeuralField, shape: Shape, dtype: str = "float32") -> Volume:
    return open_volume(write_volume(path / "field.plf", whole_volume(field, shape, dtype)))


@given(
    seed=st.integers(0, 2**32 - 1),
    widths=st.lists(st.integers(1, 5), min_size=1, max_size=10),
    hidden=st.sampled_from([16, 32, 64]),
    shape=st.tuples(*[st.integers(1, 300)] * 3),
    cells=st.none() | st.tuples(*[st.integers(1, 9)] * 3),
)
def test_values_at_points_are_those_of_the_definition(
    device: Device, seed: int, widths: list[int], hidden: int, shape: Shape, cells: Shape | None
) -> None:
    field = field_of(seed, widths, hidden, -3.0, 5.0)
    if cells is not None:
        spline = SplineGrid(numbers(np.random.default_rng(seed), *(n + 3 for n in cells)))
        field = replace(field, spline=spline)
    assert is_supported(field)
    last = np.array(shape[::-1]) - 1
    voxels = np.random.default_rng(seed).uniform(0, 1, (100, 3)) * last
    points = np.where(last > 0, voxels / np.maximum(last, 1) * 2 - 1, 0).astype(np.float32)
    expected = values_at(field, points)
    found = DeviceModel(field, shape, device).values_at(voxels)
    assert np.abs(found - expected).max() <= TOLERANCE[device.kind] * max(1, np.abs(expected).max())


def test_fields_that_kernels_cannot_evaluate_are_said_to_be_so() -> None:
    assert not is_supported(mixed_field())
    assert not is_supported(field_of(0, [2] * 33))


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [("uint8", 0.0, 255.0), ("int16", -900.0, 3000.0), ("float32", 0, 1)]
)
def test_bricks_of_all_levels_hold_the_decoded_voxels(
    device: Device, tmp_path: Path, dtype: str, low: float, high: float
) -> None:
    field = field_of(3, [2, 2, 1], 32, low, high)
    with opened(tmp_path, field, (70, 65, 100), dtype) as volume:
        source = NeuralBricks(volume, DeviceModel(field, volume.shape, device))
        for level, resolution in enumerate(source.levels[:2]):
            places = np.array(list(np.ndindex(resolution.bricks)))
            filled = source.fill(level, places)
            words = filled.voxels if isinstance(filled.voxels, np.ndarray) else filled.voxels.numpy()
            bricks = words.reshape(len(places), -1).view(dtype).reshape(-1, 36, 36, 36)
            truth = np.pad(volume.at_level(level).read().astype(float), [(2, 40)] * 3, mode="edge")
            for brick, (z, y, x) in zip(bricks, places * 32, strict=True):
                part = truth[z : z + 36, y : y + 36, x : x + 36]
                off = TOLERANCE[device.kind] * (high - low) + (1.0 if dtype != "float32" else 0.0)
                assert np.abs(brick.astype(float) - part).max() <= off


def test_ranges_of_cells_become_known_with_their_bricks(device: Device, tmp_path: Path) -> None:
    field = field_of(5, [2, 2, 2], 32, 0.0, 255.0)
    with opened(tmp_path, field, (40, 64, 70), "uint8") as volume:
        drawn = make_field(volume, FieldRoom(device, 1 << 30))
        assert isinstance(drawn, NeuralBrickField)
        assert drawn.value_range() is None
        drawn.prepare_frame()
        drawn._wanted.fill_(1.0)
        while drawn.load_missing():
            pass
        ranges = drawn.ranges.numpy()
        bricks = drawn._source.fill(0, np.array([(1, 1, 2)]))
        words = bricks.voxels if isinstance(bricks.voxels, np.ndarray) else bricks.voxels.numpy()
        voxels = words.view("uint8").reshape(36, 36, 36)
        # The brick (1, 1, 2) begins at voxel (32, 32, 64): its first cell is cell (4, 4, 8), with one voxel around it.
        part = voxels[1:11, 1:11, 1:11]
        assert ranges[4, 4, 8].tolist() == [part.min(), part.max()]
        low, high = drawn.value_range() or (np.nan, np.nan)
        assert (low, high) == (ranges[..., 0].min(), ranges[..., 1].max())
        drawn.close()
