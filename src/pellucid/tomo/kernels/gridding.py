"""Around the transforms of gridding: pairing rows, laying spectra on a grid, taking the picture from it.

Here: the kernels.
Not here: the transforms (device.primitives), the window and its table (gridding).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

from pathlib import Path
from typing import Any

import warp as wp

TAPS = 6
HALF = wp.constant(0.5 * TAPS)
WIDE = 8
STEPS = 512
BAND = 32
"""TAPS: cells of the grid, along each axis, that a sample is spread over; WIDE: the same, rounded up to a vector.
STEPS: of the table between two cells. BAND: rows of the grid that are filled together on the CPU."""


@wp.kernel(enable_backward=False)
def pair_rows(
    first: wp.int32, rows: wp.array3d(dtype=wp.float32), per_pair: wp.int32, pairs: wp.array3d(dtype=wp.float32)
):
    """Rows of real numbers to rows of complex ones, of which two slices are the real and the imaginary parts."""
    view, pair, column = wp.tid()
    view += first
    slice = pair * per_pair
    pairs[pair, view, 2 * column] = rows[slice, view, column]
    imaginary = wp.float32(0.0)
    if per_pair == 2 and slice + 1 < rows.shape[0]:
        imaginary = rows[slice + 1, view, column]
    pairs[pair, view, 2 * column + 1] = imaginary


@wp.kernel(enable_backward=False)
def clear(first: wp.int32, cells: wp.array3d(dtype=wp.float32)):
    pair, row, column = wp.tid()
    cells[pair + first, row, column] = 0.0


def _native(name: str) -> str:
    """The body of a function in C++: the transforms, and what one file says."""
    texts = [Path(__file__).with_name(f"{part}.cpp").read_text() for part in ("fft", name)]
    numbers = f"constexpr int TAPS = {TAPS}, WIDE = {WIDE}, STEPS = {STEPS}, BAND = {BAND};"
    return "\n".join(["{", "#pragma clang fp contract(fast)", numbers, *texts, "}"])


def spectra_cpu() -> Any:
    """The kernel that makes spectra of views; a thread is a task, which has every so many-th view."""

    @wp.func_native(_native("spectra"))
    def make_spectra(
        sinograms: wp.array3d(dtype=wp.float32),
        edges: wp.array(dtype=wp.int32),
        fade: wp.array(dtype=wp.float32),
        gains: wp.array(dtype=wp.float32),
        weights: wp.array(dtype=wp.float32),
        shifts: wp.array2d(dtype=wp.float64),
        radices: wp.array(dtype=wp.int32),
        twiddles: wp.array(dtype=wp.float32),
        per_pair: wp.int32,
        tasks: wp.int32,
        task: wp.int32,
        scratch: wp.array2d(dtype=wp.float32),
        spectra: wp.array2d(dtype=wp.float32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique")
    def spectra_of_views(
        first: wp.int32,
        sinograms: wp.array3d(dtype=wp.float32),
        edges: wp.array(dtype=wp.int32),
        fade: wp.array(dtype=wp.float32),
        gains: wp.array(dtype=wp.float32),
        weights: wp.array(dtype=wp.float32),
        shifts: wp.array2d(dtype=wp.float64),
        radices: wp.array(dtype=wp.int32),
        twiddles: wp.array(dtype=wp.float32),
        per_pair: wp.int32,
        scratch: wp.array2d(dtype=wp.float32),
        spectra: wp.array2d(dtype=wp.float32),
    ):
        task = wp.tid() + first
        tasks = scratch.shape[0]
        make_spectra(
            sinograms, edges, fade, gains, weights, shifts, radices, twiddles, per_pair, tasks, task, scratch, spectra
        )

    return spectra_of_views


def spread_cpu() -> Any:
    """The kernel that lays spectra on rows of the grid and transforms these; a thread is a task of many bands."""

    @wp.func_native(_native("spread"))
    def spread_bands(
        spectra: wp.array2d(dtype=wp.float32),
        turns: wp.array2d(dtype=wp.float64),
        table: wp.array2d(dtype=wp.float32),
        radices: wp.array(dtype=wp.int32),
        twiddles: wp.array(dtype=wp.float32),
        columns: wp.int32,
        tasks: wp.int32,
        task: wp.int32,
        scratch: wp.array2d(dtype=wp.float32),
        half: wp.array2d(dtype=wp.float32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique")
    def spread_rows(
        first: wp.int32,
        spectra: wp.array2d(dtype=wp.float32),
        turns: wp.array2d(dtype=wp.float64),
        table: wp.array2d(dtype=wp.float32),
        radices: wp.array(dtype=wp.int32),
        twiddles: wp.array(dtype=wp.float32),
        columns: wp.int32,
        scratch: wp.array2d(dtype=wp.float32),
        half: wp.array2d(dtype=wp.float32),
    ):
        task = wp.tid() + first
        spread_bands(spectra, turns, table, radices, twiddles, columns, scratch.shape[0], task, scratch, half)

    return spread_rows


def finish_cpu() -> Any:
    """The kernel that transforms columns and parts them into slices; a thread is a task of many columns."""

    @wp.func_native(_native("finish"))
    def finish_columns(
        half: wp.array2d(dtype=wp.float32),
        fading: wp.array(dtype=wp.float32),
        squares: wp.array(dtype=wp.float32),
        radices: wp.array(dtype=wp.int32),
        twiddles: wp.array(dtype=wp.float32),
        per_pair: wp.int32,
        tasks: wp.int32,
        task: wp.int32,
        scratch: wp.array2d(dtype=wp.float32),
        images: wp.array3d(dtype=wp.float32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique")
    def finished(
        first: wp.int32,
        half: wp.array2d(dtype=wp.float32),
        fading: wp.array(dtype=wp.float32),
        squares: wp.array(dtype=wp.float32),
        radices: wp.array(dtype=wp.int32),
        twiddles: wp.array(dtype=wp.float32),
        per_pair: wp.int32,
        scratch: wp.array2d(dtype=wp.float32),
        images: wp.array3d(dtype=wp.float32),
    ):
        task = wp.tid() + first
        finish_columns(half, fading, squares, radices, twiddles, per_pair, scratch.shape[0], task, scratch, images)

    return finished


@wp.kernel(enable_backward=False, module="unique")
def spread_cuda(
    first: wp.int32,
    spectra: wp.array3d(dtype=wp.float32),
    gains: wp.array(dtype=wp.float32),
    weights: wp.array(dtype=wp.float32),
    turns: wp.array2d(dtype=wp.float64),
    shifts: wp.array2d(dtype=wp.float64),
    table: wp.array2d(dtype=wp.float32),
    grid: wp.array3d(dtype=wp.float32),
):
    """One sample of a spectrum, added atomically: on CUDA only, where the order of sums is not fixed."""
    view, pair, place = wp.tid()
    view += first
    length = spectra.shape[2] // 2
    size = grid.shape[1]
    k = place - (length // 2 - 1)
    source = k
    if k < 0:
        source = k + length
    gain = weights[view] * gains[wp.abs(k)]
    # Only what is left of whole turns is taken to single precision.
    turn = wp.float64(k) * shifts[pair, view] / wp.float64(length)
    angle = wp.float32(turn - wp.floor(turn)) * wp.tau
    real = spectra[pair, view, 2 * source]
    imaginary = spectra[pair, view, 2 * source + 1]
    a = gain * (real * wp.cos(angle) - imaginary * wp.sin(angle))
    b = gain * (real * wp.sin(angle) + imaginary * wp.cos(angle))
    scale = wp.float64(k) * wp.float64(size) / wp.float64(length)
    corner = wp.float64(size // 2) - wp.float64(HALF)
    x = scale * turns[view, 0] + corner
    y = -scale * turns[view, 1] + corner
    column = wp.int32(wp.ceil(x))
    row = wp.int32(wp.ceil(y))
    at_x = wp.float32(wp.float64(column) - x) * wp.float32(STEPS)
    at_y = wp.float32(wp.float64(row) - y) * wp.float32(STEPS)
    step_x = wp.int32(at_x)
    step_y = wp.int32(at_y)
    if (row + column) % 2 != 0:
        a = -a
        b = -b
    for t in range(TAPS):
        down = table[step_y, t] + (at_y - wp.float32(step_y)) * (table[step_y + 1, t] - table[step_y, t])
        line = (row + t + size) % size
        for u in range(TAPS):
            along = table[step_x, u] + (at_x - wp.float32(step_x)) * (table[step_x + 1, u] - table[step_x, u])
            cell = (column + u + size) % size
            wp.atomic_add(grid, pair, line, 2 * cell, a * along * down)
            wp.atomic_add(grid, pair, line, 2 * cell + 1, b * along * down)


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
        left = grid.shape[2] // 4 - width // 2
        place = 2 * (left + column) + slice % per_pair
        value = grid[slice // per_pair, row, place] * fading[row] * fading[column]
    images[slice, row, column] = value
