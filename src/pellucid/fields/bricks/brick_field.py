"""A volume of any size, drawn from a fixed amount of a device's memory.

Here: BrickField: which bricks are wanted, at which level, and what happens when voxels change.
Not here: slots (pool), filling them in the background (reader), what fills them (source), looking them up (sampling).
"""

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

import numpy as np

from pellucid.box import Box, Shape
from pellucid.device import Device, never_cancelled, runtime
from pellucid.errors import NotEnoughMemory
from pellucid.fields.bricks.pool import BRICK_VOXELS, BrickPool
from pellucid.fields.bricks.pyramid import Resolution
from pellucid.fields.bricks.reader import BrickBatch, BrickReader
from pellucid.fields.bricks.source import BrickSource
from pellucid.fields.bricks.volume_bricks import VolumeBricks
from pellucid.fields.cell_ranges import touched_cells
from pellucid.fields.device_field import DeviceField, stored_type
from pellucid.fields.sizes import APRON, BRICK, BYTES_PER_CELL
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume

STAYING = 1.5
"""A brick that is there counts for so much more than one that is not: two that are seen alike do not take turns."""


class BrickField(DeviceField):
    """Bricks of all levels in a pool. The coarsest level is always there; the rest comes as images want it.

    source: what fills them; by default the volume's voxels.
    """

    def __init__(
        self,
        volume: Volume,
        device: Device,
        budget_bytes: int,
        *,
        is_texture: bool = True,
        source: BrickSource | None = None,
    ) -> None:
        super().__init__(volume, device)
        self._stored = stored_type(volume)
        slots = self._affordable_slots(budget_bytes)
        self.nbytes = slots * BRICK_VOXELS * self._stored.itemsize + prod(self.cells) * BYTES_PER_CELL
        self._source = source or VolumeBricks(volume, self._stored)
        self._reader = BrickReader(self._source)
        pages = int(self._reader.first_pages[-1])
        self._pool = BrickPool(device, self._stored, slots, pages, is_texture=is_texture and not self.labels)
        self._ranges = self._source.cell_ranges()
        warp = runtime.start()
        self.ranges = warp.array(self._ranges, dtype=warp.vec2, device=device.name, copy=device.is_cuda)
        self._coarsest = self._pages_of(len(self._source.levels) - 1)
        self._load(self._coarsest, kept=self._coarsest)
        self._fill_struct()

    @property
    def bricks_read(self) -> int:
        """How many bricks have been read since the beginning."""
        return self._reader.bricks_read

    @property
    def slots(self) -> int:
        """How many bricks there is room for."""
        return self._pool.slots

    def load_missing(
        self, *, wait: bool = True, should_stop: Callable[[], bool] = never_cancelled, finest: int = 0
    ) -> bool:
        pages = self._targets(finest)
        self._pool.use(pages)
        missing = pages[~self._pool.holds(pages)]
        if not len(missing):
            return False
        kept = np.concatenate([self._coarsest, pages])
        arriving = self._reader.read(missing, should_stop) if wait else self._reader.read_ahead(missing)
        self._place(arriving, missing, kept)
        return True

    def close(self) -> None:
        """Stop listening to the volume and reading it."""
        super().close()
        self._reader.close()

    def _load(self, pages: Voxels, kept: Voxels) -> None:
        self._place(self._reader.read(pages), pages, kept)

    def _place(self, arriving: Iterable[list[BrickBatch]], pages: Voxels, kept: Voxels) -> None:
        """Take in what was read, as far as it is among the pages: others may have been wanted a moment ago."""
        is_wanted = np.zeros(self._reader.first_pages[-1], bool)
        is_wanted[pages] = True
        for batch in arriving:
            wanted = [bricks.wanted_voxels(is_wanted) for bricks in batch]
            self._pool.place(np.concatenate([pages for pages, _ in wanted]), [voxels for _, voxels in wanted], kept)
            for bricks in batch:
                self._take_ranges(bricks)
            self.revision += 1
        self._pool.publish()

    def _take_ranges(self, bricks: BrickBatch) -> None:
        """Ranges that became known with the voxels."""

    def _targets(self, finest: int = 0) -> Voxels:
        """The pages that the last image should have had, most important first. finest: the level that is fine enough.

        Where the bricks that it saw do not all fit at this level: all of them at the finest level that fits, and as
        many as there is room for at the level before.
        """
        room = self._pool.slots - len(self._coarsest)
        weights = self._seen()
        finer: Voxels = np.empty(0, np.int64)
        finest = min(finest, len(self._source.levels) - 1)
        for level in range(finest, len(self._source.levels)):
            pages = self._most_visible(level, weights)
            if level == len(self._source.levels) - 1:
                pages = pages[:0]  # They are there anyway.
            if len(pages) <= room:
                self.has_room = level == finest
                return np.concatenate([pages, finer[: room - len(pages)]])
            finer = pages
        raise AssertionError("The coarsest level always fits.")

    def _most_visible(self, level: int, weights: Voxels) -> Voxels:
        """The bricks of a level in which something was seen, most visible first."""
        resolution = self._source.levels[level]
        for axis, halvings in enumerate(resolution.halvings):
            weights = np.add.reduceat(weights, np.arange(0, weights.shape[axis], 1 << halvings), axis=axis)
        seen = np.flatnonzero(weights)
        pages: Voxels = seen + self._reader.first_pages[level]
        importance = weights.ravel()[seen] * np.where(self._pool.holds(pages), STAYING, 1.0)
        return pages[np.argsort(-importance, kind="stable")]

    def _is_full(self) -> Voxels:
        return self._pool.holds(self._pages_of(0)).reshape(self.bricks)

    def _refresh(self, box: Box) -> None:
        """Only the cells and the bricks that a box of level 0 touches."""
        if box.is_empty:
            return
        self._reader.forget()
        self._source.refresh(box)
        self._refresh_cells(touched_cells(box, self.shape))
        for level, resolution in enumerate(self._source.levels):
            pages = self._touched_pages(level, resolution, box)
            there = pages[self._pool.holds(pages)]
            self._load(there, kept=there)

    def _refresh_cells(self, cells: Box) -> None:
        self._ranges[cells.slices] = self._source.ranges_in(cells)
        if self.device.is_cuda:
            warp = runtime.start()
            part = np.ascontiguousarray(self._ranges[cells.slices])
            warp.copy(self.ranges[cells.slices], warp.array(part, dtype=warp.vec2, device=self.device.name))

    def _touched_pages(self, level: int, resolution: Resolution, box: Box) -> Voxels:
        """The bricks of a level that hold voxels of a box, in their aprons too."""
        grown = resolution.covering(box).grow((APRON,) * 3).intersect(Box.whole(resolution.shape))
        numbers = np.arange(prod(resolution.bricks)).reshape(resolution.bricks)
        z, y, x = (slice(a // BRICK, -(-b // BRICK)) for a, b in zip(grown.start, grown.stop, strict=True))
        found: Voxels = numbers[z, y, x].ravel() + self._reader.first_pages[level]
        return found

    def _pages_of(self, level: int) -> Voxels:
        return np.arange(self._reader.first_pages[level], self._reader.first_pages[level + 1])

    def _affordable_slots(self, budget_bytes: int) -> int:
        """How many bricks fit beside the cells; no more than there are, at least the coarsest and one more."""
        brick_bytes, cell_bytes = BRICK_VOXELS * self._stored.itemsize, prod(self.cells) * BYTES_PER_CELL
        slots = (budget_bytes - cell_bytes) // brick_bytes
        if slots < 2:
            remedy = "Open a coarser level (FILE:level=1) or a part (pellucid convert --box), or allow more memory."
            raise NotEnoughMemory(needs=2 * brick_bytes + cell_bytes, has=budget_bytes, remedy=remedy)
        return min(slots, 2 * prod(self.bricks) + 8)

    def _fill_struct(self) -> None:
        from pellucid.fields.kernels import sampling

        warp = runtime.start()
        self._pool.describe(self.struct.whole)
        self.struct.pages = self._pool.table
        levels = [
            _packed(level, int(first))
            for level, first in zip(self._source.levels, self._reader.first_pages, strict=False)
        ]
        self._levels: Any = warp.array(levels, dtype=sampling.BrickLevel, device=self.device.name)
        self.struct.levels = self._levels


def _packed(level: Resolution, first_page: int) -> Any:
    from pellucid.fields.kernels import sampling

    packed = sampling.BrickLevel()
    packed.halvings, packed.shape = _backwards(level.halvings), _backwards(level.shape)
    packed.bricks, packed.first_page = _backwards(level.bricks), first_page
    return packed


def _backwards(numbers: Shape) -> Any:
    return runtime.start().vec3i(*numbers[::-1])
