"""Cells in which values change too little to be seen, where the gradient decides what is seen.

Here: the kernel that finds the others.
Not here: cells whose values are invisible (fields.sampling), the way to the nearest visible one (fields.sampled).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.kernel(enable_backward=False)
def find_steep(
    first: wp.int32,
    ranges: wp.array3d(dtype=wp.vec2),
    least_change: wp.float32,
    vacancy: wp.array3d(dtype=wp.uint8),
    occupied: wp.array3d(dtype=wp.uint8),
):
    """Cells with visible values, in and around which values differ by ``least_change``: gradients reach so far."""
    z, y, x = wp.tid()
    z += first
    span = ranges[z, y, x]
    for n in range(27):
        k = wp.clamp(z + n // 9 - 1, 0, ranges.shape[0] - 1)
        j = wp.clamp(y + (n // 3) % 3 - 1, 0, ranges.shape[1] - 1)
        i = wp.clamp(x + n % 3 - 1, 0, ranges.shape[2] - 1)
        span = wp.vec2(wp.min(span[0], ranges[k, j, i][0]), wp.max(span[1], ranges[k, j, i][1]))
    is_steep = vacancy[z, y, x] == wp.uint8(0) and span[1] - span[0] >= least_change
    occupied[z, y, x] = wp.uint8(wp.where(is_steep, 1, 0))
