"""Gridding on the CPU: sixteen slices side by side, as eight pairs, in the lanes of vectors.

Here: make_slices, and the memory it takes.
Not here: the method (gridding), the kernels (kernels).

A number of sixteen slices fills a line of the cache, so that laying it on a cell is one load, one product and one
store, and a transform is the same for all of them. Rows of the grid are filled band by band and transformed while they
are in the cache: the grid as a whole never exists.
"""

from functools import cache
from typing import Any

import numpy as np

from pellucid import settings
from pellucid.device import Array, Portion, choose, launch
from pellucid.tomo.backprojection import Geometry, aligned
from pellucid.tomo.filters import response
from pellucid.tomo.gridding_window import window_fading, window_table

LANES = 16
TASKS_PER_THREAD = 4
HEFT = 2**20
"""A task is worth more than any number of ordinary kernel threads: each is started by itself."""


def make_slices(sinograms: Array, geometry: Geometry, name: str, edges: Array, sizes: tuple[int, int]) -> Array:
    """Slices (slice, row, column) from sinograms (slice, view, column).

    edges: per slice, whether it is continued behind its border. sizes: of the transforms of views, and of the grid.
    """
    slices, views, columns = sinograms.shape
    length, size = sizes
    per_pair = 2 if geometry.has_one_axis else 1
    images = np.empty((slices, columns, columns), np.float32)
    spectra, half = aligned((views, length * LANES)), aligned((size, columns * LANES))
    scratch = aligned((_tasks(), scratch_floats(columns, sizes)))
    for start in range(0, slices, 8 * per_pair):
        some = slice(start, min(slices, start + 8 * per_pair))
        part = geometry.part(some)
        _make_spectra(sinograms[some], part, (name, edges[some], per_pair), scratch, spectra)
        _spread(part, scratch, spectra, half)
        _finish(part, per_pair, scratch, half, images[some])
    return images


def scratch_floats(columns: int, sizes: tuple[int, int]) -> int:
    """That a task needs for itself."""
    from pellucid.tomo.kernels import gridding as kernels

    length, size = sizes
    rows = kernels.BAND * (size + 2 * kernels.WIDE) + size
    return LANES * max(2 * length, rows, 2 * size + LANES * columns)


def work_bytes(views: int, columns: int, sizes: tuple[int, int]) -> int:
    """What it takes besides sinograms and slices."""
    length, size = sizes
    return 4 * (LANES * (views * length + size * columns) + _tasks() * scratch_floats(columns, sizes))


def _tasks() -> int:
    return TASKS_PER_THREAD * settings.current().threads


def _make_spectra(
    sinograms: Array, geometry: Geometry, how: tuple[str, Array, int], scratch: Array, spectra: Array
) -> None:
    name, edges, per_pair = how
    columns, length = sinograms.shape[2], spectra.shape[1] // LANES
    gains = (response(name, length) / length).astype(np.float32)
    fade = (0.5 * (1 + np.cos(np.pi * np.arange(columns // 2) / max(1, columns // 2)))).astype(np.float32)
    off = columns // 2 - (columns - 1) / 2
    cosine, sine = geometry.turns.T
    # The detector column of the pixel that the grid takes for the middle.
    shifts = np.ascontiguousarray(geometry.axes[::per_pair, None] + off * (cosine - sine))
    inputs = [sinograms, edges, fade, gains, geometry.weights.astype(np.float32), shifts, *_plan(length, -1), per_pair]
    _run("spectra_cpu", [*inputs, scratch], spectra)


def _spread(geometry: Geometry, scratch: Array, spectra: Array, half: Array) -> None:
    inputs = [spectra, geometry.turns, window_table(), *_plan(len(half), 1), scratch]
    _run("spread_cpu", inputs, half)


def _finish(geometry: Geometry, per_pair: int, scratch: Array, half: Array, images: Array) -> None:
    columns, size = images.shape[1], len(half)
    fading = (window_fading(columns, size) / size).astype(np.float32)
    squares = (geometry.radii(columns) ** 2).astype(np.float32)
    _run("finish_cpu", [half, fading, squares, *_plan(size, 1), per_pair, scratch], images)


def _run(name: str, inputs: list[Any], output: Array) -> None:
    launch(_kernel(name), Portion((_tasks(),), heft=HEFT), inputs=inputs, outputs=[output], device=choose("cpu"))


@cache
def _kernel(name: str) -> Any:
    from pellucid.tomo.kernels import gridding as kernels

    return getattr(kernels, name)()


@cache
def _plan(length: int, direction: int) -> tuple[Any, Any]:
    """The radices of a transform's passes, and its twiddle factors."""
    radices, left = [], length
    for radix in (4, 2, 3, 5):
        while left % radix == 0:
            radices.append(radix)
            left //= radix
    table, n = [], length
    for radix in radices:
        p, u = np.arange(n // radix)[:, None], np.arange(1, radix)
        angles = 2 * np.pi * p * u / n
        table.append(np.stack([np.cos(angles), direction * np.sin(angles)], axis=-1).ravel())
        n //= radix
    return np.array(radices, np.int32), np.concatenate(table).astype(np.float32)
