"""Images as blocks: written by what draws, and put one over the other.

Here: pack_image, over.
Not here: which images, and in which order (compositing, images.placement).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from typing import Any

import warp as wp

from pellucid.cluster.compute.kernels import as_warp
from pellucid.device import LaunchRange, launch, synchronize
from pellucid.rendering.drawing.packing import NOTHING_THERE

NOTHING = wp.constant(NOTHING_THERE)


@wp.kernel(enable_backward=False)
def packed(
    first: wp.int32,
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
    start: wp.int32,
    out: wp.array3d(dtype=wp.float32),
):
    row, column = wp.tid()
    row += first
    pixel = color[row + start, column]
    for i in range(4):
        out[row, column, i] = pixel[i]
    out[row, column, 4] = depth[row + start, column]


@wp.kernel(enable_backward=False)
def behind(
    first: wp.int32,
    farther: wp.array3d(dtype=wp.float32),
    source_row: wp.int32,
    target_row: wp.int32,
    nearer: wp.array3d(dtype=wp.float32),
):
    row, column = wp.tid()
    row += first
    at = row + target_row
    opacity = nearer[at, column, 3]
    left = 1.0 - opacity
    added = farther[row + source_row, column, 3] * left
    if added > 0.0:
        for i in range(3):
            nearer[at, column, i] = nearer[at, column, i] + farther[row + source_row, column, i] * left
        nearer[at, column, 3] = opacity + added
        if opacity < 0.5 and opacity + added >= 0.5:
            nearer[at, column, 4] = farther[row + source_row, column, 4]


@wp.kernel(enable_backward=False)
def nearest(
    first: wp.int32,
    image: wp.array3d(dtype=wp.float32),
    source_row: wp.int32,
    target_row: wp.int32,
    total: wp.array3d(dtype=wp.float32),
):
    row, column = wp.tid()
    row += first
    at = row + target_row
    if image[row + source_row, column, 4] < total[at, column, 4]:
        for i in range(5):
            total[at, column, i] = image[row + source_row, column, i]


@wp.kernel(enable_backward=False)
def cleared(first: wp.int32, out: wp.array3d(dtype=wp.float32)):
    row, column = wp.tid()
    row += first
    for i in range(4):
        out[row, column, i] = 0.0
    out[row, column, 4] = NOTHING


def pack_image(drawing: Any, start: int, output: Any) -> None:
    """Rows of what was drawn, from start on, as a block."""
    device = drawing.device
    target = as_warp(output.outer, device.name)
    rows = LaunchRange(output.shape[:2])
    launch(packed, rows, [drawing.color, drawing.depth, start], [target], device)
    synchronize(device)


def clear(output: Any, device: Any) -> None:
    """An image with nothing in it."""
    launch(cleared, LaunchRange(output.shape[:2]), [], [as_warp(output.outer, device.name)], device)


def put_behind(image: Any, source_row: int, output: Any, target_row: int, rows: int, device: Any) -> None:
    """Rows of an image behind what is there already."""
    given = [as_warp(image.outer, device.name), source_row, target_row]
    launch(behind, LaunchRange((rows, output.shape[1])), given, [as_warp(output.outer, device.name)], device)


def put_nearest(image: Any, source_row: int, output: Any, target_row: int, rows: int, device: Any) -> None:
    """Rows of an image where they are nearer than what is there already."""
    given = [as_warp(image.outer, device.name), source_row, target_row]
    launch(nearest, LaunchRange((rows, output.shape[1])), given, [as_warp(output.outer, device.name)], device)
