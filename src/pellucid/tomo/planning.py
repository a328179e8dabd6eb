"""What has to be known of a scan before slabs of it are made: where the axis is, and what is prepared.

Here: plan_slabs, plan_preparation, and the plan for the slabs of what was prepared.
Not here: ways to find an axis (axis, offset_scans), making slabs (slabs).
"""

from dataclasses import replace

import numpy as np

from pellucid.device import Device, choose
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo import axis
from pellucid.tomo.correction import Calibration, attenuate
from pellucid.tomo.offset_scans import OffsetAxis, find_offset_axis
from pellucid.tomo.preparation import Preparation
from pellucid.tomo.recipe import AUTOMATIC, Recipe
from pellucid.tomo.scan import Scan
from pellucid.tomo.slabs import SlabPlan

AUTOMATIC_AXIS = "median"


def plan_slabs(scan: Scan, recipe: Recipe, device: Device) -> SlabPlan:
    """The plan for all slabs of a scan; the axis is looked for where the recipe does not give it."""
    if not recipe.is_offset:
        return SlabPlan(recipe, _axis(scan, recipe), device)
    offset = _offset(scan, recipe)
    return SlabPlan(recipe, (offset.column, 0.0), device, offset)


def plan_preparation(plan: SlabPlan) -> Preparation | None:
    """What whole projections have to go through before slabs are made, where there is any such thing."""
    recipe = plan.recipe
    roll_rad = float(np.arctan(plan.axis[1])) if recipe.roll_deg else 0.0
    wish = Preparation(plan.offset, roll_rad, recipe.binning, recipe.phase)
    return wish if wish.is_needed else None


def plan_prepared(scan: Scan, plan: SlabPlan, wish: Preparation) -> SlabPlan:
    """The plan for slabs of prepared projections: views are joined and upright, and pixels are larger."""
    column, slope = plan.axis
    if wish.offset is not None:
        column = wish.offset.joined_axis
    if wish.roll_rad:
        center = (scan.columns - 1) / 2
        away = column + slope * (scan.rows - 1) / 2 - center
        column, slope = center + away * float(np.cos(wish.roll_rad)), 0.0
    at_first_row = column + slope * wish.unbinned(0)
    return replace(plan, axis=(wish.binned(at_first_row), slope), offset=None)


def _axis(scan: Scan, recipe: Recipe) -> tuple[float, float]:
    """The column of the axis in row 0, and how far it moves from one row to the next."""
    middle = (scan.rows - 1) / 2
    if isinstance(recipe.tilt, str) or isinstance(recipe.roll_deg, str):
        line = _found(scan, recipe, is_tilted=True)
        return line.column, line.slope
    slope = recipe.tilt + float(np.tan(np.deg2rad(recipe.roll_deg)))
    if not isinstance(recipe.center, str):
        column = recipe.center
    elif recipe.center == AUTOMATIC and scan.axis_column is not None:
        column = scan.axis_column
    else:
        column = _found(scan, recipe).column
    return column - slope * middle, slope


def _found(scan: Scan, recipe: Recipe, *, is_tilted: bool = False) -> axis.AxisLine:
    if recipe.center == AUTOMATIC:
        return axis.find_axis(scan, is_tilted=is_tilted)
    return axis.find_axis(scan, str(recipe.center), is_tilted=is_tilted)


def _offset(scan: Scan, recipe: Recipe) -> OffsetAxis:
    if not scan.is_full_turn:
        raise InvalidInput(
            f"{scan.name} turned by {np.degrees(scan.span_rad):.0f} degrees, and an offset scan takes a full turn.",
            do="Leave --offset out, or check the angles.",
        )
    if not isinstance(recipe.center, str):
        return OffsetAxis(2 * recipe.center, scan.columns)
    return find_offset_axis(_sinogram(scan, scan.rows // 2), scan.angles_rad)


def _sinogram(scan: Scan, row: int) -> Voxels:
    frames, calibration = scan.projections.read(rows=(row, row + 1)), Calibration.of(scan, (row, row + 1))
    return np.asarray(attenuate(frames, scan.projections.times, calibration, choose("cpu")).sinograms[0])
