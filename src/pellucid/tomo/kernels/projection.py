"""Projection, the exact transpose of direct back projection, and the arithmetic of iterative methods.

Here: the kernels.
Not here: the methods (iterative).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

from pathlib import Path
from typing import Any

import warp as wp

from pellucid.tomo.kernels.direct import CPU_LANES

VIEWS = 8
"""That are made at once on the CPU, for one reading of the slices."""


@wp.kernel(enable_backward=False)
def pack_images(first: wp.int32, images: wp.array3d(dtype=wp.float32), packed: wp.array3d(dtype=wp.float32)):
    """images (slice, row, column) to packed (row, column, lane)."""
    row, column = wp.tid()
    row += first
    for lane in range(packed.shape[2]):
        value = wp.float32(0.0)
        if lane < images.shape[0]:
            value = images[lane, row, column]
        packed[row, column, lane] = value


@wp.kernel(enable_backward=False)
def unpack(first: wp.int32, packed: wp.array4d(dtype=wp.float32), sinograms: wp.array3d(dtype=wp.float32)):
    """The first packet (packet, view, bin, lane) to sinograms (slice, view, column)."""
    view, slice, column = wp.tid()
    view += first
    sinograms[slice, view, column] = packed[0, view, column + 1, slice]


def project_cpu() -> Any:
    """The kernel for the CPU; a thread is a group of views."""
    numbers = f"constexpr int LANES = {CPU_LANES}, VIEWS = {VIEWS};"
    text = Path(__file__).with_name("project.cpp").read_text()

    @wp.func_native("\n".join(["{", "#pragma clang fp contract(fast)", numbers, text, "}"]))
    def project_group(
        images: wp.array3d(dtype=wp.float32),
        turns: wp.array2d(dtype=wp.float64),
        axis: wp.float64,
        radius: wp.float32,
        group: wp.int32,
        packed: wp.array4d(dtype=wp.float32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique")
    def project_views(
        first: wp.int32,
        images: wp.array3d(dtype=wp.float32),
        turns: wp.array2d(dtype=wp.float64),
        axis: wp.float64,
        radius: wp.float32,
        packed: wp.array4d(dtype=wp.float32),
    ):
        group = wp.tid() + first
        project_group(images, turns, axis, radius, group, packed)

    return project_views


@wp.kernel(enable_backward=False)
def project_bins(
    first: wp.int32,
    images: wp.array3d(dtype=wp.float32),
    turns: wp.array2d(dtype=wp.float32),
    axes: wp.array(dtype=wp.float32),
    radii: wp.array(dtype=wp.float32),
    sinograms: wp.array3d(dtype=wp.float32),
):
    """A bin of a view: pixels no further than one column from it, along lines across the direction of the beam."""
    view, slice, bin = wp.tid()
    view += first
    size = images.shape[1]
    half = 0.5 * wp.float32(size - 1)
    cosine = turns[view, 0]
    sine = turns[view, 1]
    reach = radii[slice] * radii[slice]
    is_steep = wp.abs(sine) > wp.abs(cosine)
    along = cosine
    across = sine
    if is_steep:
        along = sine
        across = cosine
    total = wp.float32(0.0)
    for line in range(size):
        other = wp.float32(line) - half
        # x cosine + y sine = bin - axis, solved for the coordinate that the view resolves best.
        middle = (wp.float32(bin) - axes[slice] - other * across) / along
        start = wp.int32(wp.ceil(middle - 1.0 / wp.abs(along) + half))
        for step in range(4):
            place = start + step
            if place >= 0 and place < size:
                coordinate = wp.float32(place) - half
                distance = wp.abs(coordinate * along + other * across + axes[slice] - wp.float32(bin))
                if distance < 1.0 and coordinate * coordinate + other * other <= reach:
                    column = place
                    row = size - 1 - line
                    if is_steep:
                        column = line
                        row = size - 1 - place
                    total += (1.0 - distance) * images[slice, row, column]
    sinograms[slice, view, bin] = total


@wp.kernel(enable_backward=False)
def scale(first: wp.int32, factor: wp.float32, target: wp.array3d(dtype=wp.float32)):
    row, slice, column = wp.tid()
    row += first
    target[slice, row, column] = factor * target[slice, row, column]


@wp.kernel(enable_backward=False)
def add_scaled(
    first: wp.int32,
    factors: wp.array(dtype=wp.float32),
    source: wp.array3d(dtype=wp.float32),
    target: wp.array3d(dtype=wp.float32),
):
    """target + factor of the slice x source."""
    row, slice, column = wp.tid()
    row += first
    target[slice, row, column] = target[slice, row, column] + factors[slice] * source[slice, row, column]


@wp.kernel(enable_backward=False)
def scale_and_add(
    first: wp.int32,
    factors: wp.array(dtype=wp.float32),
    source: wp.array3d(dtype=wp.float32),
    target: wp.array3d(dtype=wp.float32),
):
    """source + factor of the slice x target."""
    row, slice, column = wp.tid()
    row += first
    target[slice, row, column] = source[slice, row, column] + factors[slice] * target[slice, row, column]


@wp.kernel(enable_backward=False)
def divide(first: wp.int32, by: wp.array3d(dtype=wp.float32), target: wp.array3d(dtype=wp.float32)):
    """target / by; 0 where nothing is known."""
    row, slice, column = wp.tid()
    row += first
    divisor = by[slice, row, column]
    value = wp.float32(0.0)
    if divisor > 1.0e-6:
        value = target[slice, row, column] / divisor
    target[slice, row, column] = value


@wp.kernel(enable_backward=False)
def clip_below_zero(first: wp.int32, target: wp.array3d(dtype=wp.float32)):
    row, slice, column = wp.tid()
    row += first
    target[slice, row, column] = wp.max(target[slice, row, column], 0.0)


@wp.kernel(enable_backward=False)
def sum_squares(first: wp.int32, values: wp.array3d(dtype=wp.float32), sums: wp.array2d(dtype=wp.float64)):
    """Of every row of every slice."""
    row, slice = wp.tid()
    row += first
    total = wp.float64(0.0)
    for column in range(values.shape[2]):
        value = wp.float64(values[slice, row, column])
        total += value * value
    sums[slice, row] = total
