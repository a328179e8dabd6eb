"""Gridding on the CPU in kernels: spectra of views, laying them on a grid, taking the image from it.

Here: the kernels, their transforms among them.
Not here: the window and its table (gridding_window), CUDA's kernels (gridding_cuda).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from pathlib import Path
from typing import Any

import warp as wp

TAPS = 6
WIDE = 8
STEPS = 512
BAND = 32
"""TAPS: cells of the grid, along each axis, that a sample is spread over; WIDE: the same, rounded up to a vector.
STEPS: of the table between two cells. BAND: rows of the grid that are filled together on the CPU."""


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
        borders: wp.array3d(dtype=wp.float32),
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
        borders: wp.array3d(dtype=wp.float32),
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
            sinograms, edges, borders, fade, gains, weights, shifts, radices, twiddles, per_pair, tasks, task, scratch,
            spectra,
        )  # fmt: skip

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
