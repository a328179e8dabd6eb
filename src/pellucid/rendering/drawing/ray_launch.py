"""Running a kernel for every pixel of some rows of an image.

Here: launch_rays, which lays the threads of a kernel over pixels, row by row or tile by tile.
Not here: what is drawn (draw_pass), bands of a CPU (device.kernel_launch).
"""

from collections.abc import Sequence
from typing import Any

from pellucid.device import Device, LaunchRange, launch, runtime

THREADS = 64


def launch_rays(kernel: Any, rows: LaunchRange, inputs: Sequence[Any], outputs: Sequence[Any], device: Device) -> None:
    """Run a kernel for some rows of an image. One with a parameter ``rows`` is given them, and runs tile by tile."""
    if "rows" not in [argument.label for argument in kernel.adj.args]:
        launch(kernel, rows, inputs, outputs, device, block_dim=THREADS)
        return
    from pellucid.rendering.kernels import composite_texture, packets

    height, width = rows.shape
    edge = composite_texture.TILE if device.is_cuda else packets.TILE
    tiles = (-(-height // edge), -(-width // edge))
    portion = (
        LaunchRange((*tiles, THREADS), 0, rows.is_cancelled)
        if device.is_cuda
        else LaunchRange(tiles, 0, rows.is_cancelled, heft=edge * edge)
    )
    drawn = runtime.start().vec2i(rows.start, rows.start + height)
    launch(kernel, portion, [*inputs, drawn], outputs, device, block_dim=THREADS)
