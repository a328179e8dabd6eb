"""One pass that draws an image on one device.

Here: what of a scene is drawn and how patiently; DrawPass, whose rows are drawn in any portions; a stopwatch.
Not here: getting a scene ready for it (device_renderer), several devices (multi_device), the finished Frame (frame).
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pellucid.device import Device, LaunchRange, never_cancelled
from pellucid.fields.bricks.visibility import VisibleBricks
from pellucid.fields.device_field import DeviceField
from pellucid.rendering.cinematic.path_pass import PathTotal
from pellucid.rendering.drawing.light_parts import PartLight
from pellucid.rendering.drawing.packing import CENTRED, Size, SubpixelOffset
from pellucid.rendering.drawing.partition import WHOLE, RenderPart
from pellucid.rendering.drawing.ray_launch import launch_rays
from pellucid.rendering.layers.opaque import OpaqueLayers
from pellucid.rendering.scene import Scene


@dataclass(frozen=True)
class DrawRegion:
    """What is drawn of a scene: rows and columns, where in their pixels the rays pass, and which part of the world.

    samples: of a cinematic scene, how many paths of every pixel are followed; total: what earlier ones brought.
    lights: of each volume of which other devices have the rest, what that leaves of the light; None without shadows.
    """

    size: Size
    aim: SubpixelOffset = CENTRED
    part: RenderPart = WHOLE
    samples: int = 1
    total: PathTotal | None = None
    lights: tuple[PartLight | None, ...] = ()


@dataclass(frozen=True)
class DrawOptions:
    """How long to wait for an image.

    is_exact: whether to load what was seen too coarsely and to draw again. is_cancelled: whether it is not needed any
    more; asked often, from any thread. round_s: after how long of loading the next image is drawn in any case.
    """

    is_exact: bool = True
    is_cancelled: Callable[[], bool] = never_cancelled
    round_s: float = math.inf


@dataclass(frozen=True)
class DrawPass:
    """Arrays on a device that are filled row by row. color: multiplied by its opacity.

    backdrop: the view into which the scenery is drawn; view: the one that the kernel sees, with the same depths.
    """

    device: Device
    scene: Scene
    scenery: OpaqueLayers
    slices: list[DeviceField]
    backdrop: Any
    view: Any
    kernel: Any
    arguments: list[Any]
    color: Any
    depth: Any

    @property
    def is_along_rays(self) -> bool:
        """Whether a neural field is evaluated where rays sample it."""
        from pellucid.rendering.kernels import composite_neural

        return self.kernel is composite_neural.composite_neural

    def draw(self, rows: LaunchRange) -> None:
        """Some rows; on the CPU they are there on return, on CUDA they are queued."""
        self.scenery.draw(self.scene, self.slices, self.backdrop, rows)
        launch_rays(self.kernel, rows, [self.view, *self.arguments], [self.color, self.depth], self.device)


@dataclass(frozen=True)
class DeviceFrame:
    """An image on a device that is all there. seen: what it saw of each volume, and then of what slices cut.
    is_along_rays: as in FrameStatistics. total: of a cinematic scene, what all paths brought."""

    device: Device
    color: Any
    depth: Any
    seen: tuple[VisibleBricks, ...]
    times_s: dict[str, float]
    is_along_rays: bool = False
    total: PathTotal | None = None


@dataclass
class Stopwatch:
    """Seconds by stage."""

    times_s: dict[str, float] = field(default_factory=dict)
    since_s: float = field(default_factory=time.perf_counter)

    def lap(self, stage: str) -> None:
        """What passed since the last lap belongs to a stage."""
        now = time.perf_counter()
        self.times_s[stage] = self.times_s.get(stage, 0.0) + now - self.since_s
        self.since_s = now

    def skip(self) -> None:
        """The time since the last lap belongs to no stage."""
        self.since_s = time.perf_counter()
