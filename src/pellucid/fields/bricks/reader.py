"""BrickBatch read in the background, several at a time.

Here: BrickReader: neighbouring bricks are read together, on threads, in the order in which they are wanted.
Not here: which are wanted (bricks), what a level is (pyramid).
"""

import math
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.device import never_cancelled
from pellucid.fields.bricks.pyramid import Pyramid
from pellucid.fields.sizes import APRON, BRICK, PADDED
from pellucid.formats.protocol import Voxels
from pellucid.settings import current

TOGETHER = 4
"""Bricks along the edge of a group that is read at once: chunks of a file are then seldom decoded twice."""

AT_ONCE_BYTES = 8 * 2**20
"""Of bricks that are taken in between two images of a moving scene: more would be felt."""

MAX_BYTES = 128 * 2**20
"""In a group, where compressed chunks are long: slices that are compressed whole."""

ASK_AGAIN_S = 0.01
"""While bricks are waited for: how long until it is asked again whether they are still wanted."""

Group = tuple[int, int, int, int]


@dataclass(frozen=True)
class BrickBatch:
    """Some bricks that were read. voxels: (n, 36³) of the stored type."""

    pages: Voxels
    voxels: Voxels

    def among(self, is_wanted: Voxels) -> "BrickBatch":
        """Those whose page is wanted."""
        chosen = is_wanted[self.pages]
        return self if chosen.all() else BrickBatch(self.pages[chosen], self.voxels[chosen])


@dataclass(frozen=True)
class _PendingBricks:
    members: frozenset[int]
    future: Future[BrickBatch]


class BrickReader:
    """Reads bricks by page: their number among all bricks of all levels, finest first."""

    def __init__(self, pyramid: Pyramid, stored: np.dtype[Any]) -> None:
        self._pyramid = pyramid
        self._stored = stored
        counts = [prod(level.bricks) for level in pyramid.levels]
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
            if sum(bricks.voxels.nbytes for _, bricks in found) < max_bytes:
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
            places[members] = self._places(int(level), pages[members]) // np.array(self._together(int(level)))
        for page, level, (z, y, x) in zip(pages.tolist(), levels.tolist(), places.tolist(), strict=True):
            groups.setdefault((level, z, y, x), []).append(page)
        return groups

    def _together(self, level: int) -> Shape:
        """Bricks along (z, y, x) that are read at once: whole compressed chunks, where these are long."""
        # Levels that are made from finer ones when they are read need 8, 64, ... times as many voxels.
        edge = max(1, TOGETHER >> self._pyramid.steps_from_source(level))
        covering = [-(-n // BRICK) for n in self._pyramid.compressed_chunk(level)]
        if max(covering) <= edge:
            return (edge, edge, edge)
        edges = [n if n > edge else 1 for n in covering]
        while prod(edges) * BRICK**3 * self._stored.itemsize > MAX_BYTES and max(edges) > 1:
            longest = edges.index(max(edges))
            edges[longest] = -(-edges[longest] // 2)
        return triple(edges)

    def _places(self, level: int, pages: Voxels) -> Voxels:
        """(n, 3): which bricks of a level, along (z, y, x)."""
        found = np.unravel_index(pages - self.first_pages[level], self._pyramid.levels[level].bricks)
        return np.stack(found, axis=-1)

    def _read_group(self, level: int, pages: Voxels) -> BrickBatch:
        """The smallest box that holds the bricks and their aprons, cut up; beyond the border its voxels again."""
        places = self._places(level, pages)
        low, high = places.min(axis=0) * BRICK - APRON, (places.max(axis=0) + 1) * BRICK + APRON
        outer = Box(triple(map(int, low)), triple(map(int, high)))
        inner = outer.intersect(Box.whole(self._pyramid.levels[level].shape))
        voxels = self._pyramid.read(level, inner).astype(self._stored, copy=False)
        sides = zip(outer.start, inner.start, inner.stop, outer.stop, strict=True)
        beyond = [(b - a, d - c) for a, b, c, d in sides]
        padded = np.pad(voxels, beyond, mode="edge") if np.any(beyond) else voxels
        bricks: Voxels = np.empty((len(pages), PADDED, PADDED, PADDED), self._stored)
        for brick, corner in zip(bricks, places * BRICK - APRON - low, strict=True):
            z, y, x = map(int, corner)
            brick[:] = padded[z : z + PADDED, y : y + PADDED, x : x + PADDED]
        return BrickBatch(pages, bricks.reshape(len(pages), -1))
