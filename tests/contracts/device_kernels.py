"""Kernels that the device suites launch. Small: together they compile in a few seconds, once."""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from benchmarks.device_kernels import iterate

__all__ = ["count", "fill", "iterate", "mark", "number", "scale", "without_first"]


@wp.kernel(enable_backward=False)
def count(first: wp.int32, counts: wp.array2d(dtype=wp.int32)):
    row, column = wp.tid()
    row += first
    counts[row, column] = counts[row, column] + row * 3 + column + 1


def fill(value: int):
    """A kernel that is compiled for one number, in a module of its own."""
    constant = wp.constant(value)

    @wp.kernel(enable_backward=False, module="unique")
    def filled(first: wp.int32, out: wp.array(dtype=wp.int32)):
        out[first + wp.tid()] = constant

    return filled


@wp.kernel(enable_backward=False)
def scale(first: wp.int32, values: wp.array(dtype=wp.float32), factor: wp.float32, out: wp.array(dtype=wp.float32)):
    i = wp.tid() + first
    out[i] = values[i] * factor


@wp.kernel(enable_backward=False)
def number(first: wp.int32, out: wp.array3d(dtype=wp.int32)):
    z, y, x = wp.tid()
    z += first
    out[z, y, x] = (z * out.shape[1] + y) * out.shape[2] + x


@wp.kernel(enable_backward=False)
def without_first(out: wp.array(dtype=wp.float32)):
    out[wp.tid()] = 1.0


@wp.kernel(enable_backward=False)
def mark(first: wp.int32, out: wp.array2d(dtype=wp.uint8)):
    row, column = wp.tid()
    out[row + first, column] = wp.uint8(1)
