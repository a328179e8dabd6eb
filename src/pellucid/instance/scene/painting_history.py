"""Volumes of labels that users paint: copies in memory, with the way back to every state.

Here: PaintedVolume, PaintedVolumes.
Not here: which voxels a brush touches (volume.brush), the scene that names a state (painting).

A state has a number, which is the ``edit`` of the layer; 0 is the volume as it was opened.
"""

import itertools
import zlib
from dataclasses import dataclass

import numpy as np

from pellucid.box import Box
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.rendering.scene import Scene

MAX_EDIT_BYTES = 2**27
"""Of what is kept for undo, of one volume, compressed."""
MAX_EDIT_VOXELS = 2**27
"""Of what is kept for undo, of one volume: going from the first state to the last takes the time for so many."""
TILE = (32, 64, 64)
"""Of a box, what is kept are the tiles in which voxels changed."""


@dataclass(frozen=True)
class _EditedTile:
    """Voxels of a box, before and after, compressed."""

    box: Box
    before: bytes
    after: bytes


@dataclass(frozen=True)
class Edit:
    """What one path of the brush changed."""

    number: int
    tiles: tuple[_EditedTile, ...]

    @property
    def nbytes(self) -> int:
        return sum(len(tile.before) + len(tile.after) for tile in self.tiles)

    @property
    def size(self) -> int:
        return sum(tile.box.size for tile in self.tiles)


class PaintedVolume:
    """A copy of a volume. base: the source that it was made from."""

    def __init__(self, base: str, source: str, shared: SharedArray) -> None:
        self.base, self.source, self._shared = base, source, shared
        self._edits: list[Edit] = []
        self._applied, self._first = 0, 0

    @property
    def dtype(self) -> "np.dtype[np.generic]":
        dtype: np.dtype[np.generic] = self._shared.dtype
        return dtype

    @property
    def whole(self) -> Box:
        depth, height, width = self._shared.shape
        return Box.whole((depth, height, width))

    @property
    def now(self) -> int:
        """The number of the state that its voxels have."""
        return self._edits[self._applied - 1].number if self._applied else self._first

    @property
    def known(self) -> set[int]:
        """The states that it can go to."""
        return {self._first, *(edit.number for edit in self._edits)}

    def paint(self, number: int, box: Box, mask: Voxels, label: int, only: int | None) -> bool:
        """Give voxels of a box a label. only: those that have this one now. Whether any voxel changed; the states
        that were undone are gone then."""
        tiles = [
            self._painted_tile(tile, mask[tile.relative_to(box.start).slices], label, only) for tile in box.tiles(TILE)
        ]
        changed = tuple(tile for tile in tiles if tile is not None)
        if not changed:
            return False
        self._edits[self._applied :] = [Edit(number, changed)]
        self._applied += 1
        while self._is_too_much and len(self._edits) > 1:
            self._first = self._edits.pop(0).number
            self._applied -= 1
        return True

    def _painted_tile(self, box: Box, mask: Voxels, label: int, only: int | None) -> _EditedTile | None:
        voxels = self._shared.array[box.slices]
        mask = mask & (voxels != label) if only is None else mask & (voxels == only) & (voxels != label)
        if not mask.any():
            return None
        before = _packed(voxels)
        voxels[mask] = label
        return _EditedTile(box, before, _packed(voxels))

    @property
    def _is_too_much(self) -> bool:
        nbytes, size = sum(edit.nbytes for edit in self._edits), sum(edit.size for edit in self._edits)
        return nbytes > MAX_EDIT_BYTES or size > MAX_EDIT_VOXELS

    def go_to(self, number: int) -> list[Box]:
        """Undo or repeat edits until the voxels have a state; the boxes that changed. An unknown state is ignored."""
        if number not in self.known:
            return []
        changed, target = [], self._steps_to(number)
        while self._applied != target:
            is_back = self._applied > target
            edit = self._edits[self._applied - 1 if is_back else self._applied]
            for tile in edit.tiles:
                values = np.frombuffer(zlib.decompress(tile.before if is_back else tile.after), self._shared.dtype)
                self._shared.array[tile.box.slices] = values.reshape(tile.box.shape)
                changed.append(tile.box)
            self._applied += -1 if is_back else 1
        return changed

    def voxels_to(self, number: int) -> int:
        """How many voxels go_to goes through."""
        first, last = sorted((self._applied, self._steps_to(number) if number in self.known else self._applied))
        return sum(edit.size for edit in self._edits[first:last])

    def _steps_to(self, number: int) -> int:
        """How many edits lead to a state."""
        return [self._first, *(edit.number for edit in self._edits)].index(number)


class PaintedVolumes:
    """By their sources. numbers: of states, unique in all volumes."""

    def __init__(self) -> None:
        self._painted: dict[str, PaintedVolume] = {}
        self.numbers = itertools.count(1)

    def add(self, painted: PaintedVolume) -> None:
        self._painted[painted.source] = painted

    def find(self, source: str) -> PaintedVolume | None:
        """The copy of this name, or of the volume of this name, if it can still be as that was."""
        of_base = (one for one in self._painted.values() if one.base == source and 0 in one.known)
        return self._painted.get(source) or next(of_base, None)

    def keep(self, sources: set[str]) -> None:
        """Those that are still in memory; the others are gone."""
        self._painted = {source: one for source, one in self._painted.items() if source in sources}

    def voxels_to_change(self, scene: Scene) -> int:
        """How many voxels follow() goes through; 0 where all have the states that a scene names."""
        named = ((self._painted.get(layer.source), layer.edit) for layer in scene.volumes)
        return sum(painted.voxels_to(edit) for painted, edit in named if painted is not None)

    def follow(self, scene: Scene) -> dict[str, list[Box]]:
        """Bring the voxels to the states that a scene names; what changed, by source."""
        changed: dict[str, list[Box]] = {}
        for layer in scene.volumes:
            painted = self._painted.get(layer.source)
            if painted is not None and layer.source not in changed and (boxes := painted.go_to(layer.edit)):
                changed[layer.source] = boxes
        return changed


def _packed(voxels: Voxels) -> bytes:
    return zlib.compress(np.ascontiguousarray(voxels).tobytes(), 1)
