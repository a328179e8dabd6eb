"""From an image on a device to a Frame.

Here: light gathered to bytes over the background, small images enlarged, several images made one.
Not here: drawing (drawing), the definition of the bytes (frame.to_rgba8).

Images are added and made bytes on the device, from which a quarter of the bytes comes.
"""

from typing import Any

from pellucid.device import Device, LaunchRange, launch, runtime, synchronize
from pellucid.device.pinned_memory import to_host
from pellucid.formats.protocol import Voxels
from pellucid.rendering.annotations import annotated
from pellucid.rendering.drawing.draw_pass import DeviceFrame, Stopwatch
from pellucid.rendering.drawing.packing import NOTHING_THERE, Size
from pellucid.rendering.figures.color_bar import with_color_bar
from pellucid.rendering.first_view.orientation import index_signs
from pellucid.rendering.frame import Frame, FrameStatistics, enlarged, enlarged_depth, full_resolution
from pellucid.rendering.legend import with_legend
from pellucid.rendering.scene import Scene


def to_frame(scene: Scene, drawn: DeviceFrame, size: Size, total: "FrameSum | None" = None) -> Frame:
    """A Frame of so many rows and columns. total: to be shown instead of the image's own colours."""
    watch = Stopwatch(dict(drawn.times_s))
    rgba, depth = _to_host(total.mean() if total else drawn.color, drawn.depth, scene.background, drawn.device)
    watch.lap("finish")
    synchronize(drawn.device)
    watch.lap("draw")  # On CUDA it was queued, and most of the waiting is for it.
    rgba = annotated(enlarged(rgba, size), scene.camera, scene.annotations, index_signs(scene))
    rgba = with_color_bar(with_legend(rgba, scene), scene)
    depth = enlarged_depth(depth, size)
    watch.lap("finish")
    statistics = FrameStatistics(
        drawn.device.name,
        watch.times_s,
        full_resolution(drawn.seen),
        drawn.seen[: len(scene.volumes)],
        scale=drawn.color.shape[0] / size[0],
        images=total.images if total else 1,
        paths=drawn.total.samples if drawn.total else 0,
        missing_paths=max(0, scene.cinematic.samples - drawn.total.samples) if drawn.total else 0,
        is_along_rays=drawn.is_along_rays,
    )
    return Frame(rgba, depth, statistics, scene.sources)


class FrameSum:
    """The sum of several images of one size."""

    def __init__(self, drawn: DeviceFrame) -> None:
        self._device = drawn.device
        self._sum = runtime.start().clone(drawn.color)
        self.images = 1

    def add(self, drawn: DeviceFrame) -> None:
        from pellucid.rendering.kernels import averaging

        color = drawn.color.to(self._device.name)
        launch(averaging.add, self._sum.shape, [color], [self._sum], self._device)
        self.images += 1

    def mean(self) -> Any:
        """Their mean, as an image on the device."""
        from pellucid.rendering.kernels import averaging

        mean = runtime.start().empty_like(self._sum)
        launch(averaging.scale, mean.shape, [self._sum, 1 / self.images], [mean], self._device)
        return mean


def _to_host(
    color: Any, depth: Any, background: tuple[float, float, float, float], device: Device
) -> tuple[Voxels, Voxels]:
    """The image over its background, in 8 bits, and its depth, infinite where nothing is; queued, on CUDA."""
    from pellucid.rendering.kernels import pixels

    warp = runtime.start()
    red, green, blue, opacity = background
    behind = warp.vec4(red * opacity, green * opacity, blue * opacity, opacity)
    rgba = warp.empty(color.shape, dtype=warp.vec4ub, device=device.name)
    far = warp.empty(color.shape, dtype=warp.float32, device=device.name)
    height, width = color.shape
    shape = LaunchRange((height, width)) if device.is_cuda else LaunchRange((height,), heft=width)
    launch(pixels.kernel_for(device.is_cuda), shape, [color, depth, behind, NOTHING_THERE], [rgba, far], device)
    as_bytes, as_depth = to_host([rgba, far], device, is_waiting=False)
    return as_bytes, as_depth
