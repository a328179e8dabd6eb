"""What every field on a device has in common.

Here: SampledField: what the renderer asks of a field, and the cells that a transfer function leaves visible.
Not here: where the voxels are (dense, bricks).
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from pellucid.box import Box, Shape, grid_shape, triple
from pellucid.device import Device, launch, runtime
from pellucid.fields.labels import LabelVolume
from pellucid.fields.sizes import BRICK, CELL
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.volume.volume import Volume


@dataclass(frozen=True)
class VisibleBricks:
    """What the rays of a picture saw of a volume, the most visible first.

    indices: (n, 3) bricks along (z, y, x), each of 32³ voxels; weights: (n,) samples taken in each, by how much of the
    ray's light was left; is_full: (n,) which were drawn at full resolution.
    """

    shape: Shape
    indices: Voxels
    weights: Voxels
    is_full: Voxels

    def boxes(self, most: int | None = None) -> list[Box]:
        """The voxels of the most visible bricks."""
        corners = self.indices[:most] * BRICK
        ends = np.minimum(corners + BRICK, self.shape)
        return [Box(triple(map(int, start)), triple(map(int, stop))) for start, stop in zip(corners, ends, strict=True)]


class SampledField:
    """A field on a device, with what a kernel needs to sample it and to skip what is empty.

    struct: the kernels' Field. ranges: lowest and highest value of every cell, on the device. nbytes: what it takes
    there. revision: how often its voxels there have changed. has_room: whether all that the last picture saw fits.
    labels: the volume, where its voxels are rows of a table of labels.
    """

    struct: Any
    ranges: Any
    nbytes: int
    revision = 0
    has_room = True

    def __init__(self, volume: Volume, device: Device) -> None:
        from pellucid.fields import sampling

        self.device = device
        self.labels = volume if isinstance(volume, LabelVolume) else None
        self.shape: Shape = volume.shape
        self.spacing: Spacing = volume.spacing
        self.cells = grid_shape(self.shape, (CELL,) * 3)
        self.bricks = grid_shape(self.shape, (BRICK,) * 3)
        self.struct = sampling.Field()
        warp = runtime.start()
        self.struct.shape = warp.vec3i(*self.shape[::-1])
        self._wanted = warp.zeros(prod(self.bricks), dtype=warp.float32, device=device.name)
        self.struct.wanted = self._wanted
        self._changes: list[Box] = []
        self._lock = threading.Lock()
        self.stop_listening: Callable[[], None] = volume.on_change(self.changed)

    def changed(self, box: Box) -> None:
        """The voxels of a box are new; from any thread. They are taken up before the next picture."""
        with self._lock:
            self._changes.append(box)

    def begin(self) -> None:
        """Before a picture: take up what changed, and forget what the last picture saw."""
        with self._lock:
            changes, self._changes = self._changes, []
        self.revision += len(changes)
        for box in changes:
            self._refresh(box.intersect(Box.whole(self.shape)))
        self._wanted.zero_()

    def improve(self, *, wait: bool = True) -> bool:
        """After a picture: load what it saw too coarsely. Whether another picture would show more."""
        return False

    def visible(self) -> VisibleBricks:
        """What the last picture saw."""
        wanted = self._wanted.numpy()
        order = np.flatnonzero(wanted)
        order = order[np.argsort(-wanted[order], kind="stable")]
        indices = np.stack(np.unravel_index(order, self.bricks), axis=-1)
        return VisibleBricks(self.shape, indices, wanted[order], self._is_full(order))

    def vacancy(self, is_row_visible: np.ndarray[Any, Any], low: float, scale: float) -> Any:
        """From every cell, how many cells to the nearest with a value that the transfer function shows; 0 there."""
        from pellucid.fields import sampling

        warp = runtime.start()
        below = np.concatenate([[0], np.cumsum(is_row_visible)]).astype(np.int32)
        found = warp.zeros(self.cells, dtype=warp.uint8, device=self.device.name)
        counts = warp.array(below, device=self.device.name)
        launch(sampling.find_occupied, self.cells, [self.ranges, low, scale, counts], [found], self.device)
        return vacancy_of(found, self.device)

    def close(self) -> None:
        """Stop listening to the volume."""
        self.stop_listening()

    def _is_full(self, bricks: Voxels) -> Voxels:
        """Which of some bricks of level 0, by number, are there at full resolution."""
        return np.ones(len(bricks), bool)

    def _refresh(self, box: Box) -> None:
        raise NotImplementedError


def vacancy_of(occupied: Any, device: Device) -> Any:
    """From cells that are visible (1) or not (0) to the distance from each to the nearest visible one, in cells."""
    from pellucid.fields import vacancy_kernels

    warp = runtime.start()
    farthest = vacancy_kernels.FARTHEST
    distance = warp.array((1 - occupied.numpy()) * np.uint8(farthest), dtype=warp.uint8, device=device.name)
    for axis in range(3):
        spread = warp.empty(occupied.shape, dtype=warp.uint8, device=device.name)
        launch(vacancy_kernels.spread, occupied.shape, [axis, distance], [spread], device)
        distance = spread
    return distance
