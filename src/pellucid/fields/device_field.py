"""What all fields on a device have in common.

Here: DeviceField: what the renderer asks of a field, and the cells that a transfer function leaves visible.
Not here: where the voxels are (dense, bricks).
"""

import threading
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from pellucid.box import Box, Shape, grid_shape, triple
from pellucid.device import Device, LaunchRange, launch, never_cancelled, runtime
from pellucid.device.pinned_memory import to_host
from pellucid.fields.bricks.visibility import VisibleBricks
from pellucid.fields.labels import LabelVolume
from pellucid.fields.sizes import BRICK, CELL, LOWEST, STORED_AS, VOXEL_KINDS
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.volume.volume import Volume

__all__ = ["DeviceField", "VisibleBricks", "empty_distance_of", "solid_distance_of", "stored_type"]


MAX_CHANGES = 64
"""Changed boxes that are kept apart; more are merged into one, or a fast writer would fill the list without end."""


class DeviceField:
    """A field on a device, with what a kernel needs to sample it and to skip what is empty.

    struct: the kernels' Field. ranges: lowest and highest value of every cell, on the device. nbytes: what it takes
    there. revision: how often its voxels there have changed; changes: how often the volume has; range_changes: how
    often ranges became known. has_room: whether all that the last image saw fits.
    labels: the volume, where its voxels are rows of a table of labels. whole_shape: of the volume of which the field is
    a part.
    """

    struct: Any
    ranges: Any
    nbytes: int
    revision = 0
    changes = 0
    range_changes = 0
    has_room = True

    def __init__(self, volume: Volume, device: Device) -> None:
        from pellucid.fields.kernels import sampling

        self.device = device
        self.labels = volume if isinstance(volume, LabelVolume) else None
        self._is_exact = volume.dtype.name in VOXEL_KINDS and self.labels is None
        self.shape: Shape = volume.shape
        self.whole_shape = self.shape
        self.spacing: Spacing = volume.spacing
        self.cells = grid_shape(self.shape, (CELL,) * 3)
        self.bricks = grid_shape(self.shape, (BRICK,) * 3)
        self.struct = sampling.FieldStruct()
        warp = runtime.start()
        self.struct.shape = warp.vec3i(*self.shape[::-1])
        self._wanted = warp.zeros(prod(self.bricks), dtype=warp.float32, device=device.name)
        self.struct.wanted = self._wanted
        self._seen_on_host: Voxels | None = None
        self._changes: list[Box] = []
        self._lock = threading.Lock()
        self.stop_listening: Callable[[], None] = volume.on_change(self.changed)

    def changed(self, box: Box) -> None:
        """The voxels of a box are new; from any thread. They are taken up before the next image."""
        inside = box.intersect(Box.whole(self.shape))
        if not inside.is_empty:
            with self._lock:
                self._changes = _noted(self._changes, inside)

    def prepare_frame(self) -> None:
        """Before an image: take up what changed, and forget what the last image saw."""
        with self._lock:
            changes, self._changes = self._changes, []
        self.revision += len(changes)
        self.changes += len(changes)
        for box in changes:
            self._refresh(box)
        self._wanted.zero_()
        self._seen_on_host = None

    def load_missing(
        self, *, wait: bool = True, should_stop: Callable[[], bool] = never_cancelled, finest: int = 0
    ) -> bool:
        """After an image: load what it saw too coarsely. Whether another image would show more.

        should_stop: asked while bricks come in; once it is true the rest is left for another time. finest: the level
        that is fine enough.
        """
        return False

    def value_range(self) -> tuple[float, float] | None:
        """Lowest and highest value of all voxels, after ``begin``; None where cells do not know it: float32 cannot tell
        such values apart, or some voxel is no number."""
        ranges = self.ranges.numpy()
        low, high = float(ranges[..., 0].min()), float(ranges[..., 1].max())
        return (low, high) if self._is_exact and low > np.float32(LOWEST) and np.isfinite(high) else None

    def visible(self) -> VisibleBricks:
        """What the last image saw."""
        is_full = self._is_full()
        if is_full is not None or not self.device.is_cuda:
            return VisibleBricks.of_all(self.shape, self._seen(), is_full)
        # Not awaited here: it comes with the image.
        seen = to_host([self._wanted], self.device, is_waiting=False)[0]
        return VisibleBricks.of_all(self.shape, seen.reshape(self.bricks), None)

    def _seen(self) -> Voxels:
        """How much the last image saw of every brick, (z, y, x); one copy for all who ask before the next."""
        if self._seen_on_host is None:
            # A copy also on the CPU, where the next image would write into it.
            self._seen_on_host = np.array(self._wanted.numpy()).reshape(self.bricks)
        return self._seen_on_host

    def empty_distance(self, is_row_visible: np.ndarray[Any, Any], low: float, scale: float) -> Any:
        """From every cell, how many cells to the nearest with a value that the transfer function shows; 0 there."""
        from pellucid.fields.kernels import sampling

        warp = runtime.start()
        below = np.concatenate([[0], np.cumsum(is_row_visible)]).astype(np.int32)
        found = warp.zeros(self.cells, dtype=warp.uint8, device=self.device.name)
        counts = warp.array(below, device=self.device.name)
        launch(sampling.find_occupied, self.cells, [self.ranges, low, scale, counts], [found], self.device)
        return empty_distance_of(found, self.device)

    def empty_distance_to_surfaces(self, levels: Sequence[float]) -> Any:
        """From every cell, how many cells to the nearest that a surface of one of these values may pass; 0 there."""
        from pellucid.fields.kernels import empty_space

        warp = runtime.start()
        passed = warp.empty(self.cells, dtype=warp.uint8, device=self.device.name)
        values = warp.array(np.array(levels, np.float32), device=self.device.name)
        launch(empty_space.find_passed, self.cells, [self.ranges, values], [passed], self.device)
        return empty_distance_of(passed, self.device)

    def close(self) -> None:
        """Stop listening to the volume."""
        self.stop_listening()

    def _is_full(self) -> Voxels | None:
        """Which bricks of level 0, (z, y, x), are there at full resolution; None: all of them."""
        return None

    def _refresh(self, box: Box) -> None:
        raise NotImplementedError


