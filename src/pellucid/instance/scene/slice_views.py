"""The slices that pages show: the cross-hair, and an image for every slice that a page has room for.

Here: SliceViews: what is drawn next, and for whom; the latest wins.
Not here: what an image is made of (slice_plans), drawing it (workers), slices inside the 3D image (rendering).

While something moves, large images are JPEG, and are made of what the device has. At rest exact ones follow. A page has
at most two of a slice that it has not painted.
"""

import asyncio
import itertools
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.box import triple
from pellucid.errors import Cancelled, PellucidError
from pellucid.instance.access.guest_limits import limited_size
from pellucid.instance.frames.encoders import encode_png
from pellucid.instance.frames.jpeg import JpegEncoder
from pellucid.instance.protocol.client_messages import SliceView
from pellucid.instance.protocol.codec import EncodedFrame
from pellucid.instance.protocol.server_messages import CrossHair, SliceHeader
from pellucid.instance.protocol.shared_types import Voxel
from pellucid.instance.scene.slice_plans import CrossHairPlace, SlicePlan, plan_slice, slice_place
from pellucid.rendering.slice_image import SliceAxis, SliceRectangle
from pellucid.workers.protocol import requests

if TYPE_CHECKING:
    from pellucid.instance.session import Session
    from pellucid.instance.websocket.client import ConnectedClient

REST_S = 0.2
SMALL_PIXELS = 2**18
"""An image of so many pixels is exact at once: it is encoded and sent in no time."""
MAX_UNPAINTED = 2
AT_ONCE = 2
"""One is encoded while the next is drawn."""
MAX_KEPT = 8
JPEG_QUALITY = 90


@dataclass(frozen=True)
class SliceState:
    """What an image shows. versions: of the voxels of its volumes."""

    plan: SlicePlan
    time: float
    versions: tuple[int, ...]


