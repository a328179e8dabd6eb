"""Levels: shapes and reductions, against plain definitions."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.box import Shape
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import VOXEL_TYPES, Level, Voxels
from pellucid.volume.levels import plan_levels, reduce_voxels

shapes = st.tuples(*[st.integers(1, 7)] * 3)
factors = st.tuples(*[st.sampled_from([1, 2])] * 3)


def windows(voxels: Voxels, by: Shape) -> "list[tuple[tuple[int, ...], Voxels]]":
    counts = [-(-n // f) for n, f in zip(voxels.shape, by, strict=True)]
    return [
        (cell, voxels[tuple(slice(i * f, i * f + f) for i, f in zip(cell, by, strict=True))].ravel())
        for cell in product(*map(range, counts))
    ]


def labels_of(shape: Shape) -> Voxels:
    return np.random.default_rng(0).integers(0, 4, shape, dtype=np.int32)


@given(shapes, factors)
def test_mean_rounds_to_the_nearest(shape: Shape, by: Shape) -> None:
    voxels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    reduced = reduce_voxels(voxels, by, "mean")
    for cell, window in windows(voxels, by):
        assert abs(float(reduced[cell]) - window.mean()) <= 0.5


@given(shapes, factors)
def test_max_is_the_largest(shape: Shape, by: Shape) -> None:
    voxels = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    reduced = reduce_voxels(voxels, by, "max")
    assert all(reduced[cell] == window.max() for cell, window in windows(voxels, by))


@given(shapes, factors)
def test_mode_is_the_most_frequent_and_of_equals_the_smallest(shape: Shape, by: Shape) -> None:
    voxels = labels_of(shape)
    reduced = reduce_voxels(voxels, by, "mode")
    for cell, window in windows(voxels, by):
        values, counts = np.unique(window, return_counts=True)
        assert reduced[cell] == values[counts.argmax()]


@pytest.mark.parametrize("dtype", VOXEL_TYPES)
@pytest.mark.parametrize("how", ["mean", "max", "mode"])
def test_every_type_keeps_its_type_and_its_constants(dtype: str, how: str) -> None:
    top = np.finfo(dtype).max / 16 if "float" in dtype else np.iinfo(dtype).max
    largest = np.full((3, 4, 5), top, dtype)
    reduced = reduce_voxels(largest, (2, 2, 2), how)
    assert reduced.dtype == largest.dtype
    assert (reduced == largest[0, 0, 0]).all()


def test_means_of_64_bit_integers_do_not_overflow() -> None:
    limits = np.iinfo(np.int64)
    low = np.full((2, 2, 2), limits.min)
    assert reduce_voxels(low, (2, 2, 2), "mean").item() == limits.min
    ends = np.array([[[limits.max, limits.max - 4]]])
    assert reduce_voxels(ends, (1, 1, 2), "mean").item() == limits.max - 2


def test_negative_means_are_not_cut_off() -> None:
    assert reduce_voxels(np.array([[[-3, -4]]], np.int8), (1, 1, 2), "mean").item() in (-3, -4)
    assert reduce_voxels(np.full((2, 2, 2), -128, np.int8), (2, 2, 2), "mean").item() == -128


def test_an_unknown_reduction_lists_the_known() -> None:
    with pytest.raises(InvalidInput, match="mean, max, mode"):
        reduce_voxels(np.zeros((2, 2, 2)), (2, 2, 2), "median")


def test_levels_halve_down_to_a_thumbnail() -> None:
    levels = plan_levels(Level((300, 200, 100), (64, 64, 64), (1.0, 1.0, 1.0)))
    assert [level.shape for level in levels] == [(300, 200, 100), (150, 100, 50), (75, 50, 25), (38, 25, 13)]
    assert levels[-1].spacing == (8.0, 8.0, 8.0)


def test_thick_slices_become_cubes_first() -> None:
    levels = plan_levels(Level((50, 400, 400), (64, 64, 64), (4.0, 1.0, 1.0)))
    assert [level.shape for level in levels] == [(50, 400, 400), (50, 200, 200), (50, 100, 100), (25, 50, 50)]


def test_a_count_is_kept_while_there_is_something_to_halve() -> None:
    assert len(plan_levels(Level((100, 100, 100), (64, 64, 64)), 3)) == 3
    assert len(plan_levels(Level((1, 1, 4), (1, 1, 4)), 10)) == 3


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_one_nan_does_not_spread(dtype: str) -> None:
    """Coarse voxels are made from the finite values; they are NaN only where there are none."""
    voxels = np.arange(1, 17, dtype=dtype).reshape(2, 2, 4)
    voxels[0, 0, 0] = np.nan
    mean = (1 + 2 + 5 + 6 + 9 + 10 + 13 + 14 - 1) / 7
    np.testing.assert_allclose(reduce_voxels(voxels, (2, 2, 2), "mean").ravel(), [mean, 9.5], rtol=1e-3)
    assert reduce_voxels(voxels, (2, 2, 2), "max").ravel().tolist() == [14, 16]
    voxels[0, 1, 1] = np.inf
    mean = (mean * 7 - 6) / 6
    np.testing.assert_allclose(reduce_voxels(voxels, (2, 2, 2), "mean").ravel(), [mean, 9.5], rtol=1e-3)
    voxels[..., :2] = np.nan
    np.testing.assert_array_equal(reduce_voxels(voxels, (2, 2, 2), "mean").ravel(), [np.nan, 9.5])
    np.testing.assert_array_equal(reduce_voxels(voxels, (2, 2, 2), "max").ravel(), [np.nan, 16])
