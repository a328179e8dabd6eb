"""The axis is found also where the sample fills only some of the rows; where there is none, that is said."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.device import choose
from pellucid.tomo.geometry.axis import AxisLine, find_axis
from pellucid.tomo.geometry.sample_rows import SampleRows
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.pipeline.planning import axis_warnings, plan_slabs
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Frames, Scan
from tests.tomo.analytic import ellipse_sinogram, even_angles

ROWS, COLUMNS, VIEWS, AXIS = 40, 64, 60, 35.3
ANGLES = even_angles(VIEWS, np.pi)
LENGTHS = sum(
    share * ellipse_sinogram(ANGLES, COLUMNS, AXIS, size, middle)
    for share, size, middle in ((1.0, (22.0, 18.0), (0.0, 1.0)), (2.0, (5.0, 4.0), (9.0, 3.0)))
)


def scan_of(top: int, bottom: int, slope: float = 0.0, seed: int = 0) -> Scan:
    """Only rows from top to bottom hold the sample, which moves to the right by a slope; the others are noise."""
    random = np.random.default_rng(seed)
    lengths = np.zeros((VIEWS, ROWS, COLUMNS))
    for row in range(top, bottom):
        moved = ellipse_sinogram(ANGLES, COLUMNS, AXIS + slope * row, (20.0, 15.0), (3.0, 1.0)) if slope else LENGTHS
        lengths[:, row] = moved
    counts = random.poisson(10_000 * np.exp(-0.02 * lengths)) + 100
    flats = random.poisson(np.full((6, ROWS, COLUMNS), 10_000.0)) + 100
    darks = np.full((2, ROWS, COLUMNS), 100)
    return Scan(
        "some rows",
        "test",
        Frames.from_array(counts.astype(np.uint16)),
        ANGLES,
        Frames.from_array(flats.astype(np.uint16)).untimed(),
        Frames.from_array(darks.astype(np.uint16)).untimed(),
    )


@settings(max_examples=8, deadline=None)
@given(st.integers(0, ROWS - 3), st.integers(3, ROWS), st.integers(0, 9))
def test_the_axis_is_found_whatever_rows_the_sample_fills(top: int, height: int, seed: int) -> None:
    bottom = min(ROWS, top + height)
    scan = scan_of(top, bottom, seed=seed)
    found = SampleRows.of(scan)
    assert found.has_sample and set(found.rows.tolist()) <= set(range(top, bottom))
    plan = plan_slabs(scan, Recipe(), choose("cpu"))
    assert plan.axis[0] == pytest.approx(AXIS, abs=0.25) and plan.axis[1] == 0.0
    assert plan.axis_warnings == ()


def test_a_known_tilt_is_counted_from_the_rows_of_the_sample() -> None:
    found = find_axis(scan_of(30, 40, slope=0.1), slope=0.1)
    assert found.column == pytest.approx(AXIS, abs=0.25) and found.slope == 0.1


def test_a_scan_without_a_sample_is_warned_about() -> None:
    scan = scan_of(0, 0)
    for recipe in (Recipe(), Recipe(tilt=0.0)):
        (warning,) = plan_slabs(scan, recipe, choose("cpu")).axis_warnings
        assert warning.startswith("No row shows a sample that stands out from the noise: the axis at column ")
        assert "--center" in warning
    assert plan_slabs(scan, Recipe(center=30.0), choose("cpu")).axis_warnings == ()


def test_rows_that_disagree_about_the_axis_are_warned_about() -> None:
    scan = scan_of(0, ROWS)
    assert axis_warnings(scan, {5: 35.0, 20: 35.4, 30: 50.0}, AxisLine(35.2), {}) == ()
    (warning,) = axis_warnings(scan, {5: 20.0, 20: 35.4, 30: 50.0}, AxisLine(35.2), {})
    assert warning == (
        "The rows disagree about the axis: row 5 has it at column 20.0 and row 30 at column 50.0; column 35.2 is used. "
        "Check a slice, and pass the column of the axis with --center if it is wrong."
    )


def test_a_slice_of_the_tip_has_its_values() -> None:
    values = reconstruct_array(scan_of(34, ROWS), device="cpu")[37]
    middle = (COLUMNS - 1) / 2
    y, x = np.ogrid[:COLUMNS, :COLUMNS]
    is_inside = ((x - middle) / 22) ** 2 + ((y - middle + 1) / 18) ** 2 < 0.6
    is_core = ((x - middle - 9) / 5) ** 2 + ((y - middle + 3) / 4) ** 2 < 2.5
    assert values[is_inside & ~is_core].mean() == pytest.approx(0.02, rel=0.03)
