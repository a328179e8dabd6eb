"""Projection along rays, and the arithmetic of iterative methods.

Here: the kernels.
Not here: the methods (iterative).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from pathlib import Path
from typing import Any

import warp as wp

from pellucid.tomo.kernels.direct import BORDER, CPU_LANES, CUDA_LANES

VIEWS, LINES = 16, 8
"""Rays of so many views go through so many lines of the slices at once on the CPU."""


@wp.kernel(enable_backward=False)
def pack_lines(
    first: wp.int32,
    is_steep: wp.int32,
    images: wp.array3d(dtype=wp.float32),
    packed: wp.array3d(dtype=wp.float32),
):
    """images (slice, row, column) to packed (line, place, lane), whose border stays 0; a line is a row, or a column."""
    row, column = wp.tid()
    row += first
    line = row
    place = column + 1
    if is_steep != 0:
        line = column
        place = row + 1
    for lane in range(packed.shape[2]):
        value = wp.float32(0.0)
        if lane < images.shape[0]:
            value = images[lane, row, column]
        packed[line, place, lane] = value


@wp.kernel(enable_backward=False)
def pack_images(first: wp.int32, images: wp.array3d(dtype=wp.float32), packed: wp.array4d(dtype=wp.float32)):
    """images (slice, row, column) to packed (packet, row, column, lane), whose border is 0."""
    packet, row, column = wp.tid()
    packet += first
    lanes = packed.shape[3]
    size = images.shape[1]
    for lane in range(lanes):
        slice = packet * lanes + lane
        value = wp.float32(0.0)
        if slice < images.shape[0] and row > 0 and row <= size and column > 0 and column <= size:
            value = images[slice, row - 1, column - 1]
        packed[packet, row, column, lane] = value


@wp.kernel(enable_backward=False)
def unpack(first: wp.int32, packed: wp.array3d(dtype=wp.float32), sinograms: wp.array3d(dtype=wp.float32)):
    """packed (view, bin, lane) to sinograms (slice, view, column)."""
    view, slice, column = wp.tid()
    view += first
    sinograms[slice, view, column] = packed[view, column, slice]


def project_cpu() -> Any:
    """The kernel for the CPU; a thread is a group of views."""
    numbers = f"constexpr int LANES = {CPU_LANES}, VIEWS = {VIEWS}, LINES = {LINES}, BORDER = {BORDER};"
    text = Path(__file__).with_name("project.cpp").read_text()

    @wp.func_native("\n".join(["{", "#pragma clang fp contract(fast)", numbers, text, "}"]))
    def project_group(
        images: wp.array3d(dtype=wp.float32),
        rays: wp.array2d(dtype=wp.float64),
        views: wp.array(dtype=wp.int32),
        axis: wp.float64,
        group: wp.int32,
        packed: wp.array3d(dtype=wp.float32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique")
    def project_views(
        first: wp.int32,
        images: wp.array3d(dtype=wp.float32),
        rays: wp.array2d(dtype=wp.float64),
        views: wp.array(dtype=wp.int32),
        axis: wp.float64,
        packed: wp.array3d(dtype=wp.float32),
    ):
        group = wp.tid() + first
        project_group(images, rays, views, axis, group, packed)

    return project_views


def project_cuda() -> Any:
    """The kernel for CUDA; a thread is a ray through some slices."""
    numbers = f"constexpr int LANES = {CUDA_LANES}, BORDER = {BORDER};"
    words, text = (Path(__file__).with_name(name).read_text() for name in ("cuda_words.cpp", "project.cu"))

    @wp.func_native("\n".join(["{", words, numbers, text, "}"]))
    def project_ray(
        images: wp.array4d(dtype=wp.float32),
        rays: wp.array2d(dtype=wp.float32),
        axis: wp.float32,
        packet: wp.int32,
        view: wp.int32,
        bin: wp.int32,
        sinograms: wp.array3d(dtype=wp.float32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
    def project_rays(
        first: wp.int32,
        images: wp.array4d(dtype=wp.float32),
        rays: wp.array2d(dtype=wp.float32),
        axis: wp.float32,
        sinograms: wp.array3d(dtype=wp.float32),
    ):
        packet, view, bin = wp.tid()
        project_ray(images, rays, axis, packet + first, view, bin, sinograms)

    return project_rays


@wp.func
def read_pixel(images: wp.array3d(dtype=wp.float32), slice: wp.int32, line: wp.int32, place: wp.int32, is_steep: bool):
    """0 beside the slice."""
    value = wp.float32(0.0)
    if place >= 0 and place < images.shape[1]:
        value = images[slice, line, place]
        if is_steep:
            value = images[slice, place, line]
    return value


@wp.kernel(enable_backward=False)
def project_slices(
    first: wp.int32,
    images: wp.array3d(dtype=wp.float32),
    rays: wp.array2d(dtype=wp.float32),
    axes: wp.array(dtype=wp.float32),
    sinograms: wp.array3d(dtype=wp.float32),
):
    """A ray through one slice, whose axis is its own. rays: as in project.cu."""
    view, slice, bin = wp.tid()
    view += first
    size = images.shape[1]
    per_line = rays[view, 0]
    per_bin = rays[view, 1]
    is_steep = rays[view, 2] != 0.0
    start = 0.5 * wp.float32(size - 1) * (1.0 - per_line) + (wp.float32(bin) - axes[slice]) * per_bin
    total = wp.float32(0.0)
    for line in range(size):
        at = wp.clamp(start + wp.float32(line) * per_line, -1.0, wp.float32(size))
        whole = wp.floor(at)
        left = wp.int32(whole)
        one = read_pixel(images, slice, line, left, is_steep)
        total += one + (at - whole) * (read_pixel(images, slice, line, left + 1, is_steep) - one)
    sinograms[slice, view, bin] = wp.abs(per_bin) * total


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
    """target / by; 0 where nothing is known. by: of every slice, or one for all."""
    row, slice, column = wp.tid()
    row += first
    divisor = by[wp.min(slice, by.shape[0] - 1), row, column]
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


@wp.kernel(enable_backward=False)
def keep_circle(first: wp.int32, radii: wp.array(dtype=wp.float32), images: wp.array3d(dtype=wp.float32)):
    """0 further from the middle than the radius of the slice."""
    row, slice, column = wp.tid()
    row += first
    half = 0.5 * wp.float32(images.shape[1] - 1)
    x = wp.float32(column) - half
    y = half - wp.float32(row)
    if x * x + y * y > radii[slice] * radii[slice]:
        images[slice, row, column] = 0.0
