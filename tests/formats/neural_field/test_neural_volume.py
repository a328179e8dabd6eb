"""Volumes of one neural field and of several, box by box and level by level."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.box import Box, Shape
from pellucid.formats.neural_field.evaluation import values_at
from pellucid.formats.neural_field.field import Decoder, FeatureGrid, NeuralField
from pellucid.formats.neural_field.neural_volume import NeuralVolume, PlacedField, level_shapes, to_voxel_type
from tests.formats.neural_field.sample_fields import mixed_field, plain_field, whole_volume

FLOAT = np.dtype(np.float32)


def constant_field(value: float) -> NeuralField:
    features = np.ones((1, 2, 2, 2), np.float32)
    one = FeatureGrid(features, np.eye(3, 4, dtype=np.float32))
    return NeuralField("constant", Decoder((np.array([[value]], np.float32),)), (one,))


def ramp_field(start: int, stop: int) -> NeuralField:
    """Values that are the voxel's position along x, for a box from start to stop."""
    features = np.zeros((1, 2, 2, 2), np.float32)
    features[..., 0], features[..., 1] = start, stop - 1
    one = FeatureGrid(features, np.eye(3, 4, dtype=np.float32))
    return NeuralField("ramp", Decoder((np.ones((1, 1), np.float32),)), (one,))


def in_two(shape: Shape, first: NeuralField, second: NeuralField, overlap: int) -> NeuralVolume:
    """Fields of the lower and the upper half along x."""
    z, y, x = shape
    middle = x // 2
    low = PlacedField(Box((0, 0, 0), (z, y, middle + overlap)), first)
    return NeuralVolume(shape, FLOAT, (low, PlacedField(Box((0, 0, middle), shape), second)))


def test_first_and_last_voxels_are_at_the_ends() -> None:
    shape = (3, 4, 5)
    field = mixed_field()
    corners = np.array([[-1, -1, -1], [1, 1, 1]], np.float32)
    values = whole_volume(field, shape).values(Box.whole(shape))
    np.testing.assert_allclose([values[0, 0, 0], values[-1, -1, -1]], values_at(field, corners), atol=1e-5)


def test_an_axis_of_one_voxel_is_at_the_middle() -> None:
    field = plain_field()
    values = whole_volume(field, (1, 1, 1)).values(Box.whole((1, 1, 1)))
    np.testing.assert_allclose(values[0, 0, 0], values_at(field, np.zeros((1, 3), np.float32))[0], atol=1e-6)


def test_a_box_has_the_values_of_the_whole() -> None:
    shape = (9, 10, 11)
    box = Box((2, 3, 4), (7, 8, 11))
    for volume in (whole_volume(mixed_field(), shape), in_two(shape, mixed_field(1), mixed_field(2), 3)):
        whole = volume.values(Box.whole(shape))
        np.testing.assert_allclose(volume.values(box), whole[box.slices], atol=1e-5)


def test_a_level_has_values_between_voxels() -> None:
    volume = in_two((4, 4, 100), ramp_field(0, 55), ramp_field(50, 100), 5)
    assert level_shapes(volume.shape) == [((4, 4, 100), 1), ((2, 2, 50), 2)]
    values = volume.values(Box.whole((2, 2, 50)), level=1)
    np.testing.assert_allclose(values[0, 0], np.arange(50) * 2 + 0.5, atol=1e-3)


@given(st.integers(0, 6), st.floats(-100, 100, width=32))
@settings(max_examples=30, deadline=None)
def test_equal_fields_blend_to_one(overlap: int, value: float) -> None:
    """At every level: without an overlap, nothing is missing between the boxes."""
    volume = in_two((6, 7, 80), constant_field(value), constant_field(value), overlap)
    for level, (shape, _) in enumerate(level_shapes(volume.shape)):
        np.testing.assert_allclose(volume.values(Box.whole(shape), level), value, rtol=1e-5, atol=1e-30)


