"""From gathered light to the bytes of an image.

Here: to_bytes.
Not here: its definition (frame.to_rgba8), who asks for it (postprocess).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.func
def as_byte(level: wp.float32):
    return wp.uint8(wp.int32(wp.clamp(level, 0.0, 1.0) * 255.0 + 0.5))


@wp.func
def as_bytes(color: wp.vec4):
    return wp.vec4ub(as_byte(color[0]), as_byte(color[1]), as_byte(color[2]), as_byte(color[3]))


@wp.kernel(enable_backward=False)
def to_bytes(
    first: wp.int32,
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
    background: wp.vec4,
    nothing: wp.float32,
    rgba: wp.array2d(dtype=wp.vec4ub),
    far: wp.array2d(dtype=wp.float32),
):
    """Over a background (multiplied by its opacity), to 8 bits a channel, not multiplied: frame.to_rgba8 defines it.

    far: the depth, infinite where it is that of nothing.
    """
    row, column = wp.tid()
    row += first
    over = color[row, column] + background * (1.0 - color[row, column][3])
    plain = over / wp.max(over[3], 1.0e-6)
    plain[3] = over[3]
    rgba[row, column] = as_bytes(plain)
    far[row, column] = wp.where(depth[row, column] < nothing, depth[row, column], wp.inf)
