"""A volume that is shown while it arrives.

Here: LiveVolume: in the scene from its first block on, drawn anew as blocks come, its colours following the values.
Not here: blocks on the wire (transport), which volumes are taken (receiver).

Voxels that have not come yet are seen as nothing. Whatever a user changes stays: what was chosen here is replaced
only while it still stands there.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from math import ceil
from typing import Any
from uuid import uuid4

import numpy as np

from pellucid.box import Box, triple
from pellucid.errors import PellucidError
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.instance.protocol.http_bodies import ArrayOffer
from pellucid.instance.scene import loading
from pellucid.instance.scene.history import ScenePair
from pellucid.instance.session import Session
from pellucid.rendering.first_view.value_range import BINS, air_threshold
from pellucid.rendering.first_view.volumes import automatic_camera, automatic_transfer
from pellucid.rendering.labels import Labels
from pellucid.rendering.scene import VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.statistics import Histogram
from pellucid.volume.volume import Volume
from pellucid.workers.array_store import OwnedArray
from pellucid.workers.protocol import replies, requests
from pellucid.workers.queries.describe import BINS as SHOWN_BINS

PER_BLOCK = 2**14
MAX_SAMPLES = 2**20


class ValueSample:
    """A sample in bounded memory; blocks may be added from any thread.

    count: voxels that came. When the sample is full every other value goes, and of later blocks fewer are taken, so
    that each part of the volume keeps its share.

    >>> seen = ValueSample()
    >>> seen.add(np.arange(8.0).reshape(2, 2, 2))
    >>> seen.count, seen.histogram(2).counts.tolist()
    (8, [4, 4])
    """

    def __init__(self) -> None:
        self.count = 0
        self._stride = 1
        self._values: list[Voxels] = []
        self._kept = 0
        self._lock = threading.Lock()

    def add(self, block: Voxels) -> None:
        some = _some(block, self._stride)
        with self._lock:
            self.count += block.size
            self._values.append(some)
            self._kept += some.size
            while self._kept > MAX_SAMPLES:
                self._stride *= 2
                self._values = [np.concatenate(self._values)[::2]]
                self._kept = self._values[0].size

    def histogram(self, bins: int) -> Histogram:
        """As of all voxels that came; NaN and infinity are left out."""
        with self._lock:
            values = np.concatenate([*self._values, np.empty(0)])
            count = self.count
        values = values[np.isfinite(values)]
        values = values if values.size else np.zeros(1)
        counts, edges = np.histogram(values, bins)
        return Histogram(np.rint(counts * (count / values.size)).astype(np.int64), edges)


def _some(block: Voxels, stride: int) -> Voxels:
    """A few thousand voxels, spread over all of the block."""
    n = ceil((block.size * stride / PER_BLOCK) ** 0.5)
    return block[:, ::n, ::n].reshape(-1).copy() if n > 1 else block.reshape(-1).copy()


PERIOD_S = 0.1
GROWTH = 1.5
"""Colours are chosen anew when so many times more voxels are there: every choice is a revision of the scene."""
MAX_BOXES = 64
Released = Callable[[SharedArray], None]


class LiveVolume:
    """arrived is called in the threads of the transfer, everything else on the event loop. released: is given the
    memory when it is not shown any more."""

    def __init__(self, session: Session, offer: ArrayOffer, shared: SharedArray, released: Released) -> None:
        self._session, self._offer, self._shared = session, offer, shared
        self._released, self._is_complete = released, False
        self.source = f"memory:{uuid4().hex}"
        self._seen = ValueSample()
        self._chosen_at = 0
        self._layer: VolumeLayer | None = None  # As it was put into the scene last.
        self._boxes: list[Box] = []
        self._is_awake = False
        self._lock = threading.Lock()
        self._task: asyncio.Task[None] | None = None

    def count(self) -> int:
        """Bytes that have come; those that came twice count twice."""
        return int(self._seen.count * self._shared.dtype.itemsize)

    def arrived(self, box: Box) -> None:
        """A block is in its place."""
        self._seen.add(self._shared.array[box.slices])
        with self._lock:
            self._boxes = merge_boxes(self._boxes, box)
            was_awake, self._is_awake = self._is_awake, True
        if not was_awake:
            self._session.relay.call(self._begin)

    async def finish(self) -> None:
        """All of it is there: show it as if it had come at once."""
        self._is_complete = True
        if self._task is not None:
            await self._task
        if self._layer is None:
            await self._place()
        if self.source in self._session.worker.arrays:
            await self._settle()

    def _begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._follow())

    async def _follow(self) -> None:
        """Show what has come, as often as it makes sense; the latest wins."""
        while boxes := self._taken():
            self._session.idle.touch()
            # Clients already know that the Worker was lost; the next one starts with all voxels received so far.
            with suppress(PellucidError):
                if self._layer is None:
                    await self._place()
                elif self.source in self._session.worker.arrays:  # Else something else was put in its place.
                    self._show(boxes)
            await asyncio.sleep(PERIOD_S)

    def _taken(self) -> list[Box]:
        with self._lock:
            boxes, self._boxes = self._boxes, []
            self._is_awake = bool(boxes)
        return boxes

    def _show(self, boxes: list[Box]) -> None:
        session = self._session
        session.worker.changed(self.source, boxes)
        if self._seen.count >= self._chosen_at * GROWTH:
            self._choose()
        session.picturing.request_frame(is_moving=True)
        session.label_tables.forget(self.source)
        session.slicing.refresh_all(self.source)

    async def _place(self) -> None:
        session, offer = self._session, self._offer
        own = SharedArray(os.dup(self._shared.descriptor), self._shared.shape, self._shared.dtype)
        handed = OwnedArray(own, offer.spacing, offer.unit, released=self._release)
        await asyncio.wrap_future(session.worker.use_array(self.source, handed))
        described = self._described()
        session.catalogue.names[self.source] = offer.name or "stream"
        session.catalogue.add(self.source, described)
        self._layer = loading.place(session, described, offer.how)
        loading.release_unused_arrays(session)

    def _release(self, own: SharedArray) -> None:
        own.close()
        if self._is_complete:  # Otherwise the next user of this memory would get blocks that still arrive.
            self._released(self._shared)

    def _choose(self) -> None:
        """Colours for what is known by now."""
        session, described = self._session, self._described()
        session.catalogue.add(self.source, described)
        if described.volume is not None and self._layer is not None:
            self._replace(replace(self._layer, transfer=described.volume.transfer), is_moving=True)
        loading.tell_layers(session)

    async def _settle(self) -> None:
        session = self._session
        if self.count() < self._shared.nbytes:  # What never came would decide about the colours of what did.
            self._choose()
        else:
            await self._describe()
        session.picturing.request_frame(is_moving=False)
        session.label_tables.forget(self.source)
        session.slicing.refresh_all(self.source)
        loading.tell_layers(session)

    async def _describe(self) -> None:
        session, is_labels = self._session, self._offer.how == "labels"
        question = lambda request: requests.Describe(  # noqa: E731
            request, self.source, is_labels, session.fitter.aspect
        )
        described = await asyncio.wrap_future(session.worker.send_request("describing", question))
        session.catalogue.add(self.source, described)
        if session.history.scene.camera == session.fitter.camera:  # No client has moved it.
            session.fitter.look(described.camera)
        placed = self._layer.transform if self._layer is not None else described.volume.transform
        self._replace(replace(described.volume, transform=placed), is_moving=False)
        if described.facts.is_estimated:
            loading.measure(session, self.source)

    def _replace(self, chosen: VolumeLayer, is_moving: bool) -> None:
        """Replace the previous layer, unless a client has changed it."""
        session, before = self._session, self._layer
        scene = session.history.scene
        volumes = tuple(_touched(layer, before, chosen) for layer in scene.volumes)
        self._layer = chosen
        if volumes != scene.volumes:
            pair = ScenePair(replace(scene, volumes=volumes), session.history.other)
            session.change(pair, run=self.source, is_moving=is_moving)

    def _described(self) -> replies.SourceDescribed:
        """What is known of it by now."""
        offer, self._chosen_at = self._offer, self._seen.count
        histogram = self._seen.histogram(BINS)
        air = air_threshold(histogram)
        volume = Volume.from_array(self._shared.array, offer.spacing, offer.unit)
        layer = VolumeLayer(
            self.source,
            transparent_below_range(automatic_transfer(histogram)),
            shading="none" if air is None else "gradient",
            labels=Labels() if offer.how == "labels" else None,
        )
        return replies.SourceDescribed(-1, automatic_camera(volume), self._facts(), volume=layer)

    def _facts(self) -> replies.VolumeFacts:
        offer, shown = self._offer, self._seen.histogram(SHOWN_BINS)
        low, high = float(shown.edges[0]), float(shown.edges[-1])
        return replies.VolumeFacts(
            offer.shape, offer.spacing, offer.unit, self._shared.dtype.name, 1, 1, 1, low, high,
            tuple(shown.counts.tolist()), is_estimated=True,
        )  # fmt: skip


def _touched(layer: VolumeLayer, before: VolumeLayer | None, chosen: VolumeLayer) -> VolumeLayer:
    """What stands in the scene, with what was chosen in the place of what was chosen before."""
    if before is None or layer.source != chosen.source:
        return layer
    if layer == before:
        return chosen
    return replace(layer, transfer=chosen.transfer) if layer.transfer == before.transfer else layer


def missing_value(dtype: np.dtype[Any]) -> float:
    """What a voxel is that has not come: no number, or the least that there is; zero would be material in many scans.

    >>> missing_value(np.dtype("uint8")), missing_value(np.dtype("int8")), missing_value(np.dtype("float32"))
    (0, -128, nan)
    """
    return float("nan") if dtype.kind == "f" else int(np.iinfo(dtype).min)


def transparent_below_range(transfer: TransferFunction) -> TransferFunction:
    """The same, but transparent below its range: voxels that have not come yet must not hide those that have."""
    (_, first), *rest = transfer.opacities
    if first == 0:
        return transfer
    return replace(transfer, opacities=((0.0, 0.0), (0.001, first), *rest))


def merge_boxes(boxes: list[Box], box: Box) -> list[Box]:
    """Boxes, and one more: with the last one where they make one box, and not too many of them.

    >>> merge_boxes([Box((0, 0, 0), (1, 4, 4))], Box((1, 0, 0), (2, 4, 4)))
    [Box(start=(0, 0, 0), stop=(2, 4, 4))]
    """
    last = boxes[-1] if boxes else box
    around = _around([last, box])
    if around.size <= last.size + box.size:
        return [*boxes[:-1], around]
    return [*boxes, box] if len(boxes) < MAX_BOXES else [_around([*boxes, box])]


def _around(boxes: list[Box]) -> Box:
    starts, stops = zip(*((box.start, box.stop) for box in boxes), strict=True)
    return Box(triple(map(min, zip(*starts, strict=True))), triple(map(max, zip(*stops, strict=True))))
