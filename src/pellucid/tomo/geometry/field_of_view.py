"""Whether a sample is wider than the field of view.

Here: width_warnings(), which looks at the borders of a few rows and views.
Not here: continuing rows that are cut off (filters), scans with the axis at the border (offset, offset_check).
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from pellucid.device import choose
from pellucid.tomo.correction.flat_field import Calibration, attenuate
from pellucid.tomo.geometry.sample_rows import SampleRows
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.reference.projection import circle_radius
from pellucid.tomo.scan import Floats, Scan

SAMPLED_VIEWS, SAMPLED_ROWS = 120, 3
BORDER_SHARE, MIN_BORDER = 0.02, 3
"""Columns at each border that are averaged: a share of all, and so many at least."""
MIN_LEVEL, MIN_RISE, SURE_LEVEL = 0.2, 0.05, 0.5
"""Of what the sample attenuates at most in a view: a border with less is air; from there on it is the sample
where the row rises by so much beside it, because a beam that has become weaker looks like a level background; with more
it always is."""
MIN_DEVIATIONS, MIN_RISE_DEVIATIONS = 6.0, 3.0
"""Standard deviations of the noise of a border: with less it is air, or does not rise."""
MIN_VIEWS = 0.05
"""Of the views: where fewer are cut off, it is not mentioned."""
NOISE_OF_DIFFERENCES = sqrt(np.pi) / 2


@dataclass(frozen=True)
class BorderShares:
    """Of the views, how many are cut off at the left and at the right border of the detector."""

    left: float
    right: float

    @property
    def sides(self) -> list[str]:
        return [name for name, share in (("left", self.left), ("right", self.right)) if share >= MIN_VIEWS]


def width_warnings(scan: Scan, recipe: Recipe, axis: tuple[float, float], rows: tuple[int, int]) -> list[str]:
    """A sentence where the sample reaches beyond the detector, with how to see more of it; else none.

    axis: its column in row 0, and how far it moves from one row to the next. rows: that are reconstructed.
    """
    found = border_shares(scan, rows)
    column = axis[0] + axis[1] * (scan.rows - 1) / 2
    near = "left" if column < (scan.columns - 1) / 2 else "right"
    sides = [side for side in found.sides if not (recipe.is_offset and side == near)]
    if not sides:
        return []
    share = 100 * max(found.left if "left" in sides else 0.0, found.right if "right" in sides else 0.0)
    borders = f"the {sides[0]} border" if len(sides) == 1 else "both borders"
    text = f"The sample reaches beyond {borders} of the detector in {share:.0f} % of the views"
    if recipe.is_offset:
        return [f"{text}: values near the edge of the slices are wrong. Move the axis nearer to the other border."]
    if not recipe.is_circle:
        return [f"{text}: pixels that not all views see are wrong. Leave out --no-circle to set them to 0."]
    radius = circle_radius(scan.columns, column)
    outside = f"{text}: only the circle of {radius:.0f} pixels around the axis, which all views see, is reconstructed."
    return [f"{outside} {_remedy(scan, sides == [near])}"]


def _remedy(scan: Scan, is_one_sided: bool) -> str:
    if is_one_sided and scan.is_full_turn:
        return "Use --offset to join opposite views and to see all of it."
    if is_one_sided:
        return "Use --no-circle to keep pixels that not all views see too, or scan a full turn and use --offset."
    return "To see more, scan a full turn with the axis near a border of the detector, and use --offset."


def border_shares(scan: Scan, rows: tuple[int, int]) -> BorderShares:
    """Measured in a few views of some rows with a sample; of none where there is no sample."""
    known = SampleRows.of(scan.in_angle_order())
    inside = known.rows[(known.rows >= rows[0]) & (known.rows < rows[1])]
    if not known.has_sample or not len(inside):
        return BorderShares(0.0, 0.0)
    places = np.linspace(0, len(inside) - 1, min(len(inside), SAMPLED_ROWS) + 2).round().astype(int)[1:-1]
    found = [_cut_off(_some_views(scan, row)) for row in inside[np.unique(places)].tolist()]
    left, right = np.max(found, axis=0)
    return BorderShares(float(left), float(right))


def _some_views(scan: Scan, row: int) -> Floats:
    """The attenuation of a row, as (view, column)."""
    views = np.unique(np.linspace(0, scan.count - 1, min(SAMPLED_VIEWS, scan.count)).round().astype(int))
    some, rows = scan.projections.choose(views), (row, row + 1)
    found = attenuate(some.read(rows=rows), some.times, Calibration.of(scan, rows), choose("cpu"))
    return np.asarray(found.sinograms[0][~found.bad[0]], np.float64)


def _cut_off(sinogram: Floats) -> tuple[float, float]:
    """The share of the views that have something other than air at the left and at the right border."""
    if not len(sinogram):
        return 0.0, 0.0
    columns = sinogram.shape[1]
    width = min(columns, max(MIN_BORDER, round(BORDER_SHARE * columns)))
    noise = NOISE_OF_DIFFERENCES * float(np.abs(np.diff(sinogram, axis=1)).mean()) / sqrt(width) if columns > 1 else 0.0
    return _share(sinogram, width, noise), _share(sinogram[:, ::-1], width, noise)


def _share(sinogram: Floats, width: int, noise: float) -> float:
    """Of the views, that have the sample in their first columns."""
    level = np.lib.stride_tricks.sliding_window_view(sinogram, width, axis=1).mean(axis=2).max(axis=1)
    border, beside = sinogram[:, :width].mean(axis=1), sinogram[:, width : 2 * width]
    rise = beside.mean(axis=1) - border if beside.size else np.zeros(len(sinogram))
    is_sample = (border > MIN_LEVEL * level) & (rise > MIN_RISE * level + MIN_RISE_DEVIATIONS * noise)
    is_sample |= border > SURE_LEVEL * level
    return float((is_sample & (border > MIN_DEVIATIONS * noise)).mean())
