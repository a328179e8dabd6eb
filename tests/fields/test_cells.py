"""Value ranges found block by block are those that a device finds."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.box import Box, Shape
from pellucid.device import choose, runtime
from pellucid.fields.cell_ranges import cell_ranges, find_ranges, touched_cells
from pellucid.fields.dense import DenseField
from pellucid.fields.device_field import empty_distance_of
from pellucid.fields.kernels.empty_space import MAX_DISTANCE
from pellucid.fields.sizes import CELL
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.settings import load, use
from pellucid.volume import statistics
from pellucid.volume.closable_reader import ClosableReader
from pellucid.volume.volume import Volume
from tests.contracts.lazy_volumes import PlanesReader


def values(dtype: str) -> Voxels:
    found: Voxels = (np.random.default_rng(0).normal(size=(41, 50, 17)) * 30 + 60).astype(dtype)
    return found


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "float16", "float32", "float64"])
@pytest.mark.parametrize("piece_bytes", [1000, 2**25])
def test_ranges_do_not_depend_on_how_they_are_found(
    dtype: str, piece_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "PIECE_BYTES", piece_bytes)
    volume = Volume.from_array(values(dtype))
    assert np.array_equal(cell_ranges(volume), DenseField(volume, choose("cpu")).ranges.numpy())


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_cells_know_the_range_of_all_voxels(dtype: str) -> None:
    voxels = values(dtype)
    field = DenseField(Volume.from_array(voxels), choose("cpu"))
    assert field.value_range() == (voxels.min(), voxels.max())


@pytest.mark.parametrize(
    ("dtype", "odd"), [("float32", np.nan), ("float32", np.inf), ("float32", -np.inf), ("int32", 7)]
)
def test_cells_say_where_they_do_not_know_it(dtype: str, odd: float) -> None:
    voxels = values(dtype)
    voxels[3, 4, 5] = odd
    assert DenseField(Volume.from_array(voxels), choose("cpu")).value_range() is None


@pytest.mark.parametrize("width", [1, 7, 8, 9, 1023, 1024, 1025, 1030])
def test_rows_of_any_length_have_the_ranges_of_their_cells(width: int) -> None:
    voxels = np.random.default_rng(width).integers(0, 256, (9, 10, width)).astype(np.uint8)
    volume = Volume.from_array(voxels)
    assert np.array_equal(cell_ranges(volume), DenseField(volume, choose("cpu")).ranges.numpy())


def test_a_voxel_without_a_value_is_the_lowest() -> None:
    voxels = np.ones((20, 20, 20), np.float32)
    voxels[4, 4, 4], voxels[12, 12, 12] = np.nan, np.inf
    found = cell_ranges(Volume.from_array(voxels))
    assert found[0, 0, 0, 0] < -1e38
    assert found[0, 0, 0, 1] == 1
    assert found[1, 1, 1].tolist() == [1, np.inf]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_so_it_is_in_memory_also_at_the_corner_of_a_cell(dtype: str) -> None:
    voxels = np.ones((20, 20, 20), dtype)
    voxels[0, 0, 0], voxels[8, 8, 8], voxels[12, 12, 12] = np.nan, np.nan, -np.inf
    volume = Volume.from_array(voxels)
    assert np.array_equal(cell_ranges(volume), DenseField(volume, choose("cpu")).ranges.numpy())


def test_an_array_is_drawn_from_where_it_lies() -> None:
    voxels = values("uint8")
    volume = Volume.from_array(voxels)
    field = DenseField(volume, choose("cpu"))
    assert int(field.struct.whole.voxels) == voxels.ctypes.data
    voxels[0, 0, 0] = 255
    volume.changed(Box((0, 0, 0), (1, 1, 1)))
    field.prepare_frame()
    assert field.ranges.numpy()[0, 0, 0, 1] == 255


def test_a_voxel_at_a_border_touches_both_cells() -> None:
    assert touched_cells(Box((8, 3, 3), (9, 4, 4)), (40, 40, 40)) == Box((0, 0, 0), (2, 1, 1))
    assert touched_cells(Box((39, 0, 3), (40, 40, 4)), (40, 40, 40)) == Box((4, 0, 0), (5, 5, 1))


@pytest.mark.parametrize("shape", [(6, 7, 300), (1, 40, 3), (20, 5, 1)])
def test_vacancy_is_the_distance_to_the_nearest_visible_cell(shape: tuple[int, int, int]) -> None:
    occupied = (np.random.default_rng(2).random(shape) < 0.02).astype(np.uint8)
    occupied[0, 0, 0] = 1
    visible, cells = np.argwhere(occupied), np.indices(shape).reshape(3, -1).T
    distance = np.abs(cells[:, None] - visible[None]).max(axis=2).min(axis=1).clip(0, MAX_DISTANCE).reshape(shape)
    warp, device = runtime.start(), choose("cpu")
    found = empty_distance_of(warp.array(occupied, device=device.name), device).numpy()
    assert np.array_equal(found, distance)


@settings(max_examples=40)
@given(st.tuples(*[st.integers(1, 40)] * 3), st.sampled_from(["uint8", "int16", "float32"]), st.integers(1, 8))
def test_parts_of_planes_have_the_ranges_of_whole_ones(shape: Shape, dtype: str, threads: int) -> None:
    """Against the definition: all voxels of a cell, and one around them."""
    voxels = (np.random.default_rng(sum(shape)).normal(size=shape) * 30 + 60).astype(dtype)
    planes = PlanesReader(voxels)
    with use(replace(load(), memory_bytes=1000 * threads, threads=threads)), patch.object(statistics, "PIECE_BYTES", 1):
        found = find_ranges(Volume(ClosableReader(planes), Location("memory:planes")), Box.whole(shape))
    for cell in np.ndindex(*found.shape[:3]):
        inside = voxels[tuple(slice(max(0, i * CELL - 1), i * CELL + CELL + 1) for i in cell)]
        assert found[cell].tolist() == [np.float32(inside.min()), np.float32(inside.max())]
    assert planes.largest_read <= (CELL + 2) ** 3
