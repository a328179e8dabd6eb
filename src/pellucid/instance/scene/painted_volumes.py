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

MAX_EDIT_BYTES = 2**28
"""Of what is kept for undo, of one volume, compressed."""


@dataclass(frozen=True)
class Edit:
    """Voxels of a box, before and after, compressed."""

    number: int
    box: Box
    before: bytes
    after: bytes

    @property
    def nbytes(self) -> int:
        return len(self.before) + len(self.after)


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
        voxels = self._shared.array[box.slices]
        before = voxels.copy()
        mask = mask & (voxels != label) if only is None else mask & (voxels == only) & (voxels != label)
        if not mask.any():
            return False
        voxels[mask] = label
        edit = Edit(number, box, _packed(before), _packed(voxels))
        self._edits[self._applied :] = [edit]
        self._applied += 1
        while sum(one.nbytes for one in self._edits) > MAX_EDIT_BYTES and len(self._edits) > 1:
            self._first = self._edits.pop(0).number
            self._applied -= 1
        return True

    def go_to(self, number: int) -> list[Box]:
        """Undo or repeat edits until the voxels have a state; the boxes that changed. An unknown state is ignored."""
        if number not in self.known:
            return []
        changed = []
        numbers = [self._first, *(edit.number for edit in self._edits)]
        target = numbers.index(number)
        while self._applied != target:
            is_back = self._applied > target
            edit = self._edits[self._applied - 1 if is_back else self._applied]
            values = np.frombuffer(zlib.decompress(edit.before if is_back else edit.after), self._shared.dtype)
            self._shared.array[edit.box.slices] = values.reshape(edit.box.shape)
            self._applied += -1 if is_back else 1
            changed.append(edit.box)
        return changed


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
