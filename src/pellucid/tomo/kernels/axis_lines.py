"""The slice along lines through the axis, in kernels.

Here: sums over the views of every place on every line, on the CPU and on CUDA; lines less their medians.
Not here: which lines, and what is looked for on them (reference.slice_rings).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from functools import cache
from pathlib import Path

import warp as wp

LANES = 16
ROUNDING = wp.constant(wp.float32(1e-3))


@wp.func
def value_between(
    filtered: wp.array3d(dtype=wp.float32), place: wp.int32, view: wp.int32, column: wp.float32
) -> wp.float32:
    """A view at a place between two columns; 0 beyond the detector, the borders of which may be missed by rounding."""
    last = filtered.shape[2] - 1
    if column < -ROUNDING or column > wp.float32(last) + ROUNDING:
        return wp.float32(0.0)
    left = wp.clamp(wp.int32(wp.floor(column)), 0, last - 1)
    share = column - wp.float32(left)
    return (wp.float32(1.0) - share) * filtered[place, view, left] + share * filtered[place, view, left + 1]


@cache
def sum_lines_cpu():
    """Sums for the CPU; a thread is a line. cosines in double precision."""

    numbers = f"constexpr int LANES = {LANES}; constexpr double ROUNDING = {float(ROUNDING)};"
    text = "\n".join(["{", numbers, Path(__file__).with_name("axis_lines.cpp").read_text(), "}"])

    @wp.func_native(text)
    def sum_line(
        filtered: wp.array3d(dtype=wp.float32),
        cosines: wp.array2d(dtype=wp.float64),
        weights: wp.array2d(dtype=wp.float32),
        axis: wp.float64,
        slice: wp.int32,
        line: wp.int32,
        values: wp.array3d(dtype=wp.float32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique")
    def sum_lines(
        first: wp.int32,
        filtered: wp.array3d(dtype=wp.float32),
        axes: wp.array(dtype=wp.float64),
        cosines: wp.array2d(dtype=wp.float64),
        weights: wp.array2d(dtype=wp.float32),
        values: wp.array3d(dtype=wp.float32),
    ):
        line, place = wp.tid()
        sum_line(filtered, cosines, weights, axes[place], place, line + first, values)

    return sum_lines


@wp.kernel(enable_backward=False)
def sum_places(
    first: wp.int32,
    filtered: wp.array3d(dtype=wp.float32),
    axes: wp.array(dtype=wp.float32),
    cosines: wp.array2d(dtype=wp.float32),
    weights: wp.array2d(dtype=wp.float32),
    values: wp.array3d(dtype=wp.float32),
):
    """Sums for CUDA; a thread is a place on a line."""
    line, place, column = wp.tid()
    line += first
    away = wp.float32(column) - axes[place]
    total = wp.float32(0.0)
    for view in range(filtered.shape[1]):
        weight = weights[line, view]
        if weight != wp.float32(0.0):
            total += weight * value_between(filtered, place, view, axes[place] + away * cosines[line, view])
    values[place, line, column] = total


@wp.kernel(enable_backward=False)
def subtract(
    first: wp.int32,
    values: wp.array3d(dtype=wp.float32),
    medians: wp.array3d(dtype=wp.float32),
    level: wp.array3d(dtype=wp.float32),
):
    """What values have more than their medians."""
    column, place, line = wp.tid()
    column += first
    level[place, column, line] = values[place, column, line] - medians[place, column, line]
