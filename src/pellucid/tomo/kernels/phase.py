"""Phase retrieval and zingers in kernels.

Here: padding, the response of Paganin's filter, the logarithm of what is kept; medians around a pixel.
Not here: physical units (phase), transforms (device).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.tomo.kernels.borders import mirrored


@wp.kernel(enable_backward=False)
def pad(first: wp.int32, margin: wp.int32, frames: wp.array3d(dtype=wp.float32), padded: wp.array3d(dtype=wp.float32)):
    row, frame, column = wp.tid()
    row += first
    source_row = mirrored(row - margin, frames.shape[1])
    padded[frame, row, column] = frames[frame, source_row, mirrored(column - margin, frames.shape[2])]


@wp.kernel(enable_backward=False)
def smooth(first: wp.int32, strength: wp.float32, columns: wp.int32, spectrum: wp.array3d(dtype=wp.float32)):
    """Divided by 1 + strength k², k in radians per pixel; a complex number is two columns of the spectrum."""
    row, frame, part = wp.tid()
    row += first
    rows = spectrum.shape[1]
    down = row
    if 2 * row > rows:
        down = row - rows
    ky = wp.float32(2.0 * wp.pi) * wp.float32(down) / wp.float32(rows)
    kx = wp.float32(2.0 * wp.pi) * wp.float32(part // 2) / wp.float32(columns)
    spectrum[frame, row, part] = spectrum[frame, row, part] / (1.0 + strength * (kx * kx + ky * ky))


@wp.kernel(enable_backward=False)
def take_logarithm(
    first: wp.int32,
    margin: wp.int32,
    floor: wp.float32,
    padded: wp.array3d(dtype=wp.float32),
    frames: wp.array3d(dtype=wp.float32),
):
    """-ln of the frames inside their margin; what is not above the floor counts as the floor."""
    row, frame, column = wp.tid()
    row += first
    value = padded[frame, row + margin, column + margin]
    if not (value >= floor):
        value = floor
    frames[frame, row, column] = -wp.log(value)


@wp.kernel(enable_backward=False)
def remove_zingers(
    first: wp.int32,
    reach: wp.int32,
    threshold: wp.float32,
    sinograms: wp.array3d(dtype=wp.float32),
    cleaned: wp.array3d(dtype=wp.float32),
    counts: wp.array2d(dtype=wp.int32),
):
    """Pixels below the median around them, over views and columns, by more than a threshold become that median.

    The median is above a number where more than half of all values are: only then is it looked for.
    """
    view, place, column = wp.tid()
    view += first
    value = sinograms[place, view, column]
    around = (2 * reach + 1) * (2 * reach + 1)
    above = wp.int32(0)
    for i in range(-reach, reach + 1):
        for j in range(-reach, reach + 1):
            if neighbour(sinograms, place, view + i, column + j) > value + threshold:
                above += 1
    if 2 * above > around:
        value = median_around(sinograms, place, view, column, reach)
        wp.atomic_add(counts, place, view, 1)
    cleaned[place, view, column] = value


@wp.func
def neighbour(sinograms: wp.array3d(dtype=wp.float32), place: wp.int32, view: wp.int32, column: wp.int32):
    return sinograms[place, mirrored(view, sinograms.shape[1]), mirrored(column, sinograms.shape[2])]


@wp.func
def median_around(
    sinograms: wp.array3d(dtype=wp.float32), place: wp.int32, view: wp.int32, column: wp.int32, reach: wp.int32
):
    """The value that as many are below as above, found by counting: zingers are few."""
    half = ((2 * reach + 1) * (2 * reach + 1)) // 2
    found = wp.float32(0.0)
    for i in range(-reach, reach + 1):
        for j in range(-reach, reach + 1):
            candidate = neighbour(sinograms, place, view + i, column + j)
            below = wp.int32(0)
            equal = wp.int32(0)
            for k in range(-reach, reach + 1):
                for m in range(-reach, reach + 1):
                    other = neighbour(sinograms, place, view + k, column + m)
                    if other < candidate:
                        below += 1
                    if other == candidate:
                        equal += 1
            if below <= half < below + equal:
                found = candidate
    return found
