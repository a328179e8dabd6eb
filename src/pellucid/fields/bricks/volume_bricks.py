"""Bricks of a volume that is read from a file or from memory.

Here: VolumeBricks.
Not here: levels (pyramid), threads (reader), which bricks are wanted (brick_field).
"""

from math import prod
from typing import Any

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.fields.bricks.pyramid import Pyramid
from pellucid.fields.bricks.source import FilledBricks
from pellucid.fields.cell_ranges import cell_ranges, find_ranges
from pellucid.fields.sizes import APRON, BRICK, CELL, PADDED
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume

TOGETHER = 4
"""Bricks along the edge of a group that is read at once: chunks of a file are then seldom decoded twice."""

MAX_BYTES = 128 * 2**20
"""In a group, where compressed chunks are long: slices that are compressed whole."""


class VolumeBricks:
    """A volume as a BrickSource. stored: the type of its voxels on the device."""

    def __init__(self, volume: Volume, stored: np.dtype[Any]) -> None:
        self._volume, self._stored = volume, stored
        self._pyramid = Pyramid(volume)
        self.levels = self._pyramid.levels

    def together(self, level: int) -> Shape:
        """Whole compressed chunks, where these are long."""
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

    def fill(self, level: int, places: Voxels) -> FilledBricks:
        """The smallest box that holds the bricks and their aprons, cut up."""
        low, high = places.min(axis=0) * BRICK - APRON, (places.max(axis=0) + 1) * BRICK + APRON
        outer = Box(triple(map(int, low)), triple(map(int, high)))
        inner = outer.intersect(Box.whole(self.levels[level].shape))
        voxels = self._pyramid.read(level, inner).astype(self._stored, copy=False)
        sides = zip(outer.start, inner.start, inner.stop, outer.stop, strict=True)
        beyond = [(b - a, d - c) for a, b, c, d in sides]
        padded = np.pad(voxels, beyond, mode="edge") if np.any(beyond) else voxels
        bricks: Voxels = np.empty((len(places), PADDED, PADDED, PADDED), self._stored)
        for brick, corner in zip(bricks, places * BRICK - APRON - low, strict=True):
            z, y, x = map(int, corner)
            brick[:] = padded[z : z + PADDED, y : y + PADDED, x : x + PADDED]
        return FilledBricks(bricks.reshape(len(places), -1))

    def cell_ranges(self) -> Voxels:
        return cell_ranges(self._volume)

    def ranges_in(self, cells: Box) -> Voxels:
        start, stop = (triple(n * CELL for n in corner) for corner in (cells.start, cells.stop))
        return find_ranges(self._volume, Box(start, stop).intersect(self._volume.box))

    def refresh(self, box: Box) -> None:
        self._pyramid.refresh(box)
