"""Ring removal by filters, in kernels.

Here: means of columns, subtracting them, one level of an orthogonal wavelet along an axis and back, damping.
Not here: the wavelets' coefficients, the order of the steps (ring_filters).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.kernel(enable_backward=False)
def mean_columns(first: wp.int32, sinograms: wp.array3d(dtype=wp.float32), means: wp.array2d(dtype=wp.float64)):
    """Per (slice, column): the mean over the views."""
    column, place = wp.tid()
    column += first
    total = wp.float64(0.0)
    for view in range(sinograms.shape[1]):
        total += wp.float64(sinograms[place, view, column])
    means[place, column] = total / wp.float64(sinograms.shape[1])


@wp.kernel(enable_backward=False)
def subtract_columns(
    first: wp.int32,
    stripes: wp.array2d(dtype=wp.float32),
    sinograms: wp.array3d(dtype=wp.float32),
    cleaned: wp.array3d(dtype=wp.float32),
):
    """Every view less one number per (slice, column)."""
    view, place, column = wp.tid()
    view += first
    cleaned[place, view, column] = sinograms[place, view, column] - stripes[place, column]


@wp.kernel(enable_backward=False)
def split(
    first: wp.int32,
    taps: wp.array2d(dtype=wp.float32),
    along_views: wp.bool,
    values: wp.array3d(dtype=wp.float32),
    low: wp.array3d(dtype=wp.float32),
    high: wp.array3d(dtype=wp.float32),
):
    """One level of a periodic wavelet along the views or the columns: taps are the scaling filter and the wavelet."""
    view, place, column = wp.tid()
    view += first
    smooth = wp.float32(0.0)
    detail = wp.float32(0.0)
    for tap in range(taps.shape[1]):
        value = wp.float32(0.0)
        if along_views:
            value = values[place, (2 * view + tap) % values.shape[1], column]
        else:
            value = values[place, view, (2 * column + tap) % values.shape[2]]
        smooth += taps[0, tap] * value
        detail += taps[1, tap] * value
    low[place, view, column] = smooth
    high[place, view, column] = detail


@wp.kernel(enable_backward=False)
def join(
    first: wp.int32,
    taps: wp.array2d(dtype=wp.float32),
    along_views: wp.bool,
    low: wp.array3d(dtype=wp.float32),
    high: wp.array3d(dtype=wp.float32),
    values: wp.array3d(dtype=wp.float32),
):
    """The inverse, which is the transpose."""
    view, place, column = wp.tid()
    view += first
    index = column
    count = low.shape[2]
    if along_views:
        index = view
        count = low.shape[1]
    total = wp.float32(0.0)
    for half in range(taps.shape[1] // 2):
        tap = 2 * half + index % 2
        source = ((index - tap) // 2 + 8 * count) % count
        if along_views:
            total += taps[0, tap] * low[place, source, column] + taps[1, tap] * high[place, source, column]
        else:
            total += taps[0, tap] * low[place, view, source] + taps[1, tap] * high[place, view, source]
    values[place, view, column] = total


@wp.kernel(enable_backward=False)
def damp(first: wp.int32, gains: wp.array(dtype=wp.float32), spectrum: wp.array3d(dtype=wp.float32)):
    """Frequencies along the views, times their gain; a complex number is two columns of the spectrum."""
    frequency, place, column = wp.tid()
    frequency += first
    spectrum[place, frequency, column] = spectrum[place, frequency, column] * gains[frequency]


@wp.kernel(enable_backward=False)
def extend(first: wp.int32, sinograms: wp.array3d(dtype=wp.float32), padded: wp.array3d(dtype=wp.float32)):
    """A larger array, filled up by mirroring at the far borders."""
    view, place, column = wp.tid()
    view += first
    source_view = wp.min(view, wp.max(0, 2 * sinograms.shape[1] - 1 - view))
    source_column = wp.min(column, wp.max(0, 2 * sinograms.shape[2] - 1 - column))
    padded[place, view, column] = sinograms[place, source_view, source_column]


@wp.kernel(enable_backward=False)
def crop(first: wp.int32, padded: wp.array3d(dtype=wp.float32), sinograms: wp.array3d(dtype=wp.float32)):
    view, place, column = wp.tid()
    view += first
    sinograms[place, view, column] = padded[place, view, column]


@wp.kernel(enable_backward=False)
def take_real(first: wp.int32, numbers: wp.array4d(dtype=wp.float32), values: wp.array3d(dtype=wp.float32)):
    """The real parts of (slice, view, column, part)."""
    view, place, column = wp.tid()
    view += first
    values[place, view, column] = numbers[place, view, column, 0]