@dataclass
class SliceSubscriber:
    """One page. views: what it shows; done: what its images show, and whether they are exact, or what could not be
    drawn; unpainted: numbers of images that it has not painted."""

    views: dict[SliceAxis, SliceView] = field(default_factory=dict)
    done: dict[SliceAxis, tuple[SliceState, bool]] = field(default_factory=dict)
    unpainted: dict[SliceAxis, set[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class DrawnSlice:
    """An encoded image."""

    encoded: bytes
    encoding: Any
    is_exact: bool


@dataclass(frozen=True)
class SliceJob:
    """An image that is being made. is_final: what is missing is waited for."""

    member: str
    axis: SliceAxis
    state: SliceState
    is_final: bool


class SliceViews:
    """All methods are called on the event loop."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._cut: CrossHairPlace | None = None
        self._by = ""
        self._subscribers: dict[str, SliceSubscriber] = {}
        self._versions: Counter[str] = Counter()
        self._numbers = itertools.count(1)
        self._jobs: dict[asyncio.Task[None], SliceJob] = {}
        self._drawing: dict[SliceJob, Future[Any]] = {}
        self._kept: OrderedDict[tuple[SliceState, bool], DrawnSlice] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None
        self._moved_at = float("-inf")
        self._jpeg = JpegEncoder(2)

    def close(self) -> None:
        self._jpeg.close()

    # The cross-hair

    @property
    def voxel(self) -> Voxel | None:
        return self._cut.voxel if self._cut else None

    @property
    def layer(self) -> int | None:
        """The volume that is cut."""
        return self._cut.layer if self._cut else None

    def message(self) -> CrossHair:
        return CrossHair(self.voxel, self._cut.layer if self._cut else 0, self._by)

    def set(self, cut: CrossHairPlace | None, by: str) -> None:
        self._cut, self._by = cut, by
        if cut is None:
            for one in self._subscribers.values():
                one.done.clear()
        self.refresh()

    def fit(self, shapes: Sequence[Voxel | None]) -> None:
        """Other volumes are shown, of these shapes: move the cross-hair inside; end it where there is none."""
        cut = self._cut
        if cut is None:
            return
        layer = cut.layer if cut.layer < len(shapes) else 0
        if not shapes:
            self.set(None, "")
        elif (shape := shapes[layer]) is not None:
            inside = triple(min(a, n - 1) for a, n in zip(cut.voxel, shape, strict=True))
            self._cut = CrossHairPlace(inside, layer)
            self._by = "" if inside != cut.voxel else self._by  # The client that was last ignores its own.
        if self._cut != cut:
            self._session.broadcast(self.message())

    # Who sees which slices

    def show(self, member: "ConnectedClient", views: Iterable[SliceView]) -> None:
        """This is what a page has room for."""
        subscriber = self._subscribers.setdefault(member.id, SliceSubscriber())
        subscriber.views = {view.axis: _limited(view, member) for view in views}
        for axis in subscriber.done.keys() - subscriber.views.keys():
            del subscriber.done[axis]
        self._start()

    def leave(self, member: str) -> None:
        self._subscribers.pop(member, None)

    def painted(self, member: str, axis: SliceAxis, number: int) -> None:
        subscriber = self._subscribers.get(member)
        if subscriber is not None:
            subscriber.unpainted.get(axis, set()).discard(number)
            self._start()

    def place(self, axis: SliceAxis) -> SliceRectangle | None:
        """Where a slice lies, if slices are shown."""
        scene, catalogue = self._session.history.scene, self._session.catalogue
        return None if self._cut is None else slice_place(scene, self._cut, SliceView(axis, 1, 1), catalogue)

    # What is new

    def refresh(self) -> None:
        """Something may have changed."""
        if self._cut is None or not self._subscribers:
            return
        self._moved_at = asyncio.get_running_loop().time()
        self._start()

    def refresh_all(self, source: str) -> None:
        """Voxels of this volume are new."""
        self._versions[source] += 1
        self.refresh()

    # Drawing

    def _start(self) -> None:
        """Begin as many images as there is room for."""
        self._cancel_outdated()
        while len(self._jobs) < AT_ONCE and (job := next(self._wanted_jobs(), None)) is not None:
            task = asyncio.get_running_loop().create_task(self._run(job))
            self._jobs[task] = job
            task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._jobs.pop(task, None)
        if not task.cancelled() and task.exception() is None:
            self._start()

    def _wanted_jobs(self) -> Iterator[SliceJob]:
        """Images that are missing, rough ones first; those of owners before those of guests."""
        if self._cut is None:
            return
        is_resting = asyncio.get_running_loop().time() >= self._moved_at + REST_S
        begun = {(job.member, job.axis) for job in self._jobs.values()}
        is_any_exact_missing = False
        members = sorted(self._subscribers, key=lambda one: not self._is_owner(one))
        exact = []
        for member in members:
            subscriber = self._subscribers[member]
            for axis, view in subscriber.views.items():
                if (member, axis) in begun or len(subscriber.unpainted.get(axis, ())) >= MAX_UNPAINTED:
                    continue
                state = self._state(view)
                done = subscriber.done.get(axis)
                if state is None or done == (state, True):
                    continue
                if done is None or done[0] != state:
                    yield SliceJob(member, axis, state, is_final=False)
                elif is_resting:
                    exact.append(SliceJob(member, axis, state, is_final=True))
                else:
                    is_any_exact_missing = True
        yield from exact
        if is_any_exact_missing:
            self._start_at_rest()

    def _start_at_rest(self) -> None:
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(self._moved_at + REST_S, self._start)

    def _is_owner(self, member: str) -> bool:
        found = self._session.members.get(member)
        return found is not None and found.requester.is_owner

    def _state(self, view: SliceView) -> SliceState | None:
        scene = self._session.history.scene
        if self._cut is None:
            return None
        plan = plan_slice(scene, self._cut, view, self._session.catalogue)
        if plan is None:
            return None
        return SliceState(plan, scene.time, tuple(self._versions[layer.source] for layer in plan.layers))

    def _cancel_outdated(self) -> None:
        """What is waited for is not wanted any more."""
        for job, future in list(self._drawing.items()):
            subscriber = self._subscribers.get(job.member)
            view = subscriber.views.get(job.axis) if subscriber else None
            if job.is_final and (view is None or self._state(view) != job.state):
                self._session.worker.cancel(future)

    async def _run(self, job: SliceJob) -> None:
        if (member := self._session.members.get(job.member)) is None:
            return
        try:
            if member.requester.is_owner:
                drawn = await self._drawn(job)
            else:
                async with self._session.guest_turn:
                    drawn = await self._drawn(job)
        except Cancelled:
            return
        except PellucidError:
            self._failed(job)
            return
        self._send(job, drawn)

    def _failed(self, job: SliceJob) -> None:
        """Not tried again before something else is to be seen, or there is another Worker."""
        if (subscriber := self._subscribers.get(job.member)) is not None:
            subscriber.done[job.axis] = (job.state, True)

    def worker_is_ready(self) -> None:
        """Another one than before."""
        for subscriber in self._subscribers.values():
            subscriber.done.clear()
        self.refresh()

    async def _drawn(self, job: SliceJob) -> DrawnSlice:
        """The image, drawn unless another page has just got the same."""
        for is_exact in (True, False):
            if (known := self._kept.get((job.state, is_exact))) is not None and (is_exact or not job.is_final):
                return known
        plan = job.state.plan
        future = self._session.worker.send_request(
            "drawing a slice",
            lambda request: requests.DrawSlice(request, plan.layers, plan.image, job.state.time, job.is_final),
        )
        self._drawing[job] = future
        try:
            answer, shared = await asyncio.wrap_future(future)
        finally:
            self._drawing.pop(job, None)
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

    def _send(self, job: SliceJob, drawn: DrawnSlice) -> None:
        subscriber, member = self._subscribers.get(job.member), self._session.members.get(job.member)
        if subscriber is None or member is None or self._cut is None:
            return
        number, plan = next(self._numbers), job.state.plan
        image = plan.image
        header = SliceHeader(
            job.axis, plan.index, self._cut.layer, self._session.history.revision, number, image.width, image.height,
            image.region, image.place, drawn.is_exact, drawn.encoding,
        )  # fmt: skip
        subscriber.done[job.axis] = (job.state, drawn.is_exact)
        subscriber.unpainted.setdefault(job.axis, set()).add(number)
        member.outbox.put(EncodedFrame(header, drawn.encoded))


def _limited(view: SliceView, member: "ConnectedClient") -> SliceView:
    """With as many pixels as the page may have."""
    width, height = limited_size((view.width, view.height), member.client.capability)
    return SliceView(view.axis, width, height, view.region)
