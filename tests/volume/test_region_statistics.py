"""Statistics in boxes and spheres, as NumPy and scipy.ndimage define them, whatever the pieces."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from pellucid.box import Box
from pellucid.errors import Cancelled
from pellucid.formats.protocol import Voxels
from pellucid.volume import region_statistics
from pellucid.volume.region_statistics import EllipsoidRegion, box_between, histogram_bins, measure_region
from pellucid.volume.volume import Volume


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(region_statistics, "PIECE", (3, 4, 5))


def compare(found: region_statistics.RegionStatistics, voxels: Voxels, mask: Voxels) -> None:
    inside = (mask & np.isfinite(voxels)).astype(int)
    assert found.voxels == inside.sum()
    if not found.voxels:
        assert np.isnan(found.mean) and found.counts.sum() == 0
        return
    values = voxels.astype(float)
    assert found.mean == pytest.approx(ndimage.mean(values, inside, 1))
    assert found.sigma == pytest.approx(ndimage.standard_deviation(values, inside, 1), abs=1e-9)
    assert (found.low, found.high) == (ndimage.minimum(values, inside, 1), ndimage.maximum(values, inside, 1))
    bins, ends = histogram_bins(found.low, found.high, is_whole=voxels.dtype.kind in "iu")
    assert bins <= region_statistics.BINS
    assert found.counts.tolist() == ndimage.histogram(values, *ends, bins, inside, 1).tolist()


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_a_box_is_measured_as_scipy_does(dtype: str) -> None:
    voxels = np.random.default_rng(1).normal(60, 20, (8, 9, 11)).clip(0, 120).astype(dtype)
    box = Box((1, 2, 0), (7, 9, 10))
    mask = np.zeros(voxels.shape, bool)
    mask[box.slices] = True
    compare(measure_region(Volume.from_array(voxels), box), voxels, mask)


@settings(max_examples=25, deadline=None)
@given(
    center=st.tuples(*[st.floats(-2, 14)] * 3),
    radius=st.floats(0.1, 9),
    spacing=st.tuples(*[st.sampled_from([0.5, 1.0, 2.5])] * 3),
    turn_deg=st.floats(-90, 90),
)
def test_a_sphere_has_the_voxels_that_are_near_its_centre(
    center: tuple[float, float, float], radius: float, spacing: tuple[float, float, float], turn_deg: float
) -> None:
    voxels = np.random.default_rng(2).integers(0, 500, (7, 6, 8)).astype(np.uint16)
    turn = np.array([[np.cos(turn_deg), -np.sin(turn_deg), 0], [np.sin(turn_deg), np.cos(turn_deg), 0], [0, 0, 1]])
    to_world = turn @ np.diag(spacing)
    sphere = EllipsoidRegion(to_world, np.array(center), radius)
    z, y, x = np.indices(voxels.shape)
    places = np.stack([x, y, z], axis=-1) @ to_world.T
    distances = np.linalg.norm(places - np.array(center), axis=-1)
    box = box_between(*sphere.bounds(), Box.whole(voxels.shape))
    found = measure_region(Volume.from_array(voxels), box, sphere)
    if np.abs(distances - radius).min() > 1e-6:  # Rounding may decide about a voxel on the sphere itself.
        compare(found, voxels, distances <= radius)


def test_voxels_without_a_value_are_left_out() -> None:
    voxels = np.array([[[1.0, np.nan, np.inf, 3.0]]])
    compare(measure_region(Volume.from_array(voxels), Box.whole(voxels.shape)), voxels, np.ones(voxels.shape, bool))


def test_a_region_beside_the_volume_is_empty() -> None:
    whole = Box.whole((4, 4, 4))
    box = box_between(np.array([9.0, 0, 0]), np.array([12.0, 3, 3]), whole)
    assert box.is_empty
    assert measure_region(Volume.from_array(np.zeros((4, 4, 4))), box).voxels == 0


def test_measuring_stops_when_it_is_cancelled() -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        measure_region(Volume.from_array(np.zeros((2, 2, 2))), Box.whole((2, 2, 2)), cancel=cancel)
