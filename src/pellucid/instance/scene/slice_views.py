"""Three slices through one voxel, at every client.

Here: SliceViews: the cross-hair, and cutting anew when it or the colours change; the latest wins.
Not here: cutting (workers), slices inside the 3D image (rendering).
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pellucid.box import triple
from pellucid.errors import PellucidError
from pellucid.formats.shared_memory import SharedArray
from pellucid.instance.frames.encoders import encode_png
from pellucid.instance.protocol.codec import EncodedFrame
from pellucid.instance.protocol.server_messages import CrossHair, SliceHeader
from pellucid.instance.protocol.shared_types import Axis, Voxel
from pellucid.instance.scene.history import History
from pellucid.rendering.scene import VolumeLayer
from pellucid.workers.protocol import requests
from pellucid.workers.supervisor import SupervisedWorker

AXES: tuple[Axis, Axis, Axis] = ("z", "y", "x")
ValueRange = tuple[float, float]


@dataclass(frozen=True)
class SliceRequest:
    """Where, and how large the images are."""

    voxel: Voxel
    layer: int
    edge: int


class SliceViews:
    """All methods are called on the event loop. tell: to every client. range_of: the values that matter in a volume."""

    def __init__(
        self,
        history: History,
        worker: SupervisedWorker,
        tell: Callable[[Any], None],
        range_of: Callable[[str], ValueRange | None],
    ) -> None:
        self._history, self._worker, self._tell, self._range_of = history, worker, tell, range_of
        self._cut: SliceRequest | None = None
        self._by = ""
        self._last: dict[Axis, EncodedFrame[SliceHeader]] = {}
        self._done: tuple[object, ...] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def voxel(self) -> Voxel | None:
        return self._cut.voxel if self._cut else None

    @property
    def layer(self) -> int | None:
        """The volume that is cut."""
        return self._cut.layer if self._cut else None

    def message(self) -> CrossHair:
        return CrossHair(self.voxel, self._cut.layer if self._cut else 0, self._by)

    def messages(self) -> "list[CrossHair | EncodedFrame[SliceHeader]]":
        """The cross-hair and the slices as they are now, for a client that has just come."""
        return [self.message(), *(self._last.values() if self._cut else ())]

    def set(self, cut: SliceRequest | None, by: str) -> None:
        self._cut, self._by = cut, by
        if cut is None:
            self._last.clear()
            self._done = None
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
            self._cut = SliceRequest(inside, layer, cut.edge)
            self._by = "" if inside != cut.voxel else self._by  # The client that was last ignores its own.
        if self._cut != cut:
            self._tell(self.message())

    def refresh(self) -> None:
        """Cut anew, if what would be seen is new."""
        if self._cut is not None and self._wanted() != self._done and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._run())

    def refresh_all(self, source: str) -> None:
        """Voxels of this volume are new."""
        cut, volumes = self._cut, self._history.scene.volumes
        if cut is not None and cut.layer < len(volumes) and volumes[cut.layer].source == source:
            self._done = None
            self.refresh()

    def _wanted(self) -> tuple[object, ...] | None:
        cut, volumes = self._cut, self._history.scene.volumes
        if cut is None or cut.layer >= len(volumes):
            return None
        layer = volumes[cut.layer]
        windows = tuple(self._window(layer, axis) for axis in range(3))
        # The transfer function counts only where its colours are shown.
        transfer = layer.transfer if None in windows else None
        return cut, layer.source, transfer, windows, layer.labels, self._history.scene.time

    def _window(self, layer: VolumeLayer, axis: int) -> ValueRange | None:
        """The values that are black and white; None: colours."""
        options = layer.slice_options[axis]
        if options.colors == "transfer" or layer.labels is not None:
            return None
        return options.window or self._range_of(layer.source) or layer.transfer.value_range

    async def _run(self) -> None:
        while (wanted := self._wanted()) is not None and wanted != self._done:
            self._done = wanted
            cut = self._cut
            try:
                for axis in range(3):
                    if cut is not None:
                        await self._send(cut, axis)
            except PellucidError:
                return  # Clients already know that the Worker was lost.

    async def _send(self, cut: SliceRequest, axis: int) -> None:
        scene, revision = self._history.scene, self._history.revision
        layer = scene.volumes[cut.layer]
        window = self._window(layer, axis)
        requested = self._worker.send_request(
            "cutting a slice",
            lambda request: requests.Slice(
                request, layer.source, layer.transfer, layer.labels, axis, cut.voxel[axis], cut.edge, scene.time, window
            ),
        )
        shared: SharedArray = await asyncio.wrap_future(requested)
        with shared:
            height, width = shared.shape[:2]
            encoded = await asyncio.get_running_loop().run_in_executor(None, encode_png, shared.array)
        header = SliceHeader(AXES[axis], cut.voxel[axis], cut.layer, revision, width, height)
        self._last[AXES[axis]] = EncodedFrame(header, encoded)
        self._tell(self._last[AXES[axis]])
