"""A picture in the making on one device.

Here: what of a scene is drawn and how patiently; Drawing, whose rows are drawn in any portions; a stopwatch.
Not here: getting a scene ready for it (painter), several devices (shared), the finished Frame (frame).
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pellucid.device import Device, Portion, never
from pellucid.fields.sampled import SampledField
from pellucid.fields.visible import VisibleBricks
from pellucid.rendering.packing import CENTRED, Aim, Size
from pellucid.rendering.parts import WHOLE, Part
from pellucid.rendering.scene import Scene
from pellucid.rendering.scenery import Scenery
from pellucid.rendering.tiles import launch_rays


@dataclass(frozen=True)
class Canvas:
    """What is drawn of a scene: rows and columns, where in their pixels the rays pass, and which part of the world."""

    size: Size
    aim: Aim = CENTRED
    part: Part = WHOLE


@dataclass(frozen=True)
class Patience:
    """How long to wait for a picture.

    is_exact: whether to load what was seen too coarsely and to draw again. is_cancelled: whether nobody wants it any
    more; asked often, from any thread. round_s: after how long of loading the next picture is drawn in any case.
    """

    is_exact: bool = True
    is_cancelled: Callable[[], bool] = never
    round_s: float = math.inf


@dataclass(frozen=True)
class Drawing:
    """Arrays on a device that are filled row by row. color: multiplied by its opacity.

    backdrop: the view into which the scenery is drawn; view: the one that the kernel sees, with the same depths.
    """

    device: Device
    scene: Scene
    scenery: Scenery
    slices: list[SampledField]
    backdrop: Any
    view: Any
    kernel: Any
    arguments: list[Any]
    color: Any
    depth: Any

    def draw(self, rows: Portion) -> None:
        """Some rows; on the CPU they are there on return, on CUDA they are queued."""
        self.scenery.draw(self.scene, self.slices, self.backdrop, rows)
        launch_rays(self.kernel, rows, [self.view, *self.arguments], [self.color, self.depth], self.device)


@dataclass(frozen=True)
class Drawn:
    """A picture on a device that is all there. seen: what it saw of each volume, and then of what slices cut."""

    device: Device
    color: Any
    depth: Any
    seen: tuple[VisibleBricks, ...]
    times_s: dict[str, float]


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
        """What passed since the last lap belongs to nobody."""
        self.since_s = time.perf_counter()
