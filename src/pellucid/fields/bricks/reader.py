"""Bricks filled in the background, several at a time.

Here: BrickReader: neighbouring bricks are filled together, on threads, in the order in which they are wanted.
Not here: which are wanted (brick_field), what fills them (source).
"""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from pellucid.device import never_cancelled, runtime
from pellucid.fields.bricks.source import BrickSource
from pellucid.formats.protocol import Voxels
from pellucid.settings import current

AT_ONCE_BYTES = 8 * 2**20
"""Of bricks that are taken in between two images of a moving scene: more would be felt."""

ASK_AGAIN_S = 0.01
"""While bricks are waited for: how long until it is asked again whether they are still wanted."""

Group = tuple[int, int, int, int]


@dataclass(frozen=True)
class BrickBatch:
    """Some bricks that were filled. voxels, ranges: as in FilledBricks; level, places: which bricks they are."""

    pages: Voxels
    voxels: Any
    ranges: Any
    level: int
    places: Voxels

    @property
    def nbytes(self) -> int:
        return int(self.voxels.nbytes) if isinstance(self.voxels, np.ndarray) else 4 * int(self.voxels.size)

    def wanted_voxels(self, is_wanted: Voxels) -> tuple[Voxels, Any]:
        """The pages that are wanted, and their voxels."""
        chosen = is_wanted[self.pages]
        if chosen.all():
            return self.pages, self.voxels
        if isinstance(self.voxels, np.ndarray):
            return self.pages[chosen], self.voxels[chosen]
        warp = runtime.start()
        numbers = warp.array(np.flatnonzero(chosen).astype(np.int32), device=self.voxels.device)
        return self.pages[chosen], warp.indexedarray(self.voxels, [numbers, None]).contiguous()


@dataclass(frozen=True)
class _PendingBricks:
    members: frozenset[int]
    future: Future[BrickBatch]


class BrickReader:
    """Fills bricks by page: their number among all bricks of all levels, finest first."""

    def __init__(self, source: BrickSource) -> None:
        self._source = source
        counts = [prod(level.bricks) for level in source.levels]
        self.first_pages = np.concatenate([[0], np.cumsum(counts)])
        self.bricks_read = 0
        self._threads = ThreadPoolExecutor(current().threads, thread_name_prefix="pellucid-bricks")
        self._on_the_way: dict[Group, _PendingBricks] = {}

    def read(self, pages: Voxels, should_stop: Callable[[], bool] = never_cancelled) -> Iterator[list[BrickBatch]]:
        """All of these bricks, as they come, the first ones first; no more of them once there are enough."""
        groups = self._groups(pages)
        while groups and not should_stop():
            self._want(groups)
            arrived = self._arrived(wait_s=ASK_AGAIN_S)
            for group, _ in arrived:
                groups.pop(group, None)
            if arrived:
                yield [bricks for _, bricks in arrived]

    def read_ahead(self, pages: Voxels) -> Iterator[list[BrickBatch]]:
        """Those of these bricks that are there already; the others are on the way, the first ones first."""
        arrived = self._arrived(max_bytes=AT_ONCE_BYTES)
        here = np.concatenate([np.empty(0, np.int64), *(found.pages for _, found in arrived)])
        self._want(self._groups(pages[~np.isin(pages, here)]))
        if arrived:
            yield [bricks for _, bricks in arrived]

    def _want(self, groups: dict[Group, list[int]]) -> None:
        """Read these, most wanted first; what was on the way and is not among them is given up."""
        for group, members in [(group, way.members) for group, way in self._on_the_way.items()]:
            if not members.issuperset(groups.get(group, [-1])):
                self._on_the_way.pop(group).future.cancel()
        for group, pages in groups.items():
            if len(self._on_the_way) >= 2 * current().threads:
                break
            if group not in self._on_the_way:
                future = self._threads.submit(self._read_group, group[0], np.array(pages))
                self._on_the_way[group] = _PendingBricks(frozenset(pages), future)

    def _arrived(self, wait_s: float = 0.0, max_bytes: float = math.inf) -> list[tuple[Group, BrickBatch]]:
        """What has been read since the last call, or so much of it; if nothing has, waiting a little for the first."""
        if wait_s and self._on_the_way:
            wait([way.future for way in self._on_the_way.values()], wait_s, FIRST_COMPLETED)
        found: list[tuple[Group, BrickBatch]] = []
        for group in [group for group, way in self._on_the_way.items() if way.future.done()]:
            if sum(bricks.nbytes for _, bricks in found) < max_bytes:
                found.append((group, self._on_the_way.pop(group).future.result()))
        self.bricks_read += sum(len(bricks.pages) for _, bricks in found)
        return found

    def forget(self) -> None:
        """What is on the way is out of date."""
        for way in self._on_the_way.values():
            way.future.cancel()
        self._on_the_way.clear()

    def close(self) -> None:
        self.forget()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _groups(self, pages: Voxels) -> dict[Group, list[int]]:
        """The pages by what is read together, in the order of the first of each."""
        groups: dict[Group, list[int]] = {}
        levels = np.searchsorted(self.first_pages, pages, side="right") - 1
        places = np.empty((len(pages), 3), np.int64)
        for level in np.unique(levels):
            members = levels == level
            places[members] = self._places(int(level), pages[members]) // np.array(self._source.together(int(level)))
        for page, level, (z, y, x) in zip(pages.tolist(), levels.tolist(), places.tolist(), strict=True):
            groups.setdefault((level, z, y, x), []).append(page)
        return groups

    def _places(self, level: int, pages: Voxels) -> Voxels:
        """(n, 3): which bricks of a level, along (z, y, x)."""
        found = np.unravel_index(pages - self.first_pages[level], self._source.levels[level].bricks)
        return np.stack(found, axis=-1)

    def _read_group(self, level: int, pages: Voxels) -> BrickBatch:
        places = self._places(level, pages)
        filled = self._source.fill(level, places)
        return BrickBatch(pages, filled.voxels, filled.ranges, level, places)
