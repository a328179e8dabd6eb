"""Whether a full turn that is reconstructed as an ordinary scan looks like an offset scan.

Here: offset_warnings(), which compares views with those from behind, about every column.
Not here: finding the axis of an offset scan exactly, and joining its views (offset).
"""

import numpy as np

from pellucid.tomo.geometry.axis import sinogram_of
from pellucid.tomo.geometry.offset import MIN_OVERLAP, difference
from pellucid.tomo.geometry.opposite_views import OppositeViews
from pellucid.tomo.geometry.sample_rows import SampleRows
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Floats, Scan

MAX_COLUMNS, MAX_PAIRS = 256, 60
"""That are compared: neighbouring columns are averaged, and pairs of views left out."""
BORDER = 0.25
"""Of the width: an axis nearer than that to a border is at the border."""
CLEARLY = 0.5
"""Opposite views agree clearly better about another column, where they differ by at most this share."""
NEAR = 0.02
"""Of the width: columns as near as that are the same, for this purpose."""


def offset_warnings(scan: Scan, recipe: Recipe, axis: tuple[float, float]) -> list[str]:
    """A sentence where the axis is at the border, or was found where opposite views do not agree; else none.

    axis: its column in row 0, and how far it moves from one row to the next.
    """
    if recipe.is_offset or not scan.is_full_turn:
        return []
    column = axis[0] + axis[1] * (scan.rows - 1) / 2
    remedy = "If this is an offset scan, use --offset; otherwise set the axis with --center."
    if not BORDER <= column / scan.columns <= 1 - BORDER:
        return [f"The axis is at column {column:.1f} of {scan.columns}, near the border of the detector. {remedy}"]
    other = _better_column(scan, column) if isinstance(recipe.center, str) else None
    if other is None:
        return []
    found = f"The axis was found at column {column:.1f}, but opposite views agree better about column {other:.0f}."
    return [f"{found} {remedy}"]


def _better_column(scan: Scan, column: float) -> float | None:
    """About which opposite views in the strongest row agree far better than about this column, if there is one."""
    factor = -(-scan.columns // MAX_COLUMNS)
    front, mirrored = _opposite(scan, factor)
    columns = front.shape[1]
    totals = np.arange(MIN_OVERLAP - 1, 2 * columns - MIN_OVERLAP)
    if front.shape[0] < 2 or not len(totals):
        return None
    differences = np.array([difference(front, mirrored, int(total)) for total in totals])
    axes = totals / 2 * factor + (factor - 1) / 2
    best, is_near = int(np.argmin(differences)), np.abs(axes - column) <= max(factor, NEAR * scan.columns)
    if is_near[best] or not is_near.any() or differences[best] > CLEARLY * differences[is_near].min():
        return None
    return float(axes[best])


def _opposite(scan: Scan, factor: int) -> tuple[Floats, Floats]:
    """Some views of that row with that many columns averaged, and mirrored the views from behind."""
    sinogram, pairs = sinogram_of(scan, SampleRows.of(scan).strongest), OppositeViews.of(scan.angles_rad)
    some = slice(None, None, -(-pairs.count // MAX_PAIRS) or 1)
    count = scan.columns // factor
    thin = sinogram[:, : count * factor].reshape(scan.count, count, factor).mean(axis=2, dtype=np.float64)
    before, after = thin[pairs.before[some]], thin[pairs.after[some]]
    return thin[pairs.front[some]], (before + pairs.shares[some, None] * (after - before))[:, ::-1]
