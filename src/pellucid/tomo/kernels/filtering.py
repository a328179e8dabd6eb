"""Around the transforms of filtering: padding rows, multiplying spectra, keeping what is wanted.

Here: the kernels.
Not here: the transforms themselves (device.primitive_ops), the filters (filters).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

LANES = 8
"""Threads that share a row of a sinogram on CUDA: what they read together is one piece of memory."""


@wp.kernel(enable_backward=False)
def sum_rows(
    first: wp.int32,
    sinograms: wp.array3d(dtype=wp.float32),
    sums: wp.array3d(dtype=wp.float32),
    borders: wp.array3d(dtype=wp.float32),
):
    """Without signs: every LANES-th column of a row together, and each of its two outermost ones."""
    view, slice, lane = wp.tid()
    view += first
    width = sinograms.shape[2]
    total = wp.float32(0.0)
    for column in range(lane, width, LANES):
        total += wp.abs(sinograms[slice, view, column])
    sums[slice, view, lane] = total
    if lane == 0:
        borders[slice, view, 0] = wp.abs(sinograms[slice, view, 0])
        borders[slice, view, 1] = wp.abs(sinograms[slice, view, width - 1])


@wp.func
def fading(step: wp.int32, reach: wp.int32):
    """What is left of a border so many columns behind it."""
    return 0.5 * (1.0 + wp.cos(wp.pi * wp.float32(step) / wp.float32(reach)))


@wp.func
def continued(
    borders: wp.array3d(dtype=wp.float32),
    slice: wp.int32,
    view: wp.int32,
    side: wp.int32,
    step: wp.int32,
    width: wp.int32,
):
    """The ellipse of fit_borders on one side, so many columns behind the border."""
    away = wp.float32(step) / wp.float32(width)
    more = away * (2.0 * borders[slice, view, 4 + side] + away)
    return wp.sqrt(wp.max(borders[slice, view, 2 * side] - borders[slice, view, 2 * side + 1] * more, 0.0))


@wp.kernel(enable_backward=False)
def fit_borders(
    first: wp.int32,
    sinograms: wp.array3d(dtype=wp.float32),
    axes: wp.array(dtype=wp.float32),
    count: wp.int32,
    nearest: wp.float32,
    widest: wp.float32,
    borders: wp.array3d(dtype=wp.float32),
):
    """The square of a row at its left and right border, how fast it falls with the square of the place, and the places
    of both borders.

    Places are counted from the axis, in widths of the detector. Of an ellipse about the axis, squares are a line over
    squares of the place: this is the line through so many outer columns. nearest: a border that is nearer to the axis
    counts as this far. widest: how far behind the border the ellipse may reach.
    """
    view, slice = wp.tid()
    view += first
    width = sinograms.shape[2]
    for side in range(2):
        apart = axes[slice]
        if side == 1:
            apart = wp.float32(width) - 1.0 - axes[slice]
        border = wp.max(apart / wp.float32(width), nearest)
        mean_place, mean_square = wp.float32(0.0), wp.float32(0.0)
        for step in range(count):
            place = border - wp.float32(step) / wp.float32(width)
            value = sinograms[slice, view, step + side * (width - 1 - 2 * step)]
            mean_place += place * place / wp.float32(count)
            mean_square += value * wp.abs(value) / wp.float32(count)
        both, spread = wp.float32(0.0), wp.float32(0.0)
        for step in range(count):
            place = border - wp.float32(step) / wp.float32(width)
            value = sinograms[slice, view, step + side * (width - 1 - 2 * step)]
            away = place * place - mean_place
            both += away * (value * wp.abs(value) - mean_square)
            spread += away * away
        slope = wp.float32(0.0)
        if spread > 0.0:
            slope = both / spread
        square = wp.max(mean_square + slope * (border * border - mean_place), 0.0)
        borders[slice, view, 2 * side] = square
        borders[slice, view, 2 * side + 1] = wp.max(-slope, square / (widest * widest))
        borders[slice, view, 4 + side] = border


@wp.kernel(enable_backward=False)
def extend(
    first: wp.int32,
    sinograms: wp.array3d(dtype=wp.float32),
    edges: wp.array(dtype=wp.int32),
    borders: wp.array3d(dtype=wp.float32),
    rows: wp.array3d(dtype=wp.float32),
):
    """A row, with 0 behind it or, where it is cut off, its ends continued: on the left that wraps round to the end.

    edges: 1 for ends that fade out, 2 for the ellipses of fit_borders.
    """
    view, slice = wp.tid()
    view += first
    width = sinograms.shape[2]
    for column in range(width):
        rows[slice, view, column] = sinograms[slice, view, column]
    reach = width // 2
    if edges[slice] == 1:
        for step in range(1, reach):
            fade = fading(step, reach)
            rows[slice, view, width - 1 + step] = fade * sinograms[slice, view, width - 1]
            rows[slice, view, rows.shape[2] - step] = fade * sinograms[slice, view, 0]
    if edges[slice] == 2:
        for step in range(1, reach):
            rows[slice, view, width - 1 + step] = continued(borders, slice, view, 1, step, width)
            rows[slice, view, rows.shape[2] - step] = continued(borders, slice, view, 0, step, width)


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
