"""Gridding on CUDA in kernels: pairing rows, tuning spectra, gathering them on a grid, taking the image from it.

Here: the kernels.
Not here: the transforms between them (device.primitive_ops), the CPU's kernels (gridding).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from functools import cache
from pathlib import Path
from typing import Any

import warp as wp

from pellucid.tomo.kernels.filtering import continued, fading
from pellucid.tomo.kernels.gridding import TAPS

EDGE = 4
"""Cells along the edge of a tile, which a block of threads gathers. Its threads wait for the one with most views: tiles
of 32 and 64 cells take a fifth longer."""

BINS = 4096
"""Of the angles of a half turn: where the views that pass near a cell are looked up."""


@wp.kernel(enable_backward=False)
def pair_rows(
    first: wp.int32,
    sinograms: wp.array3d(dtype=wp.float32),
    edges: wp.array(dtype=wp.int32),
    borders: wp.array3d(dtype=wp.float32),
    per_pair: wp.int32,
    pairs: wp.array3d(dtype=wp.float32),
):
    """Rows of real numbers to longer ones of complex numbers, of which two slices are the real and imaginary parts."""
    view, pair, column = wp.tid()
    view += first
    length = pairs.shape[2] // 2
    slice = pair * per_pair
    pairs[pair, view, 2 * column] = extended(sinograms, edges, borders, slice, view, column, length)
    imaginary = wp.float32(0.0)
    if per_pair == 2 and slice + 1 < sinograms.shape[0]:
        imaginary = extended(sinograms, edges, borders, slice + 1, view, column, length)
    pairs[pair, view, 2 * column + 1] = imaginary


@wp.func
def extended(
    sinograms: wp.array3d(dtype=wp.float32),
    edges: wp.array(dtype=wp.int32),
    borders: wp.array3d(dtype=wp.float32),
    slice: wp.int32,
    view: wp.int32,
    column: wp.int32,
    length: wp.int32,
):
    """A row goes on with 0 or, where it is cut off, with its ends continued: the left one wraps round to the end."""
    width = sinograms.shape[2]
    if column < width:
        return sinograms[slice, view, column]
    reach = width // 2
    if edges[slice] == 1:
        if column < width - 1 + reach:
            return fading(column - (width - 1), reach) * sinograms[slice, view, width - 1]
        if column > length - reach:
            return fading(length - column, reach) * sinograms[slice, view, 0]
    if edges[slice] == 2:
        if column < width - 1 + reach:
            return continued(borders, slice, view, 1, column - (width - 1), width)
        if column > length - reach:
            return continued(borders, slice, view, 0, length - column, width)
    return wp.float32(0.0)


@wp.kernel(enable_backward=False)
def tune(
    first: wp.int32,
    spectra: wp.array3d(dtype=wp.float32),
    order: wp.array(dtype=wp.int32),
    gains: wp.array(dtype=wp.float32),
    weights: wp.array(dtype=wp.float32),
    shifts: wp.array2d(dtype=wp.float64),
    tuned: wp.array3d(dtype=wp.float32),
):
    """Spectra (pair, view, frequency) filtered and turned about the axis, to (view in order, place, pair)."""
    place_of_view, place, pair = wp.tid()
    place_of_view += first
    real = wp.float32(0.0)
    imaginary = wp.float32(0.0)
    if pair < spectra.shape[0]:
        view = order[place_of_view]
        length = spectra.shape[2] // 2
        k = place - (length // 2 - 1)
        source = k
        if k < 0:
            source = k + length
        gain = weights[view] * gains[wp.abs(k)]
        # Only what is left of whole turns is taken to single precision.
        turn = wp.float64(k) * shifts[pair, view] / wp.float64(length)
        angle = wp.float32(turn - wp.floor(turn)) * wp.tau
        a = spectra[pair, view, 2 * source]
        b = spectra[pair, view, 2 * source + 1]
        real = gain * (a * wp.cos(angle) - b * wp.sin(angle))
        imaginary = gain * (a * wp.sin(angle) + b * wp.cos(angle))
    tuned[place_of_view, place, 2 * pair] = real
    tuned[place_of_view, place, 2 * pair + 1] = imaginary


def packets(lanes: int) -> int:
    """Threads that work on one cell of so many grids (1, or an even number): each on two grids."""
    return max(1, lanes // 2)


@wp.func
def outwards(turn: wp.int32, tiles: wp.int32):
    """Rows of tiles from the middle outwards. All views pass through the cells in the middle, which take longest: if
    they began later, the card would wait for them alone in the end."""
    if turn % 2 == 0:
        return tiles // 2 + turn // 2
    return tiles // 2 - (turn + 1) // 2


@cache
def gather(lanes: int, steepness: float) -> Any:
    """The kernel that fills cells of so many grids from tuned spectra; a thread is a packet of a cell."""
    per_cell = wp.constant(packets(lanes))
    numbers = f"constexpr int LANES = {lanes}, PACKETS = {packets(lanes)}, BINS = {BINS};"
    window = f"constexpr float HALF = {TAPS / 2}f, STEEPNESS = {steepness}f;"
    packet = f"using Packet = {'float2' if lanes == 1 else 'float4'};"
    words, text = (Path(__file__).with_name(name).read_text() for name in ("cuda_words.cpp", "gathering.cu"))

    @wp.func_native("\n".join(["{", words, numbers, window, packet, text, "}"]))
    def gather_cell(
        spectra: wp.array3d(dtype=wp.float32),
        steps: wp.array2d(dtype=wp.float64),
        inverses: wp.array2d(dtype=wp.float32),
        starts: wp.array(dtype=wp.int32),
        row: wp.int32,
        column: wp.int32,
        packet: wp.int32,
        grid: wp.array3d(dtype=wp.float32),
    ): ...

    # Roots and exponentials as the card computes them: half the time, and 1e-6 of the largest value away.
    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
    def gather_cells(
        first: wp.int32,
        spectra: wp.array3d(dtype=wp.float32),
        steps: wp.array2d(dtype=wp.float64),
        inverses: wp.array2d(dtype=wp.float32),
        starts: wp.array(dtype=wp.int32),
        grid: wp.array3d(dtype=wp.float32),
    ):
        turn, across, thread = wp.tid()
        place = thread // per_cell
        row = outwards(turn + first, (grid.shape[1] + EDGE - 1) // EDGE) * EDGE + place // EDGE
        column = across * EDGE + place % EDGE
        if row < grid.shape[1] and column < grid.shape[1]:
            gather_cell(spectra, steps, inverses, starts, row, column, thread % per_cell, grid)

    return gather_cells


@wp.kernel(enable_backward=False)
def take(
    first: wp.int32,
    grid: wp.array3d(dtype=wp.float32),
    per_pair: wp.int32,
    fading: wp.array(dtype=wp.float32),
    radii: wp.array(dtype=wp.float32),
    images: wp.array3d(dtype=wp.float32),
):
    """Slices from the transformed grid (pair, row, column, real and imaginary), less the window's fading."""
    row, slice, column = wp.tid()
    row += first
    width = images.shape[1]
    half = 0.5 * wp.float32(width - 1)
    x = wp.float32(column) - half
    y = half - wp.float32(row)
    value = wp.float32(0.0)
    if x * x + y * y <= radii[slice] * radii[slice]:
        start = grid.shape[1] // 2 - width // 2
        place = 2 * (start + column) + slice % per_pair
        value = grid[slice // per_pair, start + row, place] * fading[row] * fading[column]
    images[slice, row, column] = value
