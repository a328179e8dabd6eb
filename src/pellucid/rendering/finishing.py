"""From a picture on a device to a Frame.

Here: light gathered to bytes over the background, small pictures enlarged, several pictures made one.
Not here: drawing (drawing), the definition of the bytes (frame.to_rgba8).

All of it is done on the device, from which a quarter of the bytes comes.
"""

import time
from typing import Any

import numpy as np

from pellucid.device import Device, launch, runtime
from pellucid.formats.protocol import Voxels
from pellucid.rendering.annotations import annotated
from pellucid.rendering.drawing import Drawn
from pellucid.rendering.frame import Frame, Statistics, full_resolution
from pellucid.rendering.packing import NOTHING_THERE, Size
from pellucid.rendering.scene import Scene


def finished(scene: Scene, drawn: Drawn, size: Size, total: "Total | None" = None) -> Frame:
    """A Frame of so many rows and columns. total: to be shown instead of the picture's own colours."""
    started = time.perf_counter()
    color, depth = drawn.color, drawn.depth
    if color.shape != size:
        color, depth = _enlarged(color, depth, size, drawn.device)
    rgba = _to_bytes(total.mean() if total else color, scene.background, drawn.device)
    rgba = annotated(rgba, scene.camera, scene.annotations)
    far: Voxels = depth.numpy()
    statistics = Statistics(
        drawn.device.name,
        {**drawn.times_s, "finish": time.perf_counter() - started},
        full_resolution(drawn.seen),
        drawn.seen[: len(scene.volumes)],
        scale=drawn.color.shape[0] / size[0],
        pictures=total.pictures if total else 1,
    )
    return Frame(rgba, np.where(far < NOTHING_THERE, far, np.inf), statistics)


class Total:
    """The sum of several pictures of one size."""

    def __init__(self, drawn: Drawn) -> None:
        self._device = drawn.device
        self._sum = runtime.start().clone(drawn.color)
        self.pictures = 1

    def add(self, drawn: Drawn) -> None:
        from pellucid.rendering.kernels import picture

        color = drawn.color.to(self._device.name)
        launch(picture.add, self._sum.shape, [color], [self._sum], self._device)
        self.pictures += 1

    def mean(self) -> Any:
        """Their mean, as a picture on the device."""
        from pellucid.rendering.kernels import picture

        mean = runtime.start().empty_like(self._sum)
        launch(picture.scale, mean.shape, [self._sum, 1 / self.pictures], [mean], self._device)
        return mean


def _to_bytes(color: Any, background: tuple[float, float, float, float], device: Device) -> Voxels:
    from pellucid.rendering.kernels import picture

    warp = runtime.start()
    red, green, blue, opacity = background
    behind = warp.vec4(red * opacity, green * opacity, blue * opacity, opacity)
    rgba = warp.empty(color.shape, dtype=warp.vec4ub, device=device.name)
    launch(picture.to_bytes, color.shape, [color, behind], [rgba], device)
    as_bytes: Voxels = rgba.numpy()
    return as_bytes


def _enlarged(color: Any, depth: Any, size: Size, device: Device) -> tuple[Any, Any]:
    from pellucid.rendering.kernels import picture

    warp = runtime.start()
    larger = warp.empty(size, dtype=warp.vec4, device=device.name)
    larger_depth = warp.empty(size, dtype=warp.float32, device=device.name)
    launch(picture.enlarge, size, [color, depth], [larger, larger_depth], device)
    return larger, larger_depth
