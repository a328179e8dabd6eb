"""The definition of filtering, back projection and projection, in plain NumPy and double precision.

Here: the definitions that kernels are tested against.
Not here: anything fast.
"""

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.tomo.scan import Floats


def filter_rows(rows: Voxels, taps: Floats) -> Floats:
    """Rows (view, column) convolved with an even filter of as many taps as there are columns; beyond them is 0."""
    kernel = np.concatenate([taps[:0:-1], taps])
    width = rows.shape[1]
    return np.stack([np.convolve(row.astype(np.float64), kernel)[width - 1 : 2 * width - 1] for row in rows])


def extend_rows(rows: Voxels) -> Floats:
    """Rows with their ends continued over half their width, fading out."""
    reach = rows.shape[1] // 2
    fade = (1 + np.cos(np.pi * np.arange(1, reach + 1) / reach)) / 2
    left, right = rows[:, :1] * fade[::-1], rows[:, -1:] * fade
    return np.concatenate([left, rows, right], axis=1, dtype=np.float64)


def continue_rows(rows: Voxels, count: int, widest: float, axis: float | None = None) -> Floats:
    """Rows with their ends continued over half their width by ellipses about the axis, by default in the middle.

    Of such an ellipse, squares are a line over the squares of the place: the line through ``count`` columns at the
    border, made so steep that the ellipse ends; widest: as in filters.MAX_WIDENING.
    """
    width = rows.shape[1]
    reach, axis = width // 2, (width - 1) / 2 if axis is None else axis
    ends = []
    sides = ((axis, rows[:, :count]), (width - 1 - axis, rows[:, : -count - 1 : -1]))
    for border, outer in ((apart / width, part.astype(np.float64)) for apart, part in sides):
        places, beyond = (border - np.arange(count) / width) ** 2, (border + np.arange(1, reach + 1) / width) ** 2
        squares = outer * np.abs(outer)
        away = places - places.mean()
        slope = (squares - squares.mean(axis=1, keepdims=True)) @ away / max(float((away**2).sum()), 1e-30)
        at_border = np.maximum(squares.mean(axis=1) + slope * (border**2 - places.mean()), 0)
        fall = np.maximum(-slope, at_border / widest**2)
        ends.append(np.sqrt(np.maximum(at_border[:, None] - fall[:, None] * (beyond - border**2), 0)))
    return np.concatenate([ends[0][:, ::-1], rows, ends[1]], axis=1, dtype=np.float64)


def back_project(rows: Voxels, angles_rad: Floats, weights: Floats, axis: float, radius: float | None = None) -> Floats:
    """One slice (row, column) from rows (view, column): the weighted sum of what every view says of a pixel.

    axis: the column that the axis of rotation falls on; it is the middle of the slice. Views are interpolated linearly,
    with 0 beyond the detector. radius: pixels further from the middle are 0 (default: as far as every view reaches).
    """
    width = rows.shape[1]
    x, y = grid(width)
    image = np.zeros((width, width))
    columns = np.arange(-1, width + 1)
    for row, angle, weight in zip(rows, angles_rad, weights, strict=True):
        place = x * np.cos(angle) + y * np.sin(angle) + axis
        image += weight * np.interp(place, columns, np.pad(row.astype(np.float64), 1))
    radius = circle_radius(width, axis) if radius is None else radius
    return np.where(x**2 + y**2 <= radius**2, image, 0.0)


def fourier_sum(
    rows: Voxels, angles_rad: Floats, weights: Floats, axis: float, gains: Floats, radius: float | None = None
) -> Floats:
    """back_project of filtered rows, with waves in the place of linear interpolation.

    rows (view, column) are not filtered yet; gains: the filter's response, for rows of twice as many as its last index.
    """
    width, length = rows.shape[1], 2 * (len(gains) - 1)
    x, y = grid(width)
    image = np.zeros((width, width))
    frequencies = np.arange(1, length // 2) / length
    for row, angle, weight in zip(rows, angles_rad, weights, strict=True):
        spectrum = np.fft.rfft(row, length) * gains
        # The wave at x cos + y sin + axis is a wave in x times one in y.
        in_x = np.exp(2j * np.pi * np.outer(frequencies, x[0] * np.cos(angle) + axis))
        in_y = np.exp(2j * np.pi * np.outer(frequencies, y[:, 0] * np.sin(angle)))
        waves = in_y.T @ (spectrum[1:-1, None] * in_x)
        image += weight / length * (spectrum[0].real + 2 * waves.real)
    radius = circle_radius(width, axis) if radius is None else radius
    return np.where(x**2 + y**2 <= radius**2, image, 0.0)


def project(image: Voxels, angles_rad: Floats, axis: float) -> Floats:
    """Rows (view, column) from a slice, by Joseph's method: line integrals along rays to the middle of every column.

    A ray is read where it crosses the rows of pixels, or their columns if it crosses more of them, interpolated
    linearly between two pixels, with 0 beside the slice; each value counts for the way from one crossing to the next.
    """
    width = image.shape[1]
    half, pixels, away = (width - 1) / 2, np.arange(-1, width + 1), np.arange(width) - axis
    rows = np.zeros((len(angles_rad), width))
    for view, (cosine, sine) in enumerate(zip(np.cos(angles_rad), np.sin(angles_rad), strict=True)):
        is_steep = abs(sine) > abs(cosine)
        for number, line in enumerate(image.T if is_steep else image):
            if is_steep:  # x of this column of pixels; the row where the ray crosses it
                crossing = half - (away - (number - half) * cosine) / sine
            else:  # y of this row of pixels; the column where the ray crosses it
                crossing = half + (away - (half - number) * sine) / cosine
            rows[view] += np.interp(crossing, pixels, np.pad(line.astype(np.float64), 1))
        rows[view] /= abs(sine) if is_steep else abs(cosine)
    return rows


def grid(width: int) -> tuple[Floats, Floats]:
    """x to the right and y upwards of every pixel, from the middle of a slice."""
    along = np.arange(width) - (width - 1) / 2
    return along[None, :] + 0 * along[:, None], -along[:, None] + 0 * along[None, :]


def circle_radius(width: int, axis: float) -> float:
    """How far from the axis every view reaches."""
    middle = (width - 1) / 2
    return middle - abs(middle - axis)
