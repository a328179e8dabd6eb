"""Draws the images of slices, encodes them, and keeps the last ones.

Here: SliceDrawer: one image, drawn unless another page has just got the same.
Not here: which images are drawn next, and for whom (slice_views), what they are made of (slice_plans).
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.instance.frames.encoders import encode_png
from pellucid.instance.frames.jpeg import JpegEncoder
from pellucid.instance.scene.compared_slices import SliceKey
from pellucid.instance.scene.slice_plans import SlicePlan
from pellucid.workers.protocol import requests

if TYPE_CHECKING:
    from pellucid.instance.session import Session

SMALL_PIXELS = 2**18
"""An image of so many pixels is exact at once: it is encoded and sent in no time."""
MAX_KEPT = 8
JPEG_QUALITY = 90


@dataclass(frozen=True)
class SliceState:
    """What an image shows. versions: of the voxels of its volumes."""

    plan: SlicePlan
    time: float
    versions: tuple[int, ...]


@dataclass(frozen=True)
class DrawnSlice:
    """An encoded image."""

    encoded: bytes
    encoding: Any
    is_exact: bool


@dataclass(frozen=True)
class SliceJob:
    """An image that is being made. is_final: what is missing is waited for. is_for_guest: it gives way to others."""

    member: str
    key: SliceKey
    state: SliceState
    is_final: bool
    is_for_guest: bool = False


class SliceDrawer:
    """All methods are called on the event loop."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._waiting: dict[SliceJob, Future[Any]] = {}
        self._kept: OrderedDict[tuple[SliceState, bool], DrawnSlice] = OrderedDict()
        self._jpeg = JpegEncoder(2)

    def close(self) -> None:
        self._jpeg.close()

    def cancel_outdated(self, is_wanted: Callable[[SliceJob], bool]) -> None:
        """Nothing waits for exact images that are not wanted any more."""
        for job, future in list(self._waiting.items()):
            if job.is_final and not is_wanted(job):
                self._session.worker.cancel(future)

    async def draw(self, job: SliceJob) -> DrawnSlice:
        """The image, drawn unless another page has just got the same."""
        for is_exact in (True, False):
            if (known := self._kept.get((job.state, is_exact))) is not None and (is_exact or not job.is_final):
                return known
        plan = job.state.plan
        future = self._session.worker.send_request(
            "drawing a slice",
            lambda request: requests.DrawSlice(
                request, plan.layers, plan.image, job.state.time, job.is_final, job.is_for_guest
            ),
        )
        self._waiting[job] = future
        try:
            answer, shared = await asyncio.wrap_future(future)
        finally:
            self._waiting.pop(job, None)
        with shared:
            drawn = await self._encoded(job, shared.array, answer.is_complete)
        self._kept[job.state, drawn.is_exact] = drawn
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return drawn

    async def _encoded(self, job: SliceJob, pixels: Any, is_complete: bool) -> DrawnSlice:
        is_small = pixels.shape[0] * pixels.shape[1] <= SMALL_PIXELS
        is_exact = job.is_final or (is_small and is_complete)
        loop = asyncio.get_running_loop()
        if is_exact or is_small:
            shown = np.ascontiguousarray(pixels[..., 0]) if job.state.plan.is_grey else pixels
            return DrawnSlice(await loop.run_in_executor(None, encode_png, shown), "png", is_exact)
        encoded = await loop.run_in_executor(None, lambda: self._jpeg.encode(pixels, JPEG_QUALITY, is_enlarged=False))
        return DrawnSlice(encoded, "jpeg", is_exact=False)
