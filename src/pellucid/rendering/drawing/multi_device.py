"""One image on several devices.

Here: MultiDevicePass, which hands rays from part to part; what they saw, put together; what cannot be shared.
Not here: which part is whose (partition), one device (device_renderer).

A ray is followed through the part that it meets first, on that part's device; what it gathered goes to the device of
the next part, and it goes on there. So an image has the same bits as on one device, and what is hidden is not drawn.
All devices are busy at once: while one draws the first rows, the next follows the rays of those before.
"""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import pairwise
from typing import Any

import numpy as np

from pellucid.box import grid_shape
from pellucid.device import Device, LaunchRange, runtime, synchronize
from pellucid.errors import InvalidInput
from pellucid.fields.bricks.visibility import VisibleBricks
from pellucid.fields.sizes import BRICK
from pellucid.rendering.cinematic.packing import is_cinematic
from pellucid.rendering.drawing.draw_pass import DrawPass
from pellucid.rendering.scene import Scene

BANDS = 8
"""Portions in which rays are handed on: with D devices, D - 1 of them are waited for at the beginning."""


class MultiDevicePass:
    """An image whose parts are drawn on several devices. drawings: front to back; the last one has the image."""

    def __init__(self, drawings: Sequence[DrawPass]) -> None:
        self._drawings = drawings
        self.device: Device = drawings[-1].device
        self.color: Any = drawings[-1].color
        self.depth: Any = drawings[-1].depth
        self.is_along_rays = drawings[-1].is_along_rays

    def draw(self, rows: LaunchRange) -> None:
        """Some rows; on the CPU they are there on return, on CUDA they are queued."""
        with ExitStack() as stack:
            threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in self._drawings]
            last = [self._follow(threads, band) for band in _bands(rows)]
        for future in last:
            future.result()

    def _follow(self, threads: Sequence[ThreadPoolExecutor], band: LaunchRange) -> Future[None]:
        """Queue a band on every device, each after the one before."""
        before: tuple[DrawPass, Future[None]] | None = None
        for thread, drawing in zip(threads, self._drawings, strict=True):
            before = drawing, thread.submit(_go_on, drawing, band, before)
        return before[1] if before else Future()


def _go_on(drawing: DrawPass, band: LaunchRange, before: tuple[DrawPass, Future[None]] | None) -> None:
    if before is not None:
        nearer, is_drawn = before
        is_drawn.result()
        _hand_over(nearer, drawing, band)
    drawing.draw(band)


def _hand_over(nearer: DrawPass, farther: DrawPass, band: LaunchRange) -> None:
    warp = runtime.start()
    rows = slice(band.start, band.start + band.shape[0])
    with runtime.LOCK:
        warp.copy(farther.view.before[rows], nearer.color[rows])
        warp.copy(farther.view.before_depth[rows], nearer.depth[rows])
        warp.copy(farther.view.light[rows], nearer.view.light[rows])
    synchronize(nearer.device)
    synchronize(farther.device)


def _bands(rows: LaunchRange) -> list[LaunchRange]:
    height, *others = rows.shape
    cuts = [height * i // BANDS for i in range(BANDS + 1)]
    return [
        LaunchRange((stop - start, *others), rows.start + start, rows.is_cancelled)
        for start, stop in pairwise(cuts)
        if stop > start
    ]


def merged(seen: Sequence[VisibleBricks]) -> VisibleBricks:
    """What several devices saw of one volume; of a brick that two of them saw, what both did."""
    if len(seen) == 1:
        return seen[0]
    shape = seen[0].shape
    grid = grid_shape(shape, (BRICK,) * 3)
    indices = np.concatenate([bricks.indices for bricks in seen])
    numbers, which = np.unique(np.ravel_multi_index(tuple(indices.T), grid), return_inverse=True)
    weights = np.bincount(which, np.concatenate([bricks.weights for bricks in seen]), len(numbers))
    coarse = np.bincount(which, ~np.concatenate([bricks.is_full for bricks in seen]), len(numbers))
    order = np.argsort(-weights, kind="stable")
    places = np.stack(np.unravel_index(numbers[order], grid), axis=-1)
    return VisibleBricks(shape, places, weights[order], coarse[order] == 0)


def check_multi_device(scene: Scene) -> None:
    """Refuse what needs the whole volume on one device."""
    if is_cinematic(scene):
        remedy = "Choose another shading, or render on one device."
        raise InvalidInput("Cinematic shading does not support volumes split between devices.", remedy=remedy)
    if scene.has_translucent_surfaces:
        remedy = "Make them opaque, or render on one device."
        raise InvalidInput("Translucent surfaces do not support volumes split between devices.", remedy=remedy)
