"""A fixed number of bricks in the memory of a device, and which ones they are.

Here: BrickPool: slots, the page table, who has to go when there is no room.
Not here: which bricks are wanted (brick_field), where they come from (pyramid, reader).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pellucid.device import Device, runtime
from pellucid.fields.bricks.staging import BrickStaging
from pellucid.fields.sizes import PADDED, VOXEL_KINDS
from pellucid.fields.textures.textures import texture_pool
from pellucid.formats.protocol import Voxels

BRICK_VOXELS = PADDED**3


class BrickPool:
    """Bricks by page: their number among all bricks of all levels."""

    def __init__(
        self, device: Device, stored: np.dtype[Any], slots: int, page_count: int, *, is_texture: bool = True
    ) -> None:
        warp = runtime.start()
        self.slots = slots
        self._device = device
        self._stored = stored
        self._words = BRICK_VOXELS * stored.itemsize // 4
        self._texture = texture_pool(device, stored, slots) if is_texture else None
        self._staging = BrickStaging(device, self._words, slots) if device.is_cuda else None
        if device.is_cuda:
            if self._texture is None:
                self._voxels = warp.empty((slots, self._words), dtype=warp.uint32, device=device.name)
        else:
            # Zeros are not written until they are: memory is taken as bricks come.
            self._host = np.zeros((slots, self._words), np.uint32)
            self._voxels = warp.array(self._host, device=device.name, copy=False)
        self._slot_of = np.full(page_count, -1, np.int32)
        self.table = warp.array(self._slot_of, device=device.name, copy=device.is_cuda)
        self._page_of = np.full(slots, -1, np.int64)
        self._used = np.full(slots, -1, np.int64)
        self._clock = 0

    def describe(self, grid: Any) -> None:
        """Make a Grid say where the bricks are."""
        if self._texture:
            self._texture.describe(grid)
        else:
            grid.voxels, grid.kind = int(self._voxels.ptr), VOXEL_KINDS[self._stored.name]

    def holds(self, pages: Voxels) -> Voxels:
        """Which of the pages are there."""
        there: Voxels = self._slot_of[pages] >= 0
        return there

    def use(self, pages: Voxels) -> None:
        """These were just seen: they go last."""
        self._clock += 1
        slots = self._slot_of[pages]
        self._used[slots[slots >= 0]] = self._clock

    def place(self, pages: Voxels, bricks: Sequence[Any], kept: Voxels) -> None:
        """Put bricks in, as FilledBricks has them; where there is no room, for the least recently used.

        kept: pages that must not go; with the new ones they are no more than there are slots. Kernels know of them
        after publish().
        """
        slots = self._slot_of[pages].astype(np.int64)
        is_new = slots < 0
        if is_new.any():
            slots[is_new] = self._make_room(pages[is_new], kept)
        self._upload(slots, bricks)

    def publish(self) -> None:
        """Let kernels see which bricks are there."""
        if self._device.is_cuda:
            self.table.assign(self._slot_of)

    def _make_room(self, pages: Voxels, kept: Voxels) -> Voxels:
        used = self._used.copy()
        there = self._slot_of[np.concatenate([kept, pages])]
        used[there[there >= 0]] = np.iinfo(np.int64).max
        slots = np.argsort(used, kind="stable")[: len(pages)]
        gone = self._page_of[slots]
        self._slot_of[gone[gone >= 0]] = -1
        self._page_of[slots], self._slot_of[pages] = pages, slots
        self._used[slots] = self._clock
        return slots

    def _upload(self, slots: Voxels, bricks: Sequence[Any]) -> None:
        first = 0
        if self._staging and all(isinstance(some, np.ndarray) for some in bricks):
            self._staging.send(slots, bricks, self._write)
            return
        if self._staging:
            warp = runtime.start()
            for some in bricks:  # They were made on the device.
                numbers = slots[first : first + len(some)].astype(np.int32)
                self._write(some, warp.array(numbers, device=self._device.name))
                first += len(some)
            return
        for some in bricks:
            words = np.ascontiguousarray(some).view(np.uint32).reshape(-1, self._words)
            self._host[slots[first : first + len(words)]] = words
            first += len(words)

    def _write(self, arrived: Any, slots: Any) -> None:
        """Bricks that are on the device, to their slots."""
        if self._texture:
            self._texture.write(int(arrived.ptr), slots)
        else:
            warp = runtime.start()
            warp.copy(warp.indexedarray(self._voxels, [slots, None]), arrived)
