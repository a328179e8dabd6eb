"""The axis is found by every method in simulated scans, and where algotom finds it in real ones."""

from contextlib import closing

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.device import Device, choose, primitives
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.geometry.axis import METHODS, AxisLine, by_double_wedge, find_axis
from pellucid.tomo.geometry.offset import OffsetAxis, correct_roll, find_offset_axis, join_opposite_views
from pellucid.tomo.geometry.opposite_views import OppositeViews
from pellucid.tomo.methods.direct import ParallelGeometry, back_project
from pellucid.tomo.methods.filters import filter_sinograms
from pellucid.tomo.pipeline.planning import plan_slabs
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.tomo.simulation.detector import Detector, Faults, integrals, simulate
from pellucid.tomo.simulation.phantoms import disc, discs, foam
from tests.shared_data import shared


def rms(values: Voxels) -> float:
    return float(np.sqrt(np.mean(values**2)))


ANGLES = np.arange(181) * np.pi / 180
SAMPLE = foam(45, 40)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axis", [63.5, 58.3, 70.75])
def test_the_axis_is_found_within_a_quarter_of_a_column(method: str, axis: float) -> None:
    scan = simulate(SAMPLE, Detector(3, 128, axis_column=axis), ANGLES, Faults(is_noisy=True, rings=3))
    assert find_axis(scan, method).column == pytest.approx(axis, abs=0.25)


def test_a_wide_sinogram_is_thinned_and_the_axis_still_exact() -> None:
    detector, angles = Detector(1, 2100, axis_column=1061.5), np.arange(360) * np.pi / 360
    sinogram = integrals(foam(800, 60), detector, angles)[:, 0].astype(np.float32)
    assert by_double_wedge(sinogram, angles) == pytest.approx(1061.5, abs=0.25)


@pytest.mark.parametrize(("name", "row", "theirs"), [("ct/tooth.h5", 0, 295.0), ("ct/savu_tiff", 67, 85.5)])
def test_where_algotom_finds_it(name: str, row: int, theirs: float) -> None:
    with closing(open_scan(shared(name))) as scan:
        found = find_axis(scan, "double-wedge", [row])
    assert found.column == pytest.approx(theirs, abs=0.25)


@pytest.mark.parametrize(("name", "row", "least_negative"), [("ct/tooth.h5", 0, 295.75), ("ct/savu_tiff", 67, 86.0)])
def test_the_median_is_where_a_slice_has_least_below_zero(name: str, row: int, least_negative: float) -> None:
    with closing(open_scan(shared(name))) as scan:
        assert find_axis(scan, rows=[row]).column == pytest.approx(least_negative, abs=0.3)


def test_a_scan_that_ends_a_step_early_has_the_same_axis() -> None:
    """Seven degrees short of the opposite view, as few views leave it."""
    scan = simulate(SAMPLE, Detector(1, 128, axis_column=61.0), np.arange(26) * np.pi / 26)
    assert find_axis(scan, "correlation").column == pytest.approx(61, abs=0.5)


@pytest.mark.parametrize("axis", [110.0, 113.5, 17.5, 14.0])
def test_an_offset_scan_becomes_half_a_turn_of_wide_views(axis: float, device: Device) -> None:
    """The joined views are those of a detector nearly twice as wide."""
    sample, turn = foam(100, 60), np.arange(360) * np.pi / 180
    narrow = integrals(sample, Detector(2, 128, axis_column=axis), turn).transpose(1, 0, 2).astype(np.float32)
    found = find_offset_axis(narrow[0], turn)
    assert found.column == axis
    room = primitives(device)
    joined = room.to_host(join_opposite_views(room.to_device(narrow), found, OppositeViews.of(turn), device))
    wide = Detector(2, found.joined_columns, axis_column=found.joined_axis)
    np.testing.assert_allclose(joined, integrals(sample, wide, turn[:180]).transpose(1, 0, 2), atol=1e-5)


