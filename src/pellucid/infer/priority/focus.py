"""The order in which blocks are computed while a user watches: what is seen comes first.

Here: Focus, what a user looks at; BlockQueue, the blocks that are left.
Not here: computing them (visible_first), where the camera is (instance).
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.box import Box
from pellucid.formats.protocol import Voxels

Point = tuple[float, float, float]


@dataclass(frozen=True)
class Focus:
    """In voxels, (z, y, x). cross_hair: where the slices that are shown meet; None where none are. eye: where the
    camera is. box: what clipping leaves; None for all."""

    cross_hair: Point | None = None
    eye: Point | None = None
    box: Box | None = None


class BlockQueue:
    """Blocks that are left, the most visible one first. The focus may be changed from another thread."""

    def __init__(self, blocks: Sequence[Box], focus: Focus | None = None) -> None:
        self._blocks = list(blocks)
        self._starts, self._stops = (np.array([getattr(one, end) for one in blocks]) for end in ("start", "stop"))
        self._is_left = np.ones(len(self._blocks), bool)
        self._lock = threading.Lock()
        self.set_focus(focus or Focus())

    def set_focus(self, focus: Focus) -> None:
        order = rank_blocks(self._starts, self._stops, focus)
        with self._lock:
            self._order = [int(number) for number in order[::-1] if self._is_left[number]]

    def take(self) -> Box | None:
        """The next block; None when there is none."""
        with self._lock:
            if not self._order:
                return None
            number = self._order.pop()
            self._is_left[number] = False
            return self._blocks[number]

    def __len__(self) -> int:
        return len(self._order)


def rank_blocks(starts: Voxels, stops: Voxels, focus: Focus) -> Voxels:
    """Numbers of (n, 3) blocks: inside the clipping box first, then by how much of them is seen in slices, then by
    their distance from the cross-hair, or else from the camera."""
    middles, is_outside = (starts + stops - 1) / 2, np.zeros(len(starts), bool)
    if focus.box is not None:
        is_outside[:] = ((stops <= focus.box.start) | (starts >= focus.box.stop)).any(axis=1)
    seen = np.zeros(len(starts))
    point = focus.eye
    if focus.cross_hair is not None:
        point, voxel = focus.cross_hair, np.rint(focus.cross_hair)
        # A block of edges a, b and c shows 1 / a of its voxels in a slice across its first edge.
        seen = (((starts <= voxel) & (voxel < stops)) / (stops - starts)).sum(axis=1)
    away = np.zeros(len(starts)) if point is None else np.linalg.norm(middles - np.asarray(point), axis=1)
    return np.lexsort((away, -seen, is_outside))
