"""Lines of pixels through many slices at once.

Here: add_lines.
Not here: the definition (reference.projection.back_project), whole slices (direct).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.kernel(enable_backward=False)
def add_lines(
    first: wp.int32,
    filtered: wp.array3d(dtype=wp.float32),
    turns: wp.array2d(dtype=wp.float32),
    points: wp.array2d(dtype=wp.float32),
    axis: wp.float32,
    lines: wp.array2d(dtype=wp.float32),
):
    """filtered (row, view, column), points (x, y) from the axis: what all views say is added to lines (row, point)."""
    row, point = wp.tid()
    row += first
    columns = filtered.shape[2]
    total = wp.float32(0.0)
    for view in range(filtered.shape[1]):
        place = points[point, 0] * turns[view, 0] + points[point, 1] * turns[view, 1] + axis
        left = wp.int32(wp.floor(place))
        share = place - wp.float32(left)
        if left >= 0 and left < columns:
            total += (1.0 - share) * filtered[row, view, left]
        if left >= -1 and left < columns - 1:
            total += share * filtered[row, view, left + 1]
    lines[row, point] = lines[row, point] + total
