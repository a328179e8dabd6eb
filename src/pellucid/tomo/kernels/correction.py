"""From counts to attenuation, in kernels.

Here: one pass over raw projections that corrects, guards, takes the logarithm and turns projections into sinograms;
averages of blocks of pixels; projections put together from their neighbours.
Not here: averages of flats and darks, which view is replaced by what (correction).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from functools import cache

import numpy as np
import warp as wp

from pellucid.device import runtime


@wp.func
def between(frames: wp.array3d(dtype=wp.float32), group: wp.int32, share: wp.float32, row: wp.int32, column: wp.int32):
    """A pixel of a group of frames, or of what lies between it and the next."""
    before = frames[group, row, column]
    if share > 0.0:
        return before + share * (frames[group + 1, row, column] - before)
    return before


def _attenuate(number):
    """The kernel for raw data of that type."""

    @wp.kernel(enable_backward=False, module="unique")
    def attenuate(
        first: wp.int32,
        raw: wp.array3d(dtype=number),
        darks: wp.array3d(dtype=wp.float32),
        flats: wp.array3d(dtype=wp.float32),
        dark_groups: wp.array(dtype=wp.int32),
        dark_shares: wp.array(dtype=wp.float32),
        groups: wp.array(dtype=wp.int32),
        shares: wp.array(dtype=wp.float32),
        floor: wp.float32,
        sinograms: wp.array3d(dtype=wp.float32),
        clipped: wp.array2d(dtype=wp.int32),
    ):
        """raw (view, row, column) to sinograms (row, view, column).

        A view lies between two groups of flats, and of darks; its share is how far it is towards the second.
        ``not (x >= floor)`` also holds for what is not a number; the last comparison catches infinities.
        """
        view, row, column = wp.tid()
        view += first
        dark = between(darks, dark_groups[view], dark_shares[view], row, column)
        counts = wp.float32(raw[view, row, column]) - dark
        open_beam = between(flats, groups[view], shares[view], row, column)
        is_clipped = wp.int32(0)
        if not (counts >= floor):
            counts = floor
            is_clipped = 1
        if not (open_beam >= floor):
            open_beam = floor
            is_clipped = 1
        if counts > 1.0e30 or open_beam > 1.0e30:
            counts = floor
            open_beam = floor
            is_clipped = 1
        sinograms[row, view, column] = wp.log(open_beam / counts)
        if is_clipped > 0:
            wp.atomic_add(clipped, row, view, 1)

    return attenuate


@wp.kernel(enable_backward=False)
def mend(
    first: wp.int32,
    rows: wp.array(dtype=wp.int32),
    views: wp.array(dtype=wp.int32),
    before: wp.array(dtype=wp.int32),
    after: wp.array(dtype=wp.int32),
    shares: wp.array(dtype=wp.float32),
    sinograms: wp.array3d(dtype=wp.float32),
):
    """Rows of sinograms that are bad, from the nearest good ones on both sides."""
    index, column = wp.tid()
    index += first
    row = rows[index]
    low = sinograms[row, before[index], column]
    high = sinograms[row, after[index], column]
    sinograms[row, views[index], column] = low + shares[index] * (high - low)


@wp.kernel(enable_backward=False)
def subtract_air(first: wp.int32, margin: wp.int32, sinograms: wp.array3d(dtype=wp.float32)):
    """From every row of a sinogram the mean of its outermost columns on both sides."""
    view, row = wp.tid()
    view += first
    columns = sinograms.shape[2]
    left = wp.float64(0.0)
    right = wp.float64(0.0)
    for column in range(margin):
        left += wp.float64(sinograms[row, view, column])
        right += wp.float64(sinograms[row, view, columns - 1 - column])
    level = wp.float32((left + right) / wp.float64(2 * margin))
    for column in range(columns):
        sinograms[row, view, column] = sinograms[row, view, column] - level


def _bin_pixels(number):
    """The kernel for frames of that type."""

    @wp.kernel(enable_backward=False, module="unique")
    def bin_pixels(
        first: wp.int32, factor: wp.int32, frames: wp.array3d(dtype=number), binned: wp.array3d(dtype=wp.float32)
    ):
        """The mean of squares of factor by factor pixels of every frame."""
        frame, row, column = wp.tid()
        frame += first
        total = wp.float32(0.0)
        for down in range(factor):
            for across in range(factor):
                total += wp.float32(frames[frame, row * factor + down, column * factor + across])
        binned[frame, row, column] = total / wp.float32(factor * factor)

    return bin_pixels


@wp.kernel(enable_backward=False)
def transmit(
    first: wp.int32,
    bad: wp.array2d(dtype=wp.uint8),
    sinograms: wp.array3d(dtype=wp.float32),
    frames: wp.array3d(dtype=wp.float32),
):
    """Attenuation (row, view, column) back to transmission (view, row, column); 0 where a row is bad."""
    view, row, column = wp.tid()
    view += first
    value = wp.float32(0.0)
    if bad[row, view] == wp.uint8(0):
        value = wp.exp(-sinograms[row, view, column])
    frames[view, row, column] = value


@wp.kernel(enable_backward=False)
def transmit_again(
    first: wp.int32,
    attenuations: wp.array3d(dtype=wp.float32),
    frames: wp.array3d(dtype=wp.float32),
):
    """Attenuation back to transmission, frame by frame; a frame without any light stays 0."""
    view, row, column = wp.tid()
    view += first
    if frames[view, row, column] > 0.0:
        frames[view, row, column] = wp.exp(-attenuations[view, row, column])


# A kernel for each type of numbers, in a module of its own: a module with one more type would be compiled anew.


def attenuate(dtype: np.dtype):
    """The kernel that corrects raw data of that type."""
    return _for_type(_attenuate, np.dtype(dtype))


def bin_pixels(dtype: np.dtype):
    """The kernel that bins frames of that type."""
    return _for_type(_bin_pixels, np.dtype(dtype))


def _for_type(make, dtype: np.dtype):
    with runtime.LOCK:  # Two threads that are the first would each make one, and one of these would not run.
        return _made(make, dtype)


@cache
def _made(make, dtype: np.dtype):
    return make(wp.dtype_from_numpy(dtype))
