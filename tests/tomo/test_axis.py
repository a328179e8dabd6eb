"""The axis is found by every method in simulated scans, and where algotom finds it in real ones."""

from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.device import Device, choose, primitives
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.geometry.axis import (
    METHODS,
    AxisChoice,
    AxisLine,
    axis_through,
    by_correlation,
    by_double_wedge,
    choose_axis,
    choose_in_rows,
    find_axis,
    lowest_inside,
)
from pellucid.tomo.geometry.offset import OffsetAxis, correct_roll, find_offset_axis, join_opposite_views
from pellucid.tomo.geometry.opposite_views import OppositeViews
from pellucid.tomo.geometry.tilt import find_line
from pellucid.tomo.methods.direct import ParallelGeometry, back_project
from pellucid.tomo.methods.filters import filter_sinograms
from pellucid.tomo.pipeline.planning import axis_warnings, plan_slabs
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Floats, Scan
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.tomo.simulation.detector import Detector, Faults, integrals, simulate
from pellucid.tomo.simulation.phantoms import Ellipsoid, Phantom, disc, discs, foam
from tests.shared_data import shared
from tests.tomo.analytic import ellipse_sinogram
from tests.tomo.angle_sets import GOLDEN_DEG


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
def test_the_best_is_where_a_slice_has_least_below_zero(name: str, row: int, least_negative: float) -> None:
    with closing(open_scan(shared(name))) as scan:
        assert find_axis(scan, rows=[row]).column == pytest.approx(least_negative, abs=0.3)


def smooth_sample(seed: int, radius: float) -> Phantom:
    """An ellipse with a few smaller ones or holes inside: nothing that phase correlation could hold on to."""
    random = np.random.default_rng(seed)
    x, y = 0.05 * radius * random.standard_normal(2)
    a, b = random.uniform(0.45, 0.75, 2) * radius
    body = Ellipsoid(random.uniform(0.5, 1.5) / radius, (x, y, 0.0), (a, b, 1e9), random.uniform(0, np.pi))
    parts = []
    for _ in range(random.integers(1, 6)):
        (away, turn), size = random.uniform((0, 0), (0.35 * radius, 2 * np.pi)), random.uniform(0.07, 0.22) * radius
        centre = (away * np.cos(turn), away * np.sin(turn), 0.0)
        parts.append(Ellipsoid(random.uniform(-0.3, 1) / radius, centre, (size, 0.8 * size, 1e9), turn))
    return Phantom((body, *parts))


@settings(max_examples=12, derandomize=True)
@given(
    st.integers(0, 10_000), st.sampled_from([100, 160, 200, 400]), st.floats(-0.25, 0.25), st.booleans(), st.booleans(),
    st.sampled_from(["smooth", "foam"]),
)  # fmt: skip
def test_the_axis_may_be_a_quarter_of_the_width_off_centre(
    seed: int, columns: int, off: float, is_noisy: bool, is_full_turn: bool, kind: str
) -> None:
    """In samples that fit the detector: smooth or detailed, of half turns and full ones."""
    axis = (columns - 1) / 2 + off * columns
    radius = min(axis, columns - 1 - axis) - 1
    sample = smooth_sample(seed, radius) if kind == "smooth" else foam(0.85 * radius, 30, 1 / radius, seed)
    angles = np.arange(240 if is_full_turn else 120) * np.pi / 120
    detector = Detector(1, columns, axis_column=axis, counts=5000 if is_noisy else 50_000)
    scan = simulate(sample, detector, angles, Faults(is_noisy=is_noisy, seed=seed))
    assert find_axis(scan).column == pytest.approx(axis, abs=0.3)


UNEVEN: dict[str, Callable[[Floats], Floats]] = {
    "half of the turn with a seventh of the views": lambda u: np.where(u < 1 / 7, 3.5 * u, (7 * u + 5) / 12),
    "a third of the turn three times as fine": lambda u: np.where(u < 0.6, u / 1.8, (5 * u - 2) / 3),
    "a stage that speeds up": lambda u: (u + u**2) / 2,
    "a stage that slows down and back": lambda u: u + 0.12 * np.sin(2 * np.pi * u),
    "ten degrees with a third of the views": lambda u: np.sort(np.where(u < 2 / 3, 1.5 * u, 0.5 + (u - 5 / 6) / 6)),
}


@pytest.mark.parametrize("sense", [1, -1])
@pytest.mark.parametrize("turn", [np.pi, 2 * np.pi])
@pytest.mark.parametrize("kind", UNEVEN)
def test_views_may_be_closer_together_in_some_parts_of_the_turn(kind: str, turn: float, sense: int) -> None:
    views = 180 * round(turn / np.pi)
    angles = sense * turn * UNEVEN[kind](np.arange(views) / views)
    for seed, axis in ((2, 55.3), (3, 70.0), (7, 66.6)):
        scan = simulate(smooth_sample(seed, 52.0), Detector(1, 128, axis_column=axis), angles)
        row = choose_in_rows(scan, rows=[0])[0]
        assert row.column == pytest.approx(axis, abs=0.3) and row.is_clear
        assert row.ways["double-wedge"] == pytest.approx(axis, abs=0.5)


@settings(max_examples=6, derandomize=True)
@given(st.integers(0, 10_000), st.floats(-0.1, 0.1))
def test_a_sample_that_is_wider_than_the_detector(seed: int, off: float) -> None:
    axis = 99.5 + 200 * off
    angles = np.arange(180) * np.pi / 180
    scan = simulate(foam(150, 80, seed=seed), Detector(1, 200, axis_column=axis), angles)
    assert find_axis(scan).column == pytest.approx(axis, abs=1)


