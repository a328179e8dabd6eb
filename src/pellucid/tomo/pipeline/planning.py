"""Planning a reconstruction before slabs are made: the axis, and what is prepared.

Here: ScanPlan: what is prepared, and how slabs are made of it, for volumes, previews and arrays alike; axis_warnings.
Not here: ways to find an axis (axis, tilt, offset), making slabs (slabs).
"""

from dataclasses import dataclass, replace

import numpy as np

from pellucid.device import Device
from pellucid.errors import InvalidInput
from pellucid.tomo.correction.preparation import Preparation
from pellucid.tomo.geometry.axis import BEST, AxisChoice, AxisLine, axis_through, choose_in_rows, sinogram_of
from pellucid.tomo.geometry.offset import OffsetAxis, find_offset_axis
from pellucid.tomo.geometry.sample_rows import SampleRows
from pellucid.tomo.geometry.tilt import MIN_ROWS, FoundLine, find_line
from pellucid.tomo.pipeline.slabs import SlabPlan
from pellucid.tomo.recipe import AUTOMATIC, WHEN_CLEAR, Recipe
from pellucid.tomo.scan import Scan

AUTOMATIC_AXIS = BEST
AGREEING_PX, AGREEING_SHARE = 2.0, 0.01
"""Columns, and share of the columns, by which a row may differ from the axis and still agree with it."""


@dataclass(frozen=True)
class ScanPlan:
    """How slices are made of a scan. detector: the plan in rows and columns of the detector. preparation: what whole
    projections go through first, if anything. slabs: the plan for what is prepared; without a preparation, detector.
    scale: from attenuation per pixel to attenuation per cm; 1 where the size of a pixel is unknown.
    """

    detector: SlabPlan
    preparation: Preparation | None
    slabs: SlabPlan
    scale: float

    @classmethod
    def of(cls, scan: Scan, detector: SlabPlan) -> "ScanPlan":
        preparation = _plan_preparation(detector)
        if preparation is None:
            return cls(detector, None, detector, scan.per_pixel)
        scale = scan.per_pixel / (preparation.binning if scan.pixel_size_um else 1)
        return cls(detector, preparation, _plan_prepared(scan, detector, preparation), scale)


def plan_scan(scan: Scan, recipe: Recipe, device: Device) -> ScanPlan:
    """The plan for all slices of a scan; the axis is looked for where the recipe does not give it."""
    return ScanPlan.of(scan, plan_slabs(scan, recipe, device))


def plan_slabs(scan: Scan, recipe: Recipe, device: Device) -> SlabPlan:
    """The plan in rows and columns of the detector."""
    scan.check_turn()
    _check_center(scan, recipe.center)
    if not recipe.is_offset:
        axis, found = _axis(scan, recipe)
        is_known = not isinstance(recipe.center, str) or (recipe.center == AUTOMATIC and scan.axis_column is not None)
        columns, choices = ({}, {}) if found is None else (found.columns, found.choices)
        warnings = () if is_known and found is None else axis_warnings(scan, columns, AxisLine(*axis), choices)
        warnings += _tilt_warnings(recipe, found)
        return SlabPlan(recipe, axis, device, tilt=None if found is None else found.tilt, axis_warnings=warnings)
    offset = _offset(scan, recipe)
    return SlabPlan(recipe, (offset.column, 0.0), device, offset)


def _plan_preparation(plan: SlabPlan) -> Preparation | None:
    """What whole projections have to go through before slabs are made, where there is any such thing."""
    recipe = plan.recipe
    roll_rad = float(np.arctan(plan.axis[1])) if recipe.roll_deg else 0.0
    request = Preparation(plan.offset, roll_rad, recipe.binning, recipe.phase)
    return request if request.is_needed else None


def _plan_prepared(scan: Scan, plan: SlabPlan, request: Preparation) -> SlabPlan:
    """The plan for slabs of prepared projections: views are joined and upright, and pixels are larger."""
    column, slope = plan.axis
    if request.offset is not None:
        column = request.offset.joined_axis
    if request.roll_rad:
        center = (scan.columns - 1) / 2
        away = column + slope * (scan.rows - 1) / 2 - center
        column, slope = center + away * float(np.cos(request.roll_rad)), 0.0
    at_first_row = column + slope * request.unbinned(0)
    return replace(plan, axis=(request.binned(at_first_row), slope), offset=None)


def _check_center(scan: Scan, center: float | str) -> None:
    if not isinstance(center, str) and not 0 <= center <= scan.columns - 1:
        raise InvalidInput(
            f"Invalid axis: column {center:g} of {scan.columns}.",
            remedy=f"Use a column from 0 to {scan.columns - 1}.",
        )


