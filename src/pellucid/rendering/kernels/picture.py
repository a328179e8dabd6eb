"""From gathered light to the bytes of a picture.

Here: to_bytes; enlarging small pictures; adding several up.
Not here: the definitions (frame.to_rgba8, frame.enlarged), who asks for it (finishing).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.kernel(enable_backward=False)
def to_bytes(
    first: wp.int32,
    color: wp.array2d(dtype=wp.vec4),
    background: wp.vec4,
    rgba: wp.array2d(dtype=wp.vec4ub),
):
    """Over a background (multiplied by its opacity), to 8 bits a channel, not multiplied: frame.to_rgba8 defines it."""
    row, column = wp.tid()
    row += first
    over = color[row, column] + background * (1.0 - color[row, column][3])
    plain = over / wp.max(over[3], 1.0e-6)
    plain[3] = over[3]
    for channel in range(4):
        rgba[row, column][channel] = wp.uint8(wp.clamp(plain[channel], 0.0, 1.0) * 255.0 + 0.5)


@wp.kernel(enable_backward=False)
def enlarge(
    first: wp.int32,
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
    larger: wp.array2d(dtype=wp.vec4),
    larger_depth: wp.array2d(dtype=wp.float32),
):
    """Colours between those of the nearest four pixels; the depth of the nearest one: frame.enlarged defines it."""
    row, column = wp.tid()
    row += first
    y = (wp.float32(row) + 0.5) * wp.float32(color.shape[0]) / wp.float32(larger.shape[0]) - 0.5
    x = (wp.float32(column) + 0.5) * wp.float32(color.shape[1]) / wp.float32(larger.shape[1]) - 0.5
    y = wp.clamp(y, 0.0, wp.float32(color.shape[0] - 1))
    x = wp.clamp(x, 0.0, wp.float32(color.shape[1] - 1))
    top = wp.int32(y)
    left = wp.int32(x)
    bottom = wp.min(top + 1, color.shape[0] - 1)
    right = wp.min(left + 1, color.shape[1] - 1)
    above = wp.lerp(color[top, left], color[top, right], x - wp.float32(left))
    below = wp.lerp(color[bottom, left], color[bottom, right], x - wp.float32(left))
    larger[row, column] = wp.lerp(above, below, y - wp.float32(top))
    larger_depth[row, column] = depth[wp.int32(y + 0.5), wp.int32(x + 0.5)]


@wp.kernel(enable_backward=False)
def add(first: wp.int32, color: wp.array2d(dtype=wp.vec4), total: wp.array2d(dtype=wp.vec4)):
    row, column = wp.tid()
    row += first
    total[row, column] = total[row, column] + color[row, column]


@wp.kernel(enable_backward=False)
def scale(first: wp.int32, total: wp.array2d(dtype=wp.vec4), by: wp.float32, mean: wp.array2d(dtype=wp.vec4)):
    row, column = wp.tid()
    row += first
    mean[row, column] = total[row, column] * by
