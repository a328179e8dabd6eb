"""A volume at several resolutions, whether its file has them or not.

Here: Pyramid, which plans the levels that bricks are cut from and reads boxes of them.
Not here: bricks and where they lie on a device (bricks), how voxels are put together (volume.levels).

Levels that the file has are read from it. Coarser ones are means, or of labels the most frequent: those that fit a
share of the host's memory are made once, block by block, and kept there; finer ones are made from what is read,
whenever they are read.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from pellucid import progress
from pellucid.box import Box, Shape, grid_shape, triple
from pellucid.fields.labels import LabelVolume
from pellucid.fields.sizes import BRICK
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.settings import current
from pellucid.volume.levels import halving, reduce_voxels
from pellucid.volume.statistics import piece_shape
from pellucid.volume.volume import Volume

HOST_SHARE = 8
"""Coarse levels may take this part of the memory that the settings allow."""

MAX_HALVINGS = 3
"""Levels further than this from the file are kept in any case: a brick of them would need too much of the file."""


@dataclass(frozen=True)
class Resolution:
    """One level. halvings: how often each of (z, y, x) was halved since level 0; file_level: where the file has it."""

    shape: Shape
    halvings: Shape
    spacing: Spacing
    file_level: int | None = None

    @property
    def bricks(self) -> Shape:
        return grid_shape(self.shape, (BRICK,) * 3)

    def covering(self, box: Box) -> Box:
        """The voxels of this level that hold anything of a box of level 0."""
        start = triple(a >> h for a, h in zip(box.start, self.halvings, strict=True))
        stop = triple(-(-b >> h) for b, h in zip(box.stop, self.halvings, strict=True))
        return Box(start, stop).intersect(Box.whole(self.shape))


class Pyramid:
    """Boxes of a volume at any of its resolutions; the last of them is a single brick."""

    def __init__(self, volume: Volume, host_bytes: int | None = None) -> None:
        self._volume = volume
        self._reduction = "mode" if isinstance(volume, LabelVolume) else "mean"
        self.levels = plan(volume)
        limit = current().memory_bytes // HOST_SHARE if host_bytes is None else host_bytes
        self._kept: dict[int, Voxels] = {}
        for level in range(_first_kept(self.levels, limit, volume.dtype.itemsize), len(self.levels)):
            self._kept[level] = np.empty(self.levels[level].shape, volume.dtype)
        self._make(volume.box)

    def read(self, level: int, box: Box) -> Voxels:
        """The voxels of a box, in the volume's own type."""
        resolution = self.levels[level]
        if level in self._kept:
            return self._kept[level][box.slices]
        if resolution.file_level is not None:
            return self._volume.at_level(resolution.file_level).read(box)
        return self._reduced(level, box)

    def steps_from_source(self, level: int) -> int:
        """How many levels are passed through to read one: 0 where it is in memory or in the file."""
        steps = 0
        while level not in self._kept and self.levels[level].file_level is None:
            level, steps = level - 1, steps + 1
        return steps

    def compressed_chunk(self, level: int) -> Shape:
        """What the file decodes at once to read any voxel of a level; single voxels where nothing is decoded."""
        number = self.levels[level].file_level
        is_compressed = self._volume.header.codec not in ("", "none")
        return self._volume.levels[number].chunk if is_compressed and number is not None else (1, 1, 1)

    def refresh(self, box: Box) -> None:
        """The voxels of a box of level 0 are new."""
        self._make(box)

    def _reduced(self, level: int, box: Box) -> Voxels:
        """A box made from the level before."""
        finer, factors = self.levels[level - 1], self._factors(level)
        start = triple(a * f for a, f in zip(box.start, factors, strict=True))
        stop = triple(b * f for b, f in zip(box.stop, factors, strict=True))
        voxels = self.read(level - 1, Box(start, stop).intersect(Box.whole(finer.shape)))
        return reduce_voxels(voxels, factors, self._reduction)

    def _factors(self, level: int) -> Shape:
        finer, coarser = self.levels[level - 1].halvings, self.levels[level].halvings
        return triple(1 << (b - a) for a, b in zip(finer, coarser, strict=True))

    def _make(self, changed: Box) -> None:
        """The levels that are kept, each from the one before, where they hold anything of a box of level 0."""
        for level in self._kept:
            boxes = list(self.levels[level].covering(changed).tiles(self._pieces(level)))
            total = sum(box.size for box in boxes)
            with progress.task("Making coarser levels", total=total, unit="voxels") as bar:
                for made in _in_threads(lambda box, level=level: self._make_piece(level, box), boxes):
                    bar.advance(made)

    def _make_piece(self, level: int, box: Box) -> int:
        self._kept[level][box.slices] = self._reduced(level, box)
        return box.size

    def _pieces(self, level: int) -> Shape:
        """Pieces of a level that come from a few MiB of whole chunks of the file."""
        base = next(n for n in range(level, -1, -1) if self.levels[n].file_level is not None)
        volume = self._volume.at_level(self.levels[base].file_level or 0)
        before, after = self.levels[base].halvings, self.levels[level].halvings
        shifts = triple(b - a for a, b in zip(before, after, strict=True))
        piece = piece_shape(volume, 1 << max(shifts))
        return triple(max(1, n >> s) for n, s in zip(piece, shifts, strict=True))


def plan(volume: Volume) -> tuple[Resolution, ...]:
    """Level 0, those of the file's levels that halve it, and further halvings down to a single brick."""
    levels = [Resolution(volume.shape, (0, 0, 0), volume.spacing, volume.level)]
    for number in range(volume.level + 1, len(volume.levels)):
        found = _from_file(volume, number)
        if found and found.halvings != levels[-1].halvings:
            levels.append(found)
    while prod(levels[-1].bricks) > 1:
        finer = levels[-1]
        factors = halving(finer.shape, finer.spacing)
        shape = triple(-(-n // f) for n, f in zip(finer.shape, factors, strict=True))
        halvings = triple(h + f - 1 for h, f in zip(finer.halvings, factors, strict=True))
        z, y, x = (s * f for s, f in zip(finer.spacing, factors, strict=True))
        levels.append(Resolution(shape, halvings, (z, y, x)))
    return tuple(levels)


def _from_file(volume: Volume, number: int) -> Resolution | None:
    """A level of the file as one of ours; None where its voxels are not 2, 4, 8, ... of level 0."""
    level = volume.levels[number]
    halvings = triple(round(np.log2(b / a)) for a, b in zip(volume.spacing, level.spacing, strict=True))
    exact = [a * 2.0**h for a, h in zip(volume.spacing, halvings, strict=True)]
    fits = [-(-n >> max(h, 0)) == m for n, h, m in zip(volume.shape, halvings, level.shape, strict=True)]
    if min(halvings) < 0 or not all(fits) or not np.allclose(exact, level.spacing, rtol=1e-3):
        return None
    return Resolution(level.shape, halvings, level.spacing, number)


def _first_kept(levels: tuple[Resolution, ...], limit: int, itemsize: int) -> int:
    """The finest level that the file does not have, and that fits into the memory with all that are coarser."""
    last_in_file = max(n for n, level in enumerate(levels) if level.file_level is not None)
    first, total = len(levels), 0
    while first > last_in_file + 1:
        total += prod(levels[first - 1].shape) * itemsize
        if total > limit and first <= last_in_file + MAX_HALVINGS:
            break
        first -= 1
    return first


def _in_threads(work: Any, boxes: Iterable[Box]) -> Iterable[Any]:
    with ThreadPoolExecutor(current().threads) as pool:
        yield from pool.map(work, boxes)
