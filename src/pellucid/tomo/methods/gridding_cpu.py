"""Gridding on the CPU: sixteen slices side by side, as eight pairs, in the lanes of vectors.

Here: make_slices, and the memory it takes.
Not here: the method (gridding), the kernels (kernels).

A number of sixteen slices fills a line of the cache, so that laying it on a cell is one load, one product and one
store, and a transform is the same for all of them. Rows of the grid are filled band by band and transformed while they
are in the cache: the grid as a whole never exists.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from pellucid import settings
from pellucid.device import Array, LaunchRange, choose, launch
from pellucid.tomo.methods.direct import ParallelGeometry, aligned
from pellucid.tomo.methods.filters import smoothed_response
from pellucid.tomo.methods.gridding_window import window_fading, window_table

LANES = 16
TASKS_PER_THREAD = 4
HEFT = 2**20
"""A task is worth more than any number of ordinary kernel threads: each is started by itself."""


def make_slices(
    sinograms: Array, geometry: ParallelGeometry, name: str, ends: tuple[Array, Array], sizes: tuple[int, int]
) -> Array:
    """Slices (slice, row, column) from sinograms (slice, view, column).

    ends: how every slice is continued behind its border, and by which ellipses (filters). sizes: of the transforms of
    views, and of the grid.
    """
    slices, views, columns = sinograms.shape
    length, size = sizes
    edges, borders = ends
    per_pair = geometry.per_pair
    images = np.empty((slices, columns, columns), np.float32)
    shape = Shapes(views, columns, length, size, _tasks())
    with _room(shape) as (spectra, half, scratch):
        for start in range(0, slices, 8 * per_pair):
            some = slice(start, min(slices, start + 8 * per_pair))
            part = geometry.part(some)
            _make_spectra(sinograms[some], part, (name, (edges[some], borders[some]), per_pair), scratch, spectra)
            _spread(part, columns, scratch, spectra, half)
            _finish(part, per_pair, scratch, half, images[some])
    return images


# Room to work in


@dataclass(frozen=True)
class Shapes:
    """What the memory depends on. length, size: of the transforms of views, and of the grid. tasks: at a time."""

    views: int
    columns: int
    length: int
    size: int
    tasks: int

    @property
    def spectra(self) -> tuple[int, int]:
        return self.views, LANES * self.length

    @property
    def half(self) -> tuple[int, int]:
        """Half-way: rows are transformed. Sixteen columns lie together, as they are needed next."""
        return -(-self.columns // LANES), LANES * LANES * self.size

    @property
    def scratch(self) -> tuple[int, int]:
        from pellucid.tomo.kernels import gridding as kernels

        rows = kernels.BAND * (self.size + 2 * kernels.WIDE) + self.size
        return self.tasks, LANES * max(2 * self.length, rows, 5 * self.size + LANES * self.columns)


Room = tuple[Array, Array, Array]
_keepers = 0
_kept: dict[Shapes, Room] = {}
_LOCK = threading.Lock()


@contextmanager
def reuse_buffers() -> Iterator[None]:
    """While this is open, memory is used again: to be given gigabytes anew takes as long as a part of the work."""
    global _keepers  # noqa: PLW0603 -- who keeps it are many, and it is one.
    with _LOCK:
        _keepers += 1
    try:
        yield
    finally:
        with _LOCK:
            _keepers -= 1
            if _keepers == 0:
                _kept.clear()


@contextmanager
def _room(shapes: Shapes) -> Iterator[Room]:
    with _LOCK:
        room = _kept.pop(shapes, None)
        _kept.clear()  # Of another size: not needed any more.
    room = room or (aligned(shapes.spectra), aligned(shapes.half), aligned(shapes.scratch))
    yield room
    with _LOCK:
        if _keepers:
            _kept[shapes] = room


def work_bytes(views: int, columns: int, sizes: tuple[int, int]) -> int:
    """What it takes besides sinograms and slices; the window's fading is a sum over 64 places, in double precision."""
    shapes = Shapes(views, columns, *sizes, _tasks())
    return 4 * sum(prod(one) for one in (shapes.spectra, shapes.half, shapes.scratch)) + 3 * 8 * 64 * columns


def _tasks() -> int:
    return TASKS_PER_THREAD * settings.current().threads


def _make_spectra(
    sinograms: Array,
    geometry: ParallelGeometry,
    how: tuple[str, tuple[Array, Array], int],
    scratch: Array,
    spectra: Array,
) -> None:
    name, ends, per_pair = how
    columns, length = sinograms.shape[2], spectra.shape[1] // LANES
    gains = (smoothed_response(name, length) / length).astype(np.float32)
    fade = (0.5 * (1 + np.cos(np.pi * np.arange(columns // 2) / max(1, columns // 2)))).astype(np.float32)
    shifts = np.ascontiguousarray(geometry.middles(columns)[::per_pair])
    weights, plan = geometry.weights.astype(np.float32), _plan(length, -1)
    inputs = [sinograms, *ends, fade, gains, weights, shifts, *plan, per_pair]
    _run("spectra_cpu", [*inputs, scratch], spectra)


def _spread(geometry: ParallelGeometry, columns: int, scratch: Array, spectra: Array, half: Array) -> None:
    plan = _plan(half.shape[1] // LANES**2, 1)
    inputs = [spectra, geometry.turns, window_table(), *plan, columns, scratch]
    _run("spread_cpu", inputs, half)


def _finish(geometry: ParallelGeometry, per_pair: int, scratch: Array, half: Array, images: Array) -> None:
    columns, size = images.shape[1], half.shape[1] // LANES**2
    fading = (window_fading(columns, size) / size).astype(np.float32)
    squares = (geometry.radii(columns) ** 2).astype(np.float32)
    _run("finish_cpu", [half, fading, squares, *_plan(size, 1), per_pair, scratch], images)


def _run(name: str, inputs: list[Any], output: Array) -> None:
    launch(_kernel(name), LaunchRange((_tasks(),), heft=HEFT), inputs=inputs, outputs=[output], device=choose("cpu"))


@cache
def _kernel(name: str) -> Any:
    from pellucid.tomo.kernels import gridding as kernels

    return getattr(kernels, name)()


@cache
def _plan(length: int, direction: int) -> tuple[Any, Any]:
    """The radices of a transform's passes, and its twiddle factors."""
    radices, left = [], length
    for radix in (8, 4, 2, 3, 5):
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
