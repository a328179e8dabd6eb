"""Launching the kernels that follow rays: by rows of pixels, or by tiles where a kernel wants them.

Here: launch_rays.
Not here: the kernels, what of a picture is drawn when (drawing).
"""

from collections.abc import Sequence
from typing import Any

from pellucid.device import Device, Portion, launch, runtime

THREADS = 64


def launch_rays(kernel: Any, rows: Portion, inputs: Sequence[Any], outputs: Sequence[Any], device: Device) -> None:
    """Run a kernel for some rows of a picture. One with a parameter ``rows`` is given them, and runs tile by tile."""
    if "rows" not in [argument.label for argument in kernel.adj.args]:
        launch(kernel, rows, inputs, outputs, device, block_dim=THREADS)
        return
    from pellucid.rendering.kernels import packets, textured

    height, width = rows.shape
    edge = textured.TILE if device.is_cuda else packets.TILE
    tiles = (-(-height // edge), -(-width // edge))
    portion = (
        Portion((*tiles, THREADS), 0, rows.is_cancelled)
        if device.is_cuda
        else Portion(tiles, 0, rows.is_cancelled, heft=edge * edge)
    )
    drawn = runtime.start().vec2i(rows.start, rows.start + height)
    launch(kernel, portion, [*inputs, drawn], outputs, device, block_dim=THREADS)
