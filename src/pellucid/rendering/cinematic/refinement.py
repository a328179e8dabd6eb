"""More paths of light, until a cinematic image has all of them.

Here: more_paths, which decides how many are followed at a time.
Not here: following them (path_pass), the images before all bricks are there (drawing.refinement).
"""

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from pellucid.device import Device
from pellucid.rendering.drawing.draw_pass import DeviceFrame, DrawOptions, DrawRegion
from pellucid.rendering.scene import Scene

BATCH_S, SHARE_OF_TIME = 0.4, 0.25
"""After so long there is a new image, while nothing moves; and after so much of the time that it took until then."""
MAX_BATCH = 64
"""Paths of every pixel from one image to the next."""


class ImageSource(Protocol):
    """What draws: a Renderer."""

    device: Device

    def images(self, scene: Scene, canvas: DrawRegion, timeout: DrawOptions) -> Iterator[DeviceFrame]: ...


def more_paths(
    source: ImageSource, scene: Scene, drawn: DeviceFrame, is_cancelled: Callable[[], bool]
) -> Iterator[DeviceFrame]:
    """Images with ever more paths. drawn: the one before, whose total goes on."""
    total, batch, begun = drawn.total, 1, time.perf_counter()
    while total is not None and total.samples < scene.cinematic.samples:
        batch = min(batch, scene.cinematic.samples - total.samples, MAX_BATCH)
        started = time.perf_counter()
        canvas = DrawRegion(total.size, samples=batch, total=total)
        (drawn,) = source.images(scene, canvas, DrawOptions(False, is_cancelled))
        yield drawn
        now = time.perf_counter()
        wanted_s = max(BATCH_S, SHARE_OF_TIME * (now - begun))
        batch = max(1, int(batch * min(2.0, wanted_s / max(now - started, 1e-6))))
