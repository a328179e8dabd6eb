"""The kernel that benchmarks.device launches."""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.kernel(enable_backward=False)
def iterate(first: wp.int32, steps: wp.int32, out: wp.array2d(dtype=wp.float32)):
    """Much arithmetic, little memory: the logistic map for every start and every rate."""
    row, column = wp.tid()
    row += first
    x = (wp.float32(row) + 0.5) / wp.float32(out.shape[0])
    r = 3.6 + 0.4 * wp.float32(column) / wp.float32(out.shape[1])
    for _step in range(steps):
        x = r * x * (1.0 - x)
    out[row, column] = x
