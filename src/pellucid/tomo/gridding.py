"""From sinograms to slices by way of their spectra: much less work than adding up views, for the same picture.

Here: reconstruct_by_gridding.
Not here: the definition (reference.fourier_sum), direct back projection, which keeps to linear interpolation.

The spectrum of a view is a line through the spectrum of the slice. All lines are spread over a grid, half as fine again
as the picture, with a window (the exponential of a half circle) whose fading is divided out of the picture afterwards.
Two slices go together as the real and the imaginary parts of one. Cost: N² log N for N views of N columns.
"""

from functools import cache
from typing import Any

import numpy as np
import scipy.fft

from pellucid import settings
from pellucid.device import Array, Device, Portion, choose, launch, primitives
from pellucid.tomo.backprojection import Geometry
from pellucid.tomo.filters import extended, padded_length, response
from pellucid.tomo.scan import Floats

FINER = 1.5
"""Cells of the grid for a column of the picture."""

BESIDE = 8
"""Cells that a row of the grid is longer by on the CPU: rows a multiple of 4 KiB apart would share few cache lines."""

CUDA_PAIRS = 8
"""That are worked on at once on CUDA; on the CPU it is one for each thread."""


def reconstruct_by_gridding(
    sinograms: Array, geometry: Geometry, name: str, *, padding: str = "auto", device: Device | None = None
) -> Array:
    """Slices (slice, row, column) from unfiltered sinograms (slice, view, column) of a device; ``name``: the filter."""
    device = device or choose()
    geometry.check(sinograms.shape)
    slices, _, columns = sinograms.shape
    images = primitives(device).empty((slices, columns, columns), np.float32)
    per_pair = 2 if geometry.has_one_axis else 1
    at_once = per_pair * (CUDA_PAIRS if device.is_cuda else settings.current().threads)
    grid = _empty_grid(min(at_once, slices), per_pair, columns, device)
    for start in range(0, slices, at_once):
        some = slice(start, min(slices, start + at_once))
        part = geometry.part(some)
        _fill(grid, sinograms[some], part, (name, padding), device)
        lines = _transformed(grid[: -(-(some.stop - start) // per_pair)], columns, device)
        _take(lines, per_pair, part, images[some], device)
        del lines  # The next ones need the room.
    return images


def grid_size(columns: int) -> int:
    """Cells along the edge of the grid: even, quick to transform.

    >>> grid_size(2048)
    3072
    """
    size = scipy.fft.next_fast_len(max(int(np.ceil(FINER * columns)), 32))
    while size % 2:
        size = scipy.fft.next_fast_len(size + 1)
    return int(size)


def _empty_grid(slices: int, per_pair: int, columns: int, device: Device) -> Array:
    """The grid (pair, row, column) of complex numbers, frequency 0 in its middle."""
    size, pairs = grid_size(columns), -(-slices // per_pair)
    room = primitives(device)
    return room.zeros((pairs, size, size + (0 if device.is_cuda else BESIDE)), np.complex64)


def _fill(grid: Array, sinograms: Array, geometry: Geometry, filtering: tuple[str, str], device: Device) -> None:
    """Spread the spectra of sinograms over the grid; filtering: the filter and the padding."""
    room, (slices, views, columns) = primitives(device), sinograms.shape
    length = padded_length(columns, filtering[1])
    per_pair = 2 if geometry.has_one_axis else 1
    pairs = -(-slices // per_pair)
    spectra = _spectra(extended(sinograms, length, filtering[1], device), pairs, per_pair, device)
    gains = (response(filtering[0], length) / length).astype(np.float32)
    numbers = (gains, geometry.weights.astype(np.float32), geometry.turns, _shifts(geometry, columns, per_pair))
    inputs = [spectra.view(np.float32), *map(room.to_device, (*numbers, _table()))]
    shape = (views, pairs, 2 * (length // 2) - 1) if device.is_cuda else Portion((pairs,), heft=views * length)
    cells = grid[:pairs].view(np.float32)
    _clear(cells, device)
    launch(_kernel(device.kind), shape, inputs=inputs, outputs=[cells], device=device)


def _clear(cells: Array, device: Device) -> None:
    # Memory that is had anew costs more than memory that is used again: the system clears it page by page.
    if device.is_cuda:
        from pellucid.tomo.kernels import gridding

        launch(gridding.clear, cells.shape, outputs=[cells], device=device)
    else:
        cells.fill(0)


def _spectra(rows: Array, pairs: int, per_pair: int, device: Device) -> Array:
    room, (slices, views, length) = primitives(device), rows.shape
    paired = room.empty((pairs, views, length), np.complex64)
    if device.is_cuda:
        from pellucid.tomo.kernels import gridding

        inputs, outputs = [rows, per_pair], [paired.view(np.float32)]
        launch(gridding.pair_rows, (views, pairs, length), inputs=inputs, outputs=outputs, device=device)
    else:
        paired.real = rows[::per_pair]
        paired.imag[slices // 2 if per_pair == 2 else 0 :] = 0
        if per_pair == 2:
            paired.imag[: slices // 2] = rows[1::2]
    return room.fft(paired)


def _transformed(grid: Array, columns: int, device: Device) -> Array:
    """The picture's rows of the transformed grid; columns are left whole."""
    room, size = primitives(device), grid.shape[1]
    start = size // 2 - columns // 2
    down = room.ifft(grid[:, :, :size], axes=(1,))
    return room.ifft(down[:, start : start + columns], axes=(2,))


def _take(lines: Array, per_pair: int, geometry: Geometry, images: Array, device: Device) -> None:
    """Slices from the transformed grid, less the fading of the window."""
    room, columns = primitives(device), images.shape[1]
    radii, fading = geometry.radii(columns), _fading(columns, lines.shape[2]).astype(np.float32)
    if device.is_cuda:
        from pellucid.tomo.kernels import gridding

        inputs = [lines.view(np.float32), per_pair, *map(room.to_device, (fading, radii.astype(np.float32)))]
        launch(gridding.take, (columns, len(images), columns), inputs=inputs, outputs=[images], device=device)
        return
    left = lines.shape[2] // 2 - columns // 2
    for number, (image, radius) in enumerate(zip(images, radii, strict=True)):
        pair = lines[number // per_pair, :, left : left + columns]
        np.multiply(pair.imag if number % per_pair else pair.real, fading, out=image)
        np.multiply(image, fading[:, None], out=image)
        _clear_outside(image, radius)


def _clear_outside(image: Array, radius: float) -> None:
    """Set to 0 what lies further from the middle than a radius."""
    columns = len(image)
    away = np.arange(columns) - (columns - 1) / 2
    for row, y in zip(image, away, strict=True):
        reach = np.sqrt(radius**2 - y**2) if abs(y) <= radius else -1.0
        first = int(np.ceil((columns - 1) / 2 - reach)) if reach >= 0 else columns
        if first > 0:
            row[:first] = 0
            row[columns - first :] = 0


def _shifts(geometry: Geometry, columns: int, per_pair: int) -> Floats:
    """(pair, view): the detector column of the pixel that the grid takes for the middle."""
    off = columns // 2 - (columns - 1) / 2
    cosine, sine = geometry.turns.T
    return np.ascontiguousarray(geometry.axes[::per_pair, None] + off * (cosine - sine))


# The window


def _window(place: Floats) -> Floats:
    """At a distance from its middle, in cells."""
    from pellucid.tomo.kernels import gridding

    steepness = 0.97 * np.pi * gridding.TAPS * (1 - 0.5 / FINER)
    inside = 1 - (2 * place / gridding.TAPS) ** 2
    return np.where(inside >= 0, np.exp(steepness * (np.sqrt(np.maximum(inside, 0)) - 1)), 0.0)


@cache
def _table() -> Any:
    """(step, tap): the window at taps that begin a step behind the window's border, with alternating signs."""
    from pellucid.tomo.kernels import gridding

    steps, taps = np.arange(gridding.STEPS + 2) / gridding.STEPS, np.arange(gridding.WIDE)
    values = _window(steps[:, None] + taps - gridding.TAPS / 2) * (-1.0) ** taps
    values[:, gridding.TAPS :] = 0
    return values.astype(np.float32)


def _fading(columns: int, size: int) -> Floats:
    """What to multiply a row or column of the transformed grid by."""
    from pellucid.tomo.kernels import gridding

    nodes, weights = np.polynomial.legendre.leggauss(64)
    places = nodes * gridding.TAPS / 2
    pixels = np.arange(columns) - columns // 2
    waves = np.cos(2 * np.pi * pixels[:, None] * places / size)
    spectrum = waves @ (weights * _window(places)) * gridding.TAPS / 2
    return np.asarray(size * (-1.0) ** pixels / spectrum)


@cache
def _kernel(kind: str) -> Any:
    from pellucid.tomo.kernels import gridding

    return gridding.spread_cuda if kind == "cuda" else gridding.spread_cpu()