def axis_warnings(
    scan: Scan, columns: dict[int, float], axis: AxisLine, choices: dict[int, AxisChoice]
) -> tuple[str, ...]:
    """A sentence where the scan shows no sample, where most rows disagree with the axis that is used, or where the ways
    to find it disagree and none is clearly right.

    columns: where some rows have the axis. choices: how it was chosen in some.
    """
    remedy = "Check a slice, and pass the column of the axis with --center if it is wrong."
    used = float(axis.at(np.array((scan.rows - 1) / 2)))
    if not SampleRows.of(scan.in_angle_order()).has_sample:
        return (
            f"No row shows a sample that stands out from the noise: the axis at column {used:.1f} is a guess. {remedy}",
        )
    if sentence := _rows_disagreeing(scan, columns, axis):
        return (f"{sentence}; column {used:.1f} is used. {remedy}",)
    unclear = [row for row, choice in choices.items() if not choice.is_clear]
    if 2 * len(unclear) <= len(choices):
        return ()
    ways = choices[unclear[0]].sentence
    return (f"The ways to find the axis disagree in row {unclear[0]}: {ways}; column {used:.1f} is used. {remedy}",)


def _rows_disagreeing(scan: Scan, columns: dict[int, float], axis: AxisLine) -> str:
    """How most rows disagree with the axis that is used; empty where they agree. columns: the axis of every row."""
    rows, found = np.array(list(columns)), np.array(list(columns.values()))
    if not columns or np.mean(np.abs(found - axis.at(rows)) <= max(AGREEING_PX, AGREEING_SHARE * scan.columns)) > 0.5:
        return ""
    low, high = int(np.argmin(found)), int(np.argmax(found))
    return (
        f"The rows disagree about the axis: row {rows[low]} has it at column {found[low]:.1f} and row {rows[high]} at "
        f"column {found[high]:.1f}"
    )


def _axis(scan: Scan, recipe: Recipe) -> tuple[tuple[float, float], FoundLine | None]:
    """The column of the axis in row 0, and how far it moves from one row to the next; how it was found, if it was
    looked for."""
    middle = (scan.rows - 1) / 2
    way = AUTOMATIC_AXIS if recipe.center == AUTOMATIC else recipe.center
    is_known = recipe.center == AUTOMATIC and scan.axis_column is not None
    if isinstance(way, str) and recipe.is_slope_sought and not (is_known and recipe.tilt == WHEN_CLEAR):
        return _found_line(scan, recipe, way)
    tilt = 0.0 if isinstance(recipe.tilt, str) else recipe.tilt
    slope = tilt + float(np.tan(np.deg2rad(float(recipe.roll_deg))))
    column = scan.axis_column if is_known and scan.axis_column is not None else way
    if isinstance(column, str):
        choices = choose_in_rows(scan, column)
        line = axis_through(choices, slope)
        columns = {row: choice.column for row, choice in choices.items() if np.isfinite(choice.column)}
        return (line.column, line.slope), FoundLine(line.column, line, None, columns, choices)
    return (column - slope * middle, slope), None


def _found_line(scan: Scan, recipe: Recipe, way: str) -> tuple[tuple[float, float], FoundLine]:
    """The tilted line where that is asked for, or where the tilt is clear."""
    found = find_line(scan, way)
    is_requested = AUTOMATIC in (recipe.tilt, recipe.roll_deg)
    if found.tilt is None or not (is_requested or found.tilt.is_clear):
        return (found.column, 0.0), found
    corrected = replace(found, tilt=replace(found.tilt, is_corrected=True))
    return (found.line.column, found.line.slope), corrected


def _tilt_warnings(recipe: Recipe, found: FoundLine | None) -> tuple[str, ...]:
    """A sentence where the tilt is to be measured and the rows are too few."""
    if AUTOMATIC not in (recipe.tilt, recipe.roll_deg) or found is None or found.tilt is not None:
        return ()
    return (
        f"The tilt of the axis was not measured: fewer than {MIN_ROWS} rows show the sample. Pass it as a number if it "
        "is known.",
    )


def _offset(scan: Scan, recipe: Recipe) -> OffsetAxis:
    if not scan.is_full_turn:
        raise InvalidInput(
            f"{scan.name} covers {np.degrees(scan.span_rad):.0f} degrees, but an offset scan needs a full turn.",
            remedy="Leave --offset out, or check the angles.",
        )
    if not isinstance(recipe.center, str):
        return OffsetAxis(2 * recipe.center, scan.columns)
    return find_offset_axis(sinogram_of(scan, SampleRows.of(scan).strongest), scan.angles_rad)
