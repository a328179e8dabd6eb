"""Joining and rotating views, in kernels.

Here: opposite views joined to one wide one; frames turned in their plane.
Not here: where the axis is, and how far the detector is turned (axis, offset).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.func
def between(row: wp.array(dtype=wp.float32), left: wp.int32, part: wp.float32):
    """The row at left + part: a cubic curve (Catmull and Rom's) through four columns; the border is repeated."""
    last = row.shape[0] - 1
    a = row[wp.max(left - 1, 0)]
    b = row[left]
    c = row[wp.min(left + 1, last)]
    d = row[wp.min(left + 2, last)]
    return b + 0.5 * part * (c - a + part * (2.0 * a - 5.0 * b + 4.0 * c - d + part * (3.0 * (b - c) + d - a)))


@wp.kernel(enable_backward=False)
def stitch(
    first: wp.int32,
    whole: wp.int32,
    part: wp.float32,
    start: wp.int32,
    fronts: wp.array(dtype=wp.int32),
    befores: wp.array(dtype=wp.int32),
    afters: wp.array(dtype=wp.int32),
    shares: wp.array(dtype=wp.float32),
    sinograms: wp.array3d(dtype=wp.float32),
    joined: wp.array3d(dtype=wp.float32),
):
    """Column j of a view is column whole + part - j of the view half a turn later; start is the first j of either.

    The view half a turn later lies between two, by a share.

    Where both see it, they are mixed: each counts more the further it is from its own border.
    """
    view, place, column = wp.tid()
    view += first
    columns = sinograms.shape[2]
    front = column + start
    behind = whole - front
    last = columns - 1
    if part > 0.0:
        last -= 1
    own = wp.float32(wp.min(front, columns - 1 - front) + 1)
    other = wp.min(wp.float32(behind) + part, wp.float32(columns - 1 - behind) - part) + 1.0
    value = wp.float32(0.0)
    opposite = wp.float32(0.0)
    is_behind = behind >= 0 and behind <= last
    if is_behind:
        opposite = between(sinograms[place, befores[view]], behind, part)
        if shares[view] > 0.0:
            opposite += shares[view] * (between(sinograms[place, afters[view]], behind, part) - opposite)
    if own > 0.0:
        value = sinograms[place, fronts[view], front]
        if is_behind:
            value += other / (own + other) * (opposite - value)
    elif is_behind:
        value = opposite
    joined[place, view, column] = value


@wp.kernel(enable_backward=False)
def turn_frames(
    first: wp.int32,
    cosine: wp.float32,
    sine: wp.float32,
    frames: wp.array3d(dtype=wp.float32),
    turned: wp.array3d(dtype=wp.float32),
):
    """Every frame turned about its middle, interpolated linearly; beyond the border is the border."""
    frame, row, column = wp.tid()
    frame += first
    rows = frames.shape[1]
    columns = frames.shape[2]
    y = wp.float32(row) - wp.float32(rows - 1) / 2.0
    x = wp.float32(column) - wp.float32(columns - 1) / 2.0
    at_y = wp.clamp(cosine * y - sine * x + wp.float32(rows - 1) / 2.0, 0.0, wp.float32(rows - 1))
    at_x = wp.clamp(sine * y + cosine * x + wp.float32(columns - 1) / 2.0, 0.0, wp.float32(columns - 1))
    top = wp.min(wp.int32(at_y), wp.max(rows - 2, 0))
    left = wp.min(wp.int32(at_x), wp.max(columns - 2, 0))
    bottom = wp.min(top + 1, rows - 1)
    right = wp.min(left + 1, columns - 1)
    down = at_y - wp.float32(top)
    across = at_x - wp.float32(left)
    above = frames[frame, top, left] * (1.0 - across) + frames[frame, top, right] * across
    below = frames[frame, bottom, left] * (1.0 - across) + frames[frame, bottom, right] * across
    turned[frame, row, column] = above * (1.0 - down) + below * down
