"""Around the transforms of filtering: padding rows, multiplying spectra, keeping what is wanted.

Here: the kernels.
Not here: the transforms themselves (device.primitives), the filters (filters).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp

LANES = 8
"""Threads that share a row of a sinogram on CUDA: what they read together is one piece of memory."""


@wp.kernel(enable_backward=False)
def sum_rows(
    first: wp.int32,
    sinograms: wp.array3d(dtype=wp.float32),
    sums: wp.array3d(dtype=wp.float32),
    borders: wp.array2d(dtype=wp.float32),
):
    """Without signs: every LANES-th column of a row together, and its two outermost ones."""
    view, slice, lane = wp.tid()
    view += first
    width = sinograms.shape[2]
    total = wp.float32(0.0)
    for column in range(lane, width, LANES):
        total += wp.abs(sinograms[slice, view, column])
    sums[slice, view, lane] = total
    if lane == 0:
        borders[slice, view] = wp.abs(sinograms[slice, view, 0]) + wp.abs(sinograms[slice, view, width - 1])


@wp.func
def fading(step: wp.int32, reach: wp.int32):
    """What is left of a border so many columns behind it."""
    return 0.5 * (1.0 + wp.cos(wp.pi * wp.float32(step) / wp.float32(reach)))


@wp.kernel(enable_backward=False)
def extend(
    first: wp.int32,
    sinograms: wp.array3d(dtype=wp.float32),
    is_truncated: wp.array(dtype=wp.int32),
    rows: wp.array3d(dtype=wp.float32),
):
    """A row, with 0 behind it or, where it is cut off, its ends faded out: on the left that wraps round to the end."""
    view, slice = wp.tid()
    view += first
    width = sinograms.shape[2]
    for column in range(width):
        rows[slice, view, column] = sinograms[slice, view, column]
    if is_truncated[slice] != 0:
        reach = width // 2
        for step in range(1, reach):
            fade = fading(step, reach)
            rows[slice, view, width - 1 + step] = fade * sinograms[slice, view, width - 1]
            rows[slice, view, rows.shape[2] - step] = fade * sinograms[slice, view, 0]


@wp.kernel(enable_backward=False)
def multiply(first: wp.int32, gains: wp.array(dtype=wp.float32), spectra: wp.array3d(dtype=wp.float32)):
    """spectra: real and imaginary parts in turn."""
    view, slice, part = wp.tid()
    view += first
    spectra[slice, view, part] = spectra[slice, view, part] * gains[part // 2]


@wp.kernel(enable_backward=False)
def keep(first: wp.int32, rows: wp.array3d(dtype=wp.float32), kept: wp.array3d(dtype=wp.float32)):
    """The first columns of longer rows."""
    view, slice, column = wp.tid()
    view += first
    kept[slice, view, column] = rows[slice, view, column]