@pytest.mark.parametrize("overlap", [2, 8, 20])
def test_values_do_not_jump_where_fields_meet(overlap: int) -> None:
    """From 0 to 1 over the overlap, slowly at its ends."""
    volume = in_two((2, 2, 60), constant_field(0), constant_field(1), overlap)
    row = volume.values(Box.whole(volume.shape))[0, 0].astype(np.float64)
    depth = np.arange(1, overlap + 1) / (overlap + 1)
    np.testing.assert_allclose(row[30 : 30 + overlap], depth**2 * (3 - 2 * depth), rtol=1e-4)
    assert np.diff(row).max() <= 1.5 / (overlap + 1) + 1e-6
    assert set(row[:30]) == {0.0}
    assert set(row[30 + overlap :]) == {1.0}


def test_a_voxel_may_come_from_one_field_alone() -> None:
    """The one that it lies deepest in: the values jump in the middle of the overlap."""
    volume = in_two((2, 2, 60), constant_field(1), constant_field(2), 6)
    row = volume.values(Box.whole(volume.shape), is_blended=False)[0, 0]
    assert row.tolist() == [1.0] * 33 + [2.0] * 27


def test_the_gradient_does_not_jump_where_fields_meet() -> None:
    """From one voxel to the next it changes by at most 6 / n² of the difference between two fields, over n voxels."""
    volume = in_two((2, 2, 60), constant_field(0), constant_field(1), 15)
    changes = {
        is_blended: np.abs(np.diff(volume.values(Box.whole(volume.shape), is_blended=is_blended)[0, 0], 2)).max()
        for is_blended in (True, False)
    }
    assert changes[True] <= 6 / 16**2 + 1e-6
    assert changes[False] == 1


def test_points_have_the_values_of_voxels() -> None:
    shape = (5, 6, 20)
    for volume in (whole_volume(mixed_field(), shape), in_two(shape, mixed_field(1), mixed_field(2), 4)):
        z, y, x = np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij")
        points = np.stack([x, y, z], axis=-1).reshape(-1, 3).astype(np.float32)
        np.testing.assert_allclose(volume.values_at(points).reshape(shape), volume.values(Box.whole(shape)), atol=1e-4)


def test_a_field_may_be_evaluated_in_another_way() -> None:
    volume = in_two((2, 2, 20), plain_field(), plain_field(), 4)
    ones = volume.values(volume.fields[0].box, evaluate=lambda _, axes: np.ones([len(axis) for axis in axes], FLOAT))
    np.testing.assert_allclose(ones, 1.0, rtol=1e-6)


def test_eight_fields_on_a_lattice() -> None:
    shape, fields = (20, 20, 20), []
    for corner in np.ndindex(2, 2, 2):
        start = tuple(8 * n for n in corner)
        box = Box((start[0], start[1], start[2]), (start[0] + 12, start[1] + 12, start[2] + 12))
        fields.append(PlacedField(box, constant_field(float(corner[2]))))
    volume = NeuralVolume(shape, FLOAT, tuple(fields))
    values = volume.values(Box.whole(shape))
    np.testing.assert_allclose(values[3, 17], values[9, 9], atol=1e-6)
    np.testing.assert_allclose(values[5, 5, [0, 7, 8, 11, 12, 19]], [0, 0, 0.104, 0.896, 1, 1], atol=1e-6)


def test_where_no_field_is_values_are_zero() -> None:
    volume = NeuralVolume((4, 4, 8), FLOAT, (PlacedField(Box((0, 0, 0), (4, 4, 4)), constant_field(3.0)),))
    values = volume.values(Box.whole(volume.shape))
    np.testing.assert_allclose(values[2, 2], [3, 3, 3, 3, 0, 0, 0, 0])


def test_integers_are_rounded_and_clipped() -> None:
    values = np.array([-3.0, 0.4, 0.6, 254.5, 300.0, np.nan], np.float32)
    assert to_voxel_type(values, np.dtype(np.uint8)).tolist() == [0, 0, 1, 254, 255, 0]
    assert to_voxel_type(values[:3], np.dtype(np.int16)).tolist() == [-3, 0, 1]
    huge = np.array([-1e30, 1e30], np.float32)
    for kind in (np.int32, np.int64, np.uint64):
        low, high = to_voxel_type(huge, np.dtype(kind)).tolist()
        assert low == np.iinfo(kind).min
        assert high >= np.iinfo(kind).max - 2048
    assert to_voxel_type(values, np.dtype(np.float64)).dtype == np.float64
