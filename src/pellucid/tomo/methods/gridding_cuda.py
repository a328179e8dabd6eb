"""Gridding on CUDA: up to sixteen slices as eight pairs, threads for every cell of the grid.

Here: make_slices, and the memory it takes.
Not here: the method (gridding), the kernels (kernels).

A cell gathers the samples near it, of all pairs at once, instead of every sample being added to the cells near it: that
takes a third of the time, and sums have an order. Views are sorted by their angle, so that a cell knows which of them
pass near it.
"""

from dataclasses import dataclass

import numpy as np

from pellucid.device import Array, Device, launch, primitives
from pellucid.tomo.methods.direct import ParallelGeometry
from pellucid.tomo.methods.filters import smoothed_response
from pellucid.tomo.methods.gridding_window import steepness, window_fading

PAIRS = 8
"""That are worked on at once."""

LANES = (1, 2, 4, PAIRS)
STEEPEST = 1e30
"""The inverse of a step of 0: every sample is as far along."""


@dataclass(frozen=True)
class Filtering:
    """name: of the filter. edges: per slice, how it is continued behind its border; borders: by which ellipses. length:
    of the transforms."""

    name: str
    edges: Array
    borders: Array
    length: int


def make_slices(sinograms: Array, geometry: ParallelGeometry, filtering: Filtering, size: int, device: Device) -> Array:
    """Slices (slice, row, column) from sinograms (slice, view, column). size: of the grid."""
    slices, _, columns = sinograms.shape
    images = primitives(device).empty((slices, columns, columns), np.float32)
    at_once = PAIRS * geometry.per_pair
    for start in range(0, slices, at_once):
        some = slice(start, min(slices, start + at_once))
        part = geometry.part(some)
        chosen = Filtering(filtering.name, filtering.edges[some], filtering.borders[some], filtering.length)
        grid = _gathered(_tuned(sinograms[some], part, chosen, device), part, size, device)
        # Along both axes at once: one by one they would be copied in between, so that an axis comes last.
        transformed = primitives(device).ifft(grid, axes=(1, 2))
        del grid  # What comes next needs the room.
        _take(transformed, part, images[some], device)
        del transformed
    return images


def work_bytes(slices: int, views: int, length: int, size: int) -> int:
    """What it takes besides sinograms and slices."""
    pairs = min(-(-slices // 2), PAIRS)
    lanes = _lanes(pairs)
    rows, tuned, grid = 8 * pairs * views * length, 8 * lanes * views * length, 8 * pairs * size**2
    return max(2 * rows + tuned, tuned + grid, 3 * grid)


def _tuned(sinograms: Array, geometry: ParallelGeometry, filtering: Filtering, device: Device) -> Array:
    """Spectra (view, frequency, pair), filtered and turned about the axis, in the order of their angles."""
    from pellucid.tomo.kernels import gridding_cuda as kernels

    room, (slices, views, columns), length = primitives(device), sinograms.shape, filtering.length
    pairs = -(-slices // geometry.per_pair)
    paired = room.empty((pairs, views, length), np.complex64)
    inputs, outputs = [sinograms, filtering.edges, filtering.borders, geometry.per_pair], [paired.view(np.float32)]
    launch(kernels.pair_rows, (views, pairs, length), inputs=inputs, outputs=outputs, device=device)
    spectra = room.fft(paired)
    del paired
    places, lanes = 2 * (length // 2) - 1, _lanes(pairs)
    tuned = room.empty((views, places, 2 * lanes), np.float32)
    numbers = (
        _order(geometry),
        (smoothed_response(filtering.name, length) / length).astype(np.float32),
        geometry.weights.astype(np.float32),
        geometry.middles(columns)[:: geometry.per_pair],
    )
    inputs = [spectra.view(np.float32), *map(room.to_device, numbers)]
    launch(kernels.tune, (views, places, lanes), inputs=inputs, outputs=[tuned], device=device)
    return tuned


def _lanes(pairs: int) -> int:
    return next(lanes for lanes in LANES if pairs <= lanes)


def _order(geometry: ParallelGeometry) -> Array:
    """Views by their angle, as lines: half a turn further on is the same."""
    return np.argsort(np.mod(geometry.angles_rad, np.pi), kind="stable").astype(np.int32)


def _gathered(tuned: Array, geometry: ParallelGeometry, size: int, device: Device) -> Array:
    """The grid (pair, row, column), frequency 0 in its middle."""
    from pellucid.tomo.kernels import gridding_cuda as kernels

    room, (_, places, lanes) = primitives(device), tuned.shape
    order = _order(geometry)
    bins = np.arange(kernels.BINS + 1) * (np.pi / kernels.BINS)
    starts = np.searchsorted(np.mod(geometry.angles_rad, np.pi)[order], bins).astype(np.int32)
    starts[-1] = len(order)
    steps = geometry.turns[order] * (1, -1) * (size / (places + 1))
    inverses = np.divide(1, steps, out=np.full(steps.shape, STEEPEST), where=np.abs(steps) > 1 / STEEPEST)
    numbers = (steps, inverses.astype(np.float32), starts)
    grid = room.empty((-(-len(geometry.axes) // geometry.per_pair), size, size), np.complex64)
    tiles, threads = -(-size // kernels.EDGE), kernels.EDGE**2 * kernels.packets(lanes // 2)
    launch(
        kernels.gather(lanes // 2, steepness()),
        (tiles, tiles, threads),
        inputs=[tuned, *map(room.to_device, numbers)],
        outputs=[grid.view(np.float32)],
        device=device,
        block_dim=threads,
    )
    return grid


def _take(transformed: Array, geometry: ParallelGeometry, images: Array, device: Device) -> None:
    """Slices from the transformed grid, less the fading of the window."""
    from pellucid.tomo.kernels import gridding_cuda as kernels

    room, columns = primitives(device), images.shape[1]
    numbers = (window_fading(columns, transformed.shape[2]), geometry.radii(columns))
    tables = [room.to_device(one.astype(np.float32)) for one in numbers]
    inputs = [transformed.view(np.float32), geometry.per_pair, *tables]
    launch(kernels.take, (columns, len(images), columns), inputs=inputs, outputs=[images], device=device)
