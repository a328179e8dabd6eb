"""A cache of decoded bricks of voxels, shared by all readers.

Here: DecodedBricks, which decodes boxes brick by brick and keeps as much as it may.
Not here: the values themselves (neural_volume, residual).

A volume that is opened is read several times: for its statistics, its first image and its bricks on the device.
Evaluating a field takes far longer than copying its voxels.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from pellucid.box import Box, Shape, triple
from pellucid.formats.protocol import Voxels

BRICK: Shape = (64, 64, 64)
MAX_BYTES = 512 << 20

Decode = Callable[[Box, int], Voxels]
"""Voxels of a box of a level."""


class DecodedBricks:
    """The voxels of a volume with levels of these shapes; threads may share it."""

    def __init__(self, decode: Decode, shapes: list[Shape], max_bytes: int = MAX_BYTES) -> None:
        self._decode, self._max_bytes = decode, max_bytes
        self._wholes = [Box.whole(shape) for shape in shapes]
        self._kept: OrderedDict[tuple[int, Box], Any] = OrderedDict()
        self._kept_bytes = 0
        self._lock = threading.Lock()

    def read(self, box: Box, out: Voxels, level: int) -> None:
        for cell, part in zip(box.cells(BRICK), box.tiles(BRICK), strict=True):
            brick = self._brick_at(cell, level)
            found = self._voxels(brick, level, is_wanted=2 * part.size >= brick.size)
            inside = part.relative_to(brick.start).slices
            out[part.relative_to(box.start).slices] = self._decode(part, level) if found is None else found[inside]

    def _brick_at(self, cell: Shape, level: int) -> Box:
        start = triple(i * n for i, n in zip(cell, BRICK, strict=True))
        return Box(start, triple(a + n for a, n in zip(start, BRICK, strict=True))).intersect(self._wholes[level])

    def _voxels(self, brick: Box, level: int, *, is_wanted: bool) -> Any:
        """The voxels of a brick; None where it is not kept, and too little of it is wanted to decode all."""
        with self._lock:
            found = self._kept.get((level, brick))
            if found is not None:
                self._kept.move_to_end((level, brick))
        if found is None and is_wanted:
            found = self._decode(brick, level)
            self._keep((level, brick), found)
        return found

    def _keep(self, key: tuple[int, Box], voxels: Any) -> None:
        with self._lock:
            if key not in self._kept:
                self._kept[key] = voxels
                self._kept_bytes += voxels.nbytes
            while self._kept_bytes > self._max_bytes:
                _, oldest = self._kept.popitem(last=False)
                self._kept_bytes -= oldest.nbytes
