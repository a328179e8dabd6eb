"""Which voxels a brush touches, by scipy's distances from the line that it was drawn along."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from pellucid.box import Box
from pellucid.errors import Cancelled
from pellucid.volume.brush import BrushPath

SHAPE = (7, 9, 11)
WHOLE = Box.whole(SHAPE)
VOXEL = st.tuples(st.integers(0, 6), st.integers(0, 8), st.integers(0, 10))
SPACING = st.tuples(*[st.sampled_from([0.5, 1.0, 3.0])] * 3)
Triple = tuple[float, float, float]


def touched(path: BrushPath, spacing: Triple) -> "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]":
    """In the whole volume."""
    box, mask = path.box(spacing, WHOLE), np.zeros(SHAPE, bool)
    mask[box.slices] = path.mask(spacing, box)
    return mask


@settings(max_examples=40, deadline=None)
@given(VOXEL, SPACING, st.floats(0.3, 6))
def test_a_ball_has_the_voxels_that_are_near_enough(
    voxel: tuple[int, int, int], spacing: Triple, radius: float
) -> None:
    elsewhere = np.ones(SHAPE, bool)
    elsewhere[voxel] = False
    distance = ndimage.distance_transform_edt(elsewhere, sampling=spacing)
    if np.abs(distance - radius).min() > 1e-6:
        np.testing.assert_array_equal(touched(BrushPath((voxel,), radius), spacing), distance <= radius)


@settings(max_examples=40, deadline=None)
@given(VOXEL, st.sampled_from([0, 1, 2]), SPACING, st.floats(0.3, 6))
def test_a_disc_lies_in_one_slice(voxel: tuple[int, int, int], axis: int, spacing: Triple, radius: float) -> None:
    elsewhere = np.ones(SHAPE, bool)
    elsewhere[voxel] = False
    distance = ndimage.distance_transform_edt(elsewhere, sampling=spacing)
    in_slice = np.indices(SHAPE)[axis] == voxel[axis]
    if np.abs(distance - radius).min() > 1e-6:
        found = touched(BrushPath((voxel,), radius, axis), spacing)
        np.testing.assert_array_equal(found, (distance <= radius) & in_slice)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_disc_between_two_slices_lies_in_the_nearer_one(axis: int) -> None:
    between, nearest = [3.0, 4.0, 5.0], (3.0, 4.0, 5.0)
    between[axis] += 0.3
    expected = touched(BrushPath((nearest,), 2.0, axis), (1.0, 1.0, 1.0))
    assert expected.sum() == 13
    path = BrushPath(((between[0], between[1], between[2]),), 2.0, axis)
    np.testing.assert_array_equal(touched(path, (1.0, 1.0, 1.0)), expected)


def test_a_line_has_no_gaps() -> None:
    path = BrushPath(((3.0, 1.0, 1.0), (3.0, 1.0, 9.0), (3.0, 7.0, 9.0)), 1.0)
    line = np.ones(SHAPE, bool)
    line[3, 1, 1:10] = line[3, 1:8, 9] = False
    expected = ndimage.distance_transform_edt(line) <= 1.0
    np.testing.assert_array_equal(touched(path, (1.0, 1.0, 1.0)), expected)


@pytest.mark.parametrize("axis", [None, 0])
def test_a_stroke_beside_the_volume_touches_nothing(axis: int | None) -> None:
    assert not touched(BrushPath(((-9.0, 4.0, 4.0),), 2.0, axis), (1.0, 1.0, 1.0)).any()


def test_the_work_counts_every_part_of_the_path() -> None:
    path = BrushPath(((0.0, 0.0, 0.0), (0.0, 0.0, 4.0), (0.0, 4.0, 4.0)), 1.0)
    assert path.work((1.0, 1.0, 1.0), path.box((1.0, 1.0, 1.0), WHOLE)) == 2 * 2 * 6 + 2 * 6 * 3


def test_a_path_can_be_cancelled() -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        BrushPath(((3.0, 4.0, 5.0),), 2.0).mask((1.0, 1.0, 1.0), WHOLE, cancel)


def test_a_path_across_tiles_has_no_seams() -> None:
    whole = Box.whole((40, 70, 140))
    elsewhere = np.ones(whole.shape, bool)
    elsewhere[32, 64, 20:128] = False
    path = BrushPath(((32.0, 64.0, 20.0), (32.0, 64.0, 127.0)), 5.0)
    found, box = np.zeros(whole.shape, bool), path.box((1.0, 1.0, 1.0), whole)
    found[box.slices] = path.mask((1.0, 1.0, 1.0), box)
    np.testing.assert_array_equal(found, ndimage.distance_transform_edt(elsewhere) <= 5.0)
