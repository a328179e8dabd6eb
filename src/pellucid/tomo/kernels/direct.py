"""Back projection by its definition: every pixel adds up what every view says of it.

Here: the kernels, on the CPU and on CUDA for slices that share an axis (packed side by side), and one for slices that
have an axis each. All of them also as the transpose of projection (kernels.projection).
Not here: filtering, weights of angles, memory (direct).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from pathlib import Path
from typing import Any

import warp as wp

CPU_LANES = 16
CUDA_LANES = 8
TILE = 32
"""Pixels along the edge of a tile on the CPU: its sums and the bins that it reads stay in the second cache."""

BORDER = 3
"""Bins of 0 in a packed row: one before the first column of the detector, two behind the last."""


@wp.kernel(enable_backward=False)
def pack(
    first: wp.int32,
    sinograms: wp.array3d(dtype=wp.float32),
    weights: wp.array(dtype=wp.float32),
    packed: wp.array4d(dtype=wp.float32),
):
    """sinograms (slice, view, column), times the weight of their view, to packed (packet, view, bin, lane)."""
    view, packet, bin = wp.tid()
    view += first
    lanes = packed.shape[3]
    column = bin - 1
    for lane in range(lanes):
        row = packet * lanes + lane
        value = wp.float32(0.0)
        if row < sinograms.shape[0] and column >= 0 and column < sinograms.shape[2]:
            value = sinograms[row, view, column] * weights[view]
        packed[packet, view, bin, lane] = value


def _text(file: str, lanes: int, *, is_transpose: bool) -> str:
    numbers = [f"constexpr int LANES = {lanes}, TILE = {TILE};", f"constexpr bool IS_TRANSPOSE = {int(is_transpose)};"]
    # A product and a sum in one instruction, which Warp does not ask for on a CPU.
    words = Path(__file__).with_name("cuda_words.cpp").read_text()
    start = ["{", "#pragma clang fp contract(fast)" if file.endswith("cpp") else words, *numbers]
    return "\n".join([*start, Path(__file__).with_name(file).read_text(), "}"])


def direct_cpu(*, is_transpose: bool = False) -> Any:
    """The kernel for the CPU; a thread is a tile. turns in double precision. is_transpose: of projection."""

    @wp.func_native(_text("direct.cpp", CPU_LANES, is_transpose=is_transpose))
    def add_tile(
        packed: wp.array4d(dtype=wp.float32),
        turns: wp.array2d(dtype=wp.float64),
        axis: wp.float64,
        radius: wp.float32,
        packet: wp.int32,
        top: wp.int32,
        left: wp.int32,
        image: wp.array3d(dtype=wp.float32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique")
    def back_project_tiles(
        first: wp.int32,
        packed: wp.array4d(dtype=wp.float32),
        turns: wp.array2d(dtype=wp.float64),
        axis: wp.float64,
        radius: wp.float32,
        image: wp.array3d(dtype=wp.float32),
    ):
        down, across, packet = wp.tid()
        add_tile(packed, turns, axis, radius, packet, (down + first) * TILE, across * TILE, image)

    return back_project_tiles


def direct_cuda(*, is_transpose: bool = False) -> Any:
    """The same for CUDA; a thread is a pixel of some slices. turns in single precision."""

    @wp.func_native(_text("direct.cu", CUDA_LANES, is_transpose=is_transpose))
    def add_pixel(
        packed: wp.array4d(dtype=wp.float32),
        turns: wp.array2d(dtype=wp.float32),
        axis: wp.float32,
        radius: wp.float32,
        packet: wp.int32,
        row: wp.int32,
        column: wp.int32,
        image: wp.array3d(dtype=wp.float32),
    ): ...

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
    def back_project_pixels(
        first: wp.int32,
        packed: wp.array4d(dtype=wp.float32),
        turns: wp.array2d(dtype=wp.float32),
        axis: wp.float32,
        radius: wp.float32,
        image: wp.array3d(dtype=wp.float32),
    ):
        """Tiles of 8 by 8 pixels, one to a block of 64 threads."""
        packet, down, across, place = wp.tid()
        row = down * 8 + place // 8
        column = across * 8 + place % 8
        if row < image.shape[1] and column < image.shape[2]:
            add_pixel(packed, turns, axis, radius, packet + first, row, column, image)

    return back_project_pixels


@wp.kernel(enable_backward=False)
def back_project_slices(
    first: wp.int32,
    sinograms: wp.array3d(dtype=wp.float32),
    weights: wp.array(dtype=wp.float32),
    turns: wp.array2d(dtype=wp.float32),
    steepness: wp.array(dtype=wp.float32),
    axes: wp.array(dtype=wp.float32),
    radii: wp.array(dtype=wp.float32),
    image: wp.array3d(dtype=wp.float32),
):
    """A pixel of one slice, whose axis is its own. steepness: per view, of a pixel's triangle; 1 interpolates."""
    row, slice, column = wp.tid()
    row += first
    half = 0.5 * wp.float32(image.shape[1] - 1)
    x = wp.float32(column) - half
    y = half - wp.float32(row)
    total = wp.float32(0.0)
    width = sinograms.shape[2]
    if x * x + y * y <= radii[slice] * radii[slice]:
        for view in range(sinograms.shape[1]):
            place = x * turns[view, 0] + y * turns[view, 1] + axes[slice]
            whole = wp.floor(place)
            weight = place - whole
            left = wp.int32(whole)
            value = wp.float32(0.0)
            steep = steepness[view]
            if left >= 0 and left < width:
                value += wp.max(0.0, steep * (1.0 - weight * steep)) * sinograms[slice, view, left]
            if left >= -1 and left < width - 1:
                value += wp.max(0.0, steep * (1.0 - (1.0 - weight) * steep)) * sinograms[slice, view, left + 1]
            total += value * weights[view]
    image[slice, row, column] = total