def stored_type(volume: Volume) -> np.dtype[Any]:
    """The type of a volume's voxels on a device."""
    return np.dtype(STORED_AS.get(volume.dtype.name, volume.dtype.name))


def empty_distance_of(occupied: Any, device: Device) -> Any:
    """From cells that are visible (1) or not (0) to the distance from each to the nearest visible one, in cells."""
    from pellucid.fields.kernels import empty_space

    return _distance(occupied, empty_space.MAX_DISTANCE, device)


def solid_distance_of(vacancy: Any, device: Device) -> Any:
    """From the distance to the nearest visible cell to that from each visible one to the nearest which is not."""
    from pellucid.fields.kernels import empty_space

    return _distance(vacancy, empty_space.MAX_DISTANCE, device)


def _distance(cells: Any, most: int, device: Device) -> Any:
    """To cells that are not 0; no more than ``most``."""
    from pellucid.fields.kernels import empty_space

    warp = runtime.start()
    distance = warp.empty(cells.shape, dtype=warp.uint8, device=device.name)
    launch(empty_space.begin, cells.shape, [cells, most], [distance], device)
    for axis in range(3):
        spread = warp.empty(cells.shape, dtype=warp.uint8, device=device.name)
        if device.is_cuda:
            launch(empty_space.spread, cells.shape, [axis, distance], [spread], device)
        else:
            rows = LaunchRange(cells.shape[:2], heft=cells.shape[2])
            launch(empty_space.spread_rows, rows, [axis, distance], [spread], device)
        distance = spread
    return distance


def _noted(changes: list[Box], box: Box) -> list[Box]:
    """Boxes that changed, and one more; what lies within another needs no place of its own."""
    if any(known.contains(box) for known in changes):
        return changes
    changes = [*(known for known in changes if not box.contains(known)), box]
    if len(changes) <= MAX_CHANGES:
        return changes
    starts, stops = zip(*((known.start, known.stop) for known in changes), strict=True)
    return [Box(triple(map(min, zip(*starts, strict=True))), triple(map(max, zip(*stops, strict=True))))]