def disc_with_a_hole(axis: float) -> Scan:
    sample = discs([(51.2, 1 / 64, 6.4, 0.0), (12.8, -0.5 / 64, -2.8, 19.0)])
    return simulate(sample, Detector(3, 200, axis_column=axis), np.arange(150) * np.pi / 150)


@pytest.mark.parametrize("axis", [131.35, 71.0, 60.2, 139.8])
def test_a_smooth_disc_off_centre_has_its_axis_and_no_warning(axis: float) -> None:
    scan = disc_with_a_hole(axis)
    plan = plan_slabs(scan, Recipe(tilt=0.0), choose("cpu"))
    assert plan.axis[0] == pytest.approx(axis, abs=0.1) and plan.axis_warnings == ()


@settings(max_examples=30)
@given(st.floats(-1, 1), st.floats(0.1, 3))
def test_the_end_of_a_search_is_no_answer(slope: float, bend: float) -> None:
    places = np.linspace(-5, 5, 21)
    falling = np.exp(-bend * places)
    assert np.isnan(lowest_inside(places, falling)) and np.isnan(lowest_inside(places, falling[::-1]))
    assert lowest_inside(places, bend * (places - slope) ** 2) == pytest.approx(slope)
    valley = bend * (places - slope) ** 2
    valley[-1] = -1.0
    assert lowest_inside(places, valley) == pytest.approx(slope)


def test_a_method_that_finds_nothing_is_an_error() -> None:
    empty = np.zeros((1, 64))
    assert np.isnan(by_correlation(empty, empty))
    with pytest.raises(InvalidInput, match=r"The axis was not found.*end of the search"):
        axis_through({3: AxisChoice(float("nan"), {"correlation": float("nan")})})


def test_ways_that_disagree_without_a_clear_best_are_a_warning() -> None:
    scan = disc_with_a_hole(131.35)
    found = find_line(scan)
    ways = {"correlation": 131.4, "double-wedge": 122.0, "phase-correlation": float("nan")}
    unclear = {row: AxisChoice(131.4, ways, is_clear=row == 0) for row in (0, 1, 2)}
    (warning,) = axis_warnings(scan, found.columns, AxisLine(131.4), unclear)
    assert warning.startswith(
        "The ways to find the axis disagree in row 1: correlation 131.4, double-wedge 122.0; column 131.4 is used."
    )
    assert axis_warnings(scan, found.columns, AxisLine(131.4), found.choices) == ()


def test_a_choice_between_like_slices_is_not_clear() -> None:
    """Noise alone: no column is better than another."""
    noise = np.random.default_rng(0).normal(size=(90, 100)).astype(np.float32)
    assert not choose_axis(noise, np.arange(90) * np.pi / 90).is_clear


@pytest.mark.parametrize("turns, counts", [(1, 500.0), (1, 2_000.0), (2, 500.0), (2, 2_000.0)])
def test_the_axis_of_a_wide_disc_with_few_photons_is_right_or_doubted(turns: int, counts: float) -> None:
    """Noise misleads quick slices of a sample without edges inside by ten columns; the other ways may know better."""
    wide, angles = (
        Phantom((Ellipsoid(1 / 134.6, (0.0, 0.0, 0.0), (67.3, 67.3, 1e6)),)),
        np.arange(225) * turns * np.pi / 225,
    )
    right = 0
    for seed in range(4):
        scan = simulate(wide, Detector(1, 180, 87.77, counts=counts), angles, Faults(is_noisy=True, seed=seed))
        plan = plan_slabs(scan, Recipe(), choose("cpu"))
        is_right = abs(plan.axis[0] - 87.77) < 1.5
        assert is_right or plan.axis_warnings
        right += is_right
    assert right >= {(1, 500.0): 0, (1, 2_000.0): 2, (2, 500.0): 3, (2, 2_000.0): 4}[turns, counts]


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


def smooth_sinogram(seed: int, angles: Floats, axis: float) -> Floats:
    """One ellipse, well inside a detector of 160 columns."""
    random, reach = np.random.default_rng(seed), min(axis, 159 - axis)
    half_axes, middle = reach * random.uniform(0.3, 0.6, 2), reach * random.uniform(-0.35, 0.35, 2)
    return ellipse_sinogram(angles, 160, axis, tuple(half_axes), tuple(middle)) / reach


@pytest.mark.parametrize("views", [90, 110])
@pytest.mark.parametrize("kind", ["end included", "golden"])
def test_the_opposite_view_may_lie_between_two(views: int, kind: str) -> None:
    """Of few views over a full turn, the one nearest to half a turn later is up to 2 degrees beside it."""
    golden = np.sort(np.mod(np.arange(views) * np.radians(GOLDEN_DEG), 2 * np.pi))
    angles = golden if kind == "golden" else np.linspace(0, 2 * np.pi, views)
    for seed in (12, 22):
        axis = 79.5 + np.random.default_rng(seed).uniform(-15, 15)
        sinogram = smooth_sinogram(seed, angles, axis).astype(np.float32)
        assert METHODS["correlation"](sinogram, angles) == pytest.approx(axis, abs=0.05)
        assert choose_axis(sinogram, angles).column == pytest.approx(axis, abs=0.25)
