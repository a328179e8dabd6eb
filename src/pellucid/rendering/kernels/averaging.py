"""Averaging several images.

Here: the kernels that add them up and divide.
Not here: who asks for it (postprocess).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp


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