@settings(max_examples=20)
@given(st.floats(98, 118) | st.floats(9, 29))
def test_the_axis_of_an_offset_scan_may_lie_between_columns(axis: float) -> None:
    """Joined views are those of a wide detector about the same axis, and the slice is in its place."""
    blobs = discs([(9, 0.4, 60, 20), (14, 0.2, -30, -50), (6, 0.5, -70, 10), (20, 0.1, 5, 5)])
    turn = np.arange(300) * np.pi / 150
    narrow = integrals(blobs, Detector(1, 128, axis_column=axis), turn).transpose(1, 0, 2).astype(np.float32)
    found = OffsetAxis(2 * axis, 128)
    joined = join_opposite_views(narrow, found, OppositeViews.of(turn))
    wide = Detector(1, found.joined_columns, axis_column=found.joined_axis)
    wanted = integrals(blobs, wide, turn[:150]).transpose(1, 0, 2).astype(np.float32)
    slices = []
    for sinograms in (joined, wanted):
        filtered = filter_sinograms(sinograms, "hann", padding="none")
        slices.append(back_project(filtered, ParallelGeometry.shared(turn[:150], found.joined_axis, 1))[0])
    assert find_offset_axis(narrow[0], turn).column == pytest.approx(axis, abs=0.08)
    assert rms(joined - wanted) < 0.01 * np.ptp(wanted)
    assert rms(slices[0] - slices[1]) < 0.01 * np.ptp(slices[1])


def test_a_given_center_of_an_offset_scan_is_not_rounded() -> None:
    scan = simulate(foam(40, 20), Detector(2, 64, axis_column=29.25), np.arange(200) * np.pi / 100)
    plan = plan_slabs(scan, Recipe(center=29.25, is_offset=True), choose("cpu"))
    assert plan.axis == (29.25, 0.0) and plan.geometry(scan.angles_rad, (0, 1)).axes[0] % 1 == 0.25


def test_a_turned_detector_is_put_upright(device: Device) -> None:
    room = primitives(device)
    frames = np.random.default_rng(0).normal(size=(2, 33, 48)).astype(np.float32)
    frames = scipy.ndimage.gaussian_filter(frames, (0, 3, 3))
    roll = 0.03
    found = room.to_host(correct_roll(room.to_device(frames), roll, device))
    matrix = np.array([[np.cos(roll), -np.sin(roll)], [np.sin(roll), np.cos(roll)]])
    middle = (np.array(frames.shape[1:]) - 1) / 2
    for one, wanted in zip(found, frames, strict=True):
        turned = scipy.ndimage.affine_transform(wanted, matrix, middle - matrix @ middle, order=1, mode="nearest")
        np.testing.assert_allclose(one, turned, atol=1e-5)


def test_an_axis_that_leans_stands_upright_after_turning() -> None:
    detector = Detector(65, 65, tilt=0.1)
    frame = integrals(disc(10), detector, np.zeros(1)).astype(np.float32)
    upright = correct_roll(frame, AxisLine(32.0, 0.1).roll_rad)[0]

    def centres(rows: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> list[float]:
        return [float((row * np.arange(65)).sum() / row.sum()) for row in (rows[20], rows[44])]

    leaning, standing = np.ptp(centres(frame[0])), np.ptp(centres(upright))
    assert leaning == pytest.approx(2.4, abs=0.3) and standing < 0.3


def test_what_cannot_be_found_is_said() -> None:
    with pytest.raises(InvalidInput, match="too small to find the axis"):
        by_double_wedge(np.zeros((4, 20), np.float32), np.arange(4.0))
    with pytest.raises(InvalidInput, match="too small to find the overlap"):
        find_offset_axis(np.zeros((10, 8)), np.arange(10) * np.pi / 5)
    with pytest.raises(InvalidInput, match="do not fit an axis of 9 columns"):
        join_opposite_views(
            np.zeros((1, 4, 8), np.float32), OffsetAxis(4, 9), OppositeViews.of(np.arange(4) * np.pi / 2)
        )
    scan = simulate(SAMPLE, Detector(1, 64), ANGLES)
    with pytest.raises(InvalidInput, match="Unknown axis search 'magic'"):
        find_axis(scan, "magic")
