"""The tilt of the rotation axis against the rows of the detector, from its column in many rows.

Here: fit_line (a robust line with its uncertainty), Tilt, find_line.
Not here: the axis in one row (axis), frames turned upright (offset).
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.tomo.geometry.axis import (
    BEST,
    METHODS,
    AxisChoice,
    AxisLine,
    axis_through,
    by_double_wedge,
    check_method,
    choose_axis,
    default_reach,
    sinograms_of,
)
from pellucid.tomo.geometry.sample_rows import SampleRows
from pellucid.tomo.scan import Floats, Scan

ROWS_TRIED, MIN_ROWS = 12, 8
"""Rows that the axis is looked for in, and the least that say anything about a tilt."""

MIN_TILT_PX, MIN_SIGMAS, MIN_SHARE = 0.5, 5.0, 0.6
"""A tilt is clear from so many pixels on over all rows, so many standard deviations, and this share of the rows that
agree with it, which span as much of the height."""

OUTLIER_SIGMAS, MIN_ERROR_PX = 3.0, 0.05
NEAR_PX = 4.0
"""Columns around the axis of the first rows, within which it is looked for in the others."""


@dataclass(frozen=True)
class LineFit:
    """A line through the axes of some rows. slope_error: a standard deviation. used: whether a row agrees with it."""

    line: AxisLine
    slope_error: float
    used: tuple[bool, ...]


def fit_line(rows: Floats, columns: Floats) -> LineFit:
    """A straight line that a few rows with a wrong axis do not move: these are left out.

    It begins with the median of the slopes between all pairs; rows that are further from it than the scatter of the
    others do not count, and least squares through the rest say how certain the slope is.
    """
    rows, columns = np.asarray(rows, np.float64), np.asarray(columns, np.float64)
    if len(rows) < 3:
        return LineFit(AxisLine(float(np.median(columns))), np.inf, (True,) * len(rows))
    first, second = np.triu_indices(len(rows), 1)
    steepness = np.median((columns[second] - columns[first]) / (rows[second] - rows[first]))
    away = columns - steepness * rows
    away -= np.median(away)
    scatter = max(1.4826 * float(np.median(np.abs(away))), MIN_ERROR_PX)
    used = np.abs(away) <= OUTLIER_SIGMAS * scatter
    middle = rows[used].mean()
    spread = float(((rows[used] - middle) ** 2).sum())
    slope = float((columns[used] * (rows[used] - middle)).sum() / spread)
    start = float(columns[used].mean() - slope * middle)
    left = columns[used] - start - slope * rows[used]
    error = max(float(np.sqrt((left**2).sum() / max(1, used.sum() - 2))), MIN_ERROR_PX)
    return LineFit(AxisLine(start, slope), error / sqrt(spread), tuple(used.tolist()))


@dataclass(frozen=True)
class Tilt:
    """By how much the axis moves from the first row to the last. pixels, uncertainty_px: columns, and a standard
    deviation. rows_used, rows_tried: rows that agree with the line, and all that were looked at. is_corrected: whether
    slices follow it."""

    pixels: float
    uncertainty_px: float
    degrees: float
    rows_used: int
    rows_tried: int
    is_clear: bool
    is_corrected: bool = False

    def sentence(self) -> str:
        """For the report and the command line; empty where nothing speaks for a tilt."""
        size = f"{self.pixels:.2f} ± {self.uncertainty_px:.2f} pixels over the rows ({self.degrees:.3f} degrees)"
        if self.is_corrected:
            unclear = "" if self.is_clear else "; it is not clear from the rows"
            return f"The axis is tilted by {size}, which is corrected{unclear}."
        if abs(self.pixels) < max(MIN_TILT_PX, 3 * self.uncertainty_px):
            return ""
        return f"The axis may be tilted by {size}, which is not corrected: check it with --tilt auto."


@dataclass(frozen=True)
class FoundLine:
    """column: of the axis, where it is the same for all rows. line: of the tilted axis. tilt: None of too few rows.
    columns: what every row says, by its number. choices: of the rows that were looked at thoroughly."""

    column: float
    line: AxisLine
    tilt: Tilt | None
    columns: dict[int, float]
    choices: dict[int, AxisChoice]


def find_line(scan: Scan, method: str = BEST) -> FoundLine:
    """The axis of a scan in many rows across the sample."""
    check_method(method)
    scan = scan.in_angle_order()
    sample = SampleRows.of(scan)
    thorough, has_enough = sample.across(3), len(sample.rows) >= MIN_ROWS
    others = [row for row in sample.across(ROWS_TRIED) if row not in thorough and has_enough]
    sinograms = sinograms_of(scan, [*thorough, *others])
    choices = {row: choose_axis(next(sinograms), scan.angles_rad, method) for row in thorough}
    column = axis_through(choices).column
    found = {row: choice for row, choice in choices.items() if np.isfinite(choice.column)}
    by_row = {row: choice.column for row, choice in found.items()}
    if not has_enough:
        return FoundLine(column, AxisLine(column), None, by_row, choices)
    reach = min(default_reach(scan.columns), NEAR_PX + float(np.ptp(list(by_row.values()))))
    for row, sinogram in zip(others, sinograms, strict=True):
        if (choice := _choose_near(sinogram, scan.angles_rad, method, (column, reach))) is not None:
            found[row] = choice
    by_row = {row: found[row].column for row in sorted(found)}
    fit = fit_line(np.array(list(by_row), np.float64), np.array(list(by_row.values())))
    return FoundLine(column, fit.line, _tilt(scan, found, fit), by_row, choices)


def _tilt(scan: Scan, found: dict[int, AxisChoice], fit: LineFit) -> Tilt:
    """found: the axis in every row, by its number."""
    height = scan.rows - 1
    numbers = sorted(found)
    rows = np.array(numbers, np.float64)
    pixels, uncertainty = fit.line.slope * height, fit.slope_error * height
    used = rows[np.array(fit.used)]
    # What only one way of three finds may come from the sample.
    names = next(iter(found.values())).ways
    ways = [_slope(rows, np.array([found[row].ways[name] for row in numbers])) * height for name in names]
    agreeing = sum(abs(way - pixels) <= MIN_TILT_PX / 2 + 0.25 * abs(pixels) for way in ways)
    is_clear = (
        abs(pixels) >= max(MIN_TILT_PX, MIN_SIGMAS * uncertainty)
        and len(used) >= MIN_SHARE * len(rows)
        and np.ptp(used) >= MIN_SHARE * height
        and 2 * agreeing > len(ways)
    )
    degrees = float(np.degrees(fit.line.roll_rad))
    return Tilt(pixels, uncertainty, degrees, len(used), len(rows), bool(is_clear))


def _slope(rows: Floats, columns: Floats) -> float:
    """Of a line through the rows in which the axis was found."""
    is_found = np.isfinite(columns)
    return fit_line(rows[is_found], columns[is_found]).line.slope if is_found.any() else 0.0


def _choose_near(sinogram: Voxels, angles_rad: Floats, method: str, near: tuple[float, float]) -> AxisChoice | None:
    """The median of the ways that have the axis near that of other rows, or of the one way that is asked for; None
    where none has. near: the axis of other rows, and how far from it this one's may be."""
    names = [name for name in METHODS if name != BEST] if method == BEST else [method]
    ways = {
        name: by_double_wedge(sinogram, angles_rad, *near)
        if name == "double-wedge"
        else METHODS[name](sinogram, angles_rad)
        for name in names
    }
    column, reach = near
    inside = [way for way in ways.values() if abs(way - column) <= reach]
    return AxisChoice(float(np.median(inside)), ways) if inside else None
