"""From sinograms to slices by way of their spectra: much less work than adding up views, for the same picture.

Here: reconstruct_by_gridding, and how it is done on CUDA.
Not here: the definition (reference.fourier_sum), the CPU (gridding_cpu), the window (gridding_window), direct back
projection, which keeps to linear interpolation.

The spectrum of a view is a line through the spectrum of the slice. All lines are spread over a grid, half as fine again
as the picture, with a window (the exponential of a half circle) whose fading is divided out of the picture afterwards.
Two slices go together as the real and the imaginary parts of one. Cost: N² log N for N views of N columns.
"""

import numpy as np

from pellucid.device import Array, Device, choose, launch, primitives
from pellucid.tomo import gridding_cpu
from pellucid.tomo.backprojection import Geometry
from pellucid.tomo.filters import border_flags, extended, padded_length, response
from pellucid.tomo.gridding_window import grid_size, window_fading, window_table
from pellucid.tomo.scan import Floats

CUDA_PAIRS = 8
"""That are worked on at once on CUDA."""


def reconstruct_by_gridding(
    sinograms: Array, geometry: Geometry, name: str, *, padding: str = "auto", device: Device | None = None
) -> Array:
    """Slices (slice, row, column) from unfiltered sinograms (slice, view, column) of a device; ``name``: the filter."""
    device = device or choose()
    geometry.check(sinograms.shape)
    columns = sinograms.shape[2]
    if device.is_cuda:
        return _on_cuda(sinograms, geometry, (name, padding), device)
    sizes = padded_length(columns, padding), grid_size(columns)
    return gridding_cpu.make_slices(sinograms, geometry, name, border_flags(sinograms, padding, device), sizes)


def _on_cuda(sinograms: Array, geometry: Geometry, filtering: tuple[str, str], device: Device) -> Array:
    """filtering: the filter and the padding."""
    slices, _, columns = sinograms.shape
    room, size = primitives(device), grid_size(columns)
    images = room.empty((slices, columns, columns), np.float32)
    per_pair = 2 if geometry.has_one_axis else 1
    at_once = per_pair * CUDA_PAIRS
    grid = room.zeros((-(-min(at_once, slices) // per_pair), size, size), np.complex64)
    for start in range(0, slices, at_once):
        some = slice(start, min(slices, start + at_once))
        part = geometry.part(some)
        _fill(grid, sinograms[some], part, filtering, device)
        lines = _transformed(grid[: -(-(some.stop - start) // per_pair)], columns, device)
        _take(lines, per_pair, part, images[some], device)
        del lines  # The next ones need the room.
    return images


def _fill(grid: Array, sinograms: Array, geometry: Geometry, filtering: tuple[str, str], device: Device) -> None:
    """Spread the spectra of sinograms over the grid (pair, row, column), frequency 0 in its middle."""
    from pellucid.tomo.kernels import gridding as kernels

    room, (slices, views, columns) = primitives(device), sinograms.shape
    length = padded_length(columns, filtering[1])
    per_pair = 2 if geometry.has_one_axis else 1
    pairs = -(-slices // per_pair)
    spectra = _spectra(extended(sinograms, length, filtering[1], device), pairs, per_pair, device)
    gains = (response(filtering[0], length) / length).astype(np.float32)
    numbers = (gains, geometry.weights.astype(np.float32), geometry.turns, _shifts(geometry, columns, per_pair))
    inputs = [spectra.view(np.float32), *map(room.to_device, (*numbers, window_table()))]
    cells = grid[:pairs].view(np.float32)
    launch(kernels.clear, cells.shape, outputs=[cells], device=device)
    shape = (views, pairs, 2 * (length // 2) - 1)
    launch(kernels.spread_cuda, shape, inputs=inputs, outputs=[cells], device=device)


def _spectra(rows: Array, pairs: int, per_pair: int, device: Device) -> Array:
    from pellucid.tomo.kernels import gridding as kernels

    room, (_, views, length) = primitives(device), rows.shape
    paired = room.empty((pairs, views, length), np.complex64)
    inputs, outputs = [rows, per_pair], [paired.view(np.float32)]
    launch(kernels.pair_rows, (views, pairs, length), inputs=inputs, outputs=outputs, device=device)
    return room.fft(paired)


def _transformed(grid: Array, columns: int, device: Device) -> Array:
    """The picture's rows of the transformed grid; columns are left whole."""
    room, size = primitives(device), grid.shape[1]
    start = size // 2 - columns // 2
    down = room.ifft(grid, axes=(1,))
    return room.ifft(down[:, start : start + columns], axes=(2,))


def _take(lines: Array, per_pair: int, geometry: Geometry, images: Array, device: Device) -> None:
    """Slices from the transformed grid, less the fading of the window."""
    from pellucid.tomo.kernels import gridding as kernels

    room, columns = primitives(device), images.shape[1]
    radii, fading = geometry.radii(columns), window_fading(columns, lines.shape[2])
    inputs = [lines.view(np.float32), per_pair, *(room.to_device(one.astype(np.float32)) for one in (fading, radii))]
    launch(kernels.take, (columns, len(images), columns), inputs=inputs, outputs=[images], device=device)


def _shifts(geometry: Geometry, columns: int, per_pair: int) -> Floats:
    """(pair, view): the detector column of the pixel that the grid takes for the middle."""
    off = columns // 2 - (columns - 1) / 2
    cosine, sine = geometry.turns.T
    return np.ascontiguousarray(geometry.axes[::per_pair, None] + off * (cosine - sine))
