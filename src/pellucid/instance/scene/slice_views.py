"""The slices that pages show: the cross-hair, and an image for every slice that a page has room for.

Here: SliceViews: what is drawn next, and for whom; the latest wins.
Not here: what an image is made of (slice_plans, compared_slices), drawing it (slice_drawer), slices inside the 3D
image (rendering).

While something moves, large images are JPEG, and are made of what the device has. At rest exact ones follow. A page has
at most two of a slice that it has not painted.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pellucid.box import triple
from pellucid.errors import Cancelled, PellucidError
from pellucid.instance.access.guest_limits import MAX_GUEST_SLICE_PIXELS, limited_size
from pellucid.instance.protocol.client_messages import SliceView
from pellucid.instance.protocol.codec import EncodedFrame
from pellucid.instance.protocol.server_messages import CrossHair, SliceHeader
from pellucid.instance.protocol.shared_types import Voxel
from pellucid.instance.scene.compared_slices import SliceKey, plan_compared
from pellucid.instance.scene.slice_drawer import DrawnSlice, SliceDrawer, SliceJob, SliceState
from pellucid.instance.scene.slice_plans import CrossHairPlace, plan_slice, slice_place
from pellucid.rendering.slice_image import SliceAxis, SliceRectangle

if TYPE_CHECKING:
    from pellucid.instance.session import Session
    from pellucid.instance.websocket.client import ConnectedClient

REST_S = 0.2
MAX_UNPAINTED = 2
AT_ONCE, GUESTS_AT_ONCE = 2, 1
"""One is encoded while the next is drawn."""


@dataclass
class SliceSubscriber:
    """One page. views: what it shows; done: what its images show, and whether they are exact, or what could not be
    drawn; unpainted: numbers of images that it has not painted."""

    views: dict[SliceKey, SliceView] = field(default_factory=dict)
    done: dict[SliceKey, tuple[SliceState, bool]] = field(default_factory=dict)
    unpainted: dict[SliceKey, set[int]] = field(default_factory=dict)


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
        self._timer: asyncio.TimerHandle | None = None
        self._moved_at = float("-inf")
        self._drawer = SliceDrawer(session)

    def close(self) -> None:
        self._drawer.close()

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
        subscriber.views = {(view.view, view.axis): _limited(view, member) for view in views}
        subscriber.done = {key: done for key, done in subscriber.done.items() if key in subscriber.views}
        self._start()

    def leave(self, member: str) -> None:
        self._subscribers.pop(member, None)

    def painted(self, member: str, key: SliceKey, number: int) -> None:
        subscriber = self._subscribers.get(member)
        if subscriber is not None:
            subscriber.unpainted.get(key, set()).discard(number)
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
        self._drawer.cancel_outdated(self._is_wanted)
        while (job := next(self._wanted_jobs(), None)) is not None:
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
        begun = {(job.member, job.key) for job in self._jobs.values()}
        is_any_exact_missing = False
        members = sorted(self._subscribers, key=lambda one: not self._is_owner(one))
        exact = []
        for member in members:
            subscriber, is_for_guest = self._subscribers[member], not self._is_owner(member)
            if not _has_room(is_for_guest, self._jobs.values()):
                continue  # Known before anything is planned, however many guests there are and however often they ask.
            for key, view in subscriber.views.items():
                if (member, key) in begun or len(subscriber.unpainted.get(key, ())) >= MAX_UNPAINTED:
                    continue
                state = self._state(view)
                done = subscriber.done.get(key)
                if state is None or done == (state, True):
                    continue
                if done is None or done[0] != state:
                    yield SliceJob(member, key, state, False, is_for_guest)
                elif is_resting:
                    exact.append(SliceJob(member, key, state, True, is_for_guest))
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
        history, catalogue, cut = self._session.history, self._session.catalogue, self._cut
        scene = history.scene if view.view == "main" else history.other
        if cut is None or scene is None:
            return None
        both = (history.scene, scene)
        plan = (
            plan_slice(scene, cut, view, catalogue) if scene is both[0] else plan_compared(both, cut, view, catalogue)
        )
        return SliceState(plan, scene.time, tuple(self._versions[one.source] for one in plan.layers)) if plan else None

    def _is_wanted(self, job: SliceJob) -> bool:
        subscriber = self._subscribers.get(job.member)
        view = subscriber.views.get(job.key) if subscriber else None
        return view is not None and self._state(view) == job.state

    async def _run(self, job: SliceJob) -> None:
        if job.member not in self._session.members:
            return
        try:
            async with self._session.guest_turn if job.is_for_guest else nullcontext():
                drawn = await self._drawer.draw(job)
        except Cancelled:
            return
        except PellucidError:
            self._failed(job)
            return
        self._send(job, drawn)

    def _failed(self, job: SliceJob) -> None:
        """Not tried again before something else is to be seen, or there is another Worker."""
        if (subscriber := self._subscribers.get(job.member)) is not None:
            subscriber.done[job.key] = (job.state, True)

    def worker_is_ready(self) -> None:
        """Another one than before."""
        for subscriber in self._subscribers.values():
            subscriber.done.clear()
        self.refresh()

    def _send(self, job: SliceJob, drawn: DrawnSlice) -> None:
        subscriber, member = self._subscribers.get(job.member), self._session.members.get(job.member)
        if subscriber is None or member is None or self._cut is None:
            return
        number, plan, (view, axis) = next(self._numbers), job.state.plan, job.key
        image = plan.image
        header = SliceHeader(
            axis, plan.index, self._cut.layer, self._session.history.revision, number, image.width, image.height,
            plan.wanted_region or image.region, image.place, drawn.is_exact, drawn.encoding, view,
        )  # fmt: skip
        subscriber.done[job.key] = (job.state, drawn.is_exact)
        subscriber.unpainted.setdefault(job.key, set()).add(number)
        member.outbox.put(EncodedFrame(header, drawn.encoded))


def _limited(view: SliceView, member: "ConnectedClient") -> SliceView:
    """With as many pixels as the page may have."""
    width, height = limited_size((view.width, view.height), member.client.capability, MAX_GUEST_SLICE_PIXELS)
    return replace(view, width=width, height=height)


def _has_room(is_for_guest: bool, begun: Iterable[SliceJob]) -> bool:
    """Images of guests wait until nothing else is wanted. Those of owners do not wait for them."""
    others = sum(other.is_for_guest == is_for_guest for other in begun)
    return others < (GUESTS_AT_ONCE if is_for_guest else AT_ONCE)
