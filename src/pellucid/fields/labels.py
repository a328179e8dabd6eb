"""Volumes whose voxels are labels: whole numbers that name things, of any type, in at most 16 bits on a device.

Here: LabelVolume, which gives every label a row of a table of colours.
Not here: the colours (rendering.labels), reading the nearest voxel in a kernel (sampling).

Labels of 8 and 16 bits are their own rows. Wider ones, of which float32 would lose some, get rows as they are met.
"""

import threading
from uuid import uuid4

import numpy as np

from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Header, Level, Voxels
from pellucid.volume.closable_reader import ClosableReader
from pellucid.volume.volume import Volume

MAX_LABELS = 2**16


class LabelReader:
    """Reads rows instead of labels, of one level: coarser ones of a file may hold means of labels, which name nothing.

    first: the label of row 0.
    """

    def __init__(self, volume: Volume, *, is_owner: bool) -> None:
        if volume.dtype.kind not in "iu":
            raise InvalidInput(
                f"{volume.location} has type {volume.dtype}, but labels must be whole numbers.",
                remedy="Draw it as values, or convert it with --dtype uint16.",
            )
        self._volume, self._is_owner = volume, is_owner
        self._is_wide = volume.dtype.itemsize > 2
        dtype = np.dtype(np.uint16) if self._is_wide else volume.dtype
        level, codec = Level(volume.shape, volume.chunk, volume.spacing), volume.header.codec
        self.header = Header((level,), dtype, volume.unit, codec=codec, orientation=volume.orientation)
        self.first = 0 if self._is_wide else int(np.iinfo(dtype).min)
        self._rows = {0: 0}
        self._lock = threading.Lock()

    @property
    def labels(self) -> Voxels:
        """The label of every row, (n,)."""
        if not self._is_wide:
            span = np.iinfo(self._volume.dtype)
            return np.arange(span.min, span.max + 1)
        with self._lock:
            return np.array(list(self._rows), self._volume.dtype)

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        if not self._is_wide:
            self._volume.read(box, out)
            return
        found = self._volume.read(box).ravel()
        # Labels come in runs: only the first voxel of each is looked up.
        starts = np.concatenate([[0], np.flatnonzero(found[1:] != found[:-1]) + 1])
        known, which = np.unique(found[starts], return_inverse=True)
        rows = self._rows_of(known)[which.ravel()]
        out[...] = np.repeat(rows, np.diff(starts, append=len(found))).reshape(box.shape)

    def close(self) -> None:
        if self._is_owner:
            self._volume.close()

    def _rows_of(self, labels: Voxels) -> Voxels:
        with self._lock:
            for label in labels.tolist():
                self._rows.setdefault(label, len(self._rows))
            if len(self._rows) > MAX_LABELS:
                raise InvalidInput(
                    f"{self._volume.location} contains more than {MAX_LABELS:,} different labels.",
                    remedy="Draw a part of it (pellucid convert --box), or merge small labels.",
                )
            return np.array([self._rows[label] for label in labels.tolist()], np.uint16)


class LabelVolume(Volume):
    """A volume of labels as a volume of rows. It changes when the volume changes that it was made from.

    is_owner: whether that volume is closed with it.
    """

    def __init__(self, volume: Volume, *, is_owner: bool = False) -> None:
        self._reader = LabelReader(volume, is_owner=is_owner)
        # A name of its own, in memory: what is kept on disk about the volume is about its labels, not about rows.
        super().__init__(ClosableReader(self._reader), Location(f"memory:labels-{uuid4().hex}"))
        self._stop_listening = volume.on_change(self.changed)

    @property
    def labels(self) -> Voxels:
        """The label of every row that has been met so far, (n,)."""
        return self._reader.labels

    @property
    def first(self) -> int:
        """What a voxel of row 0 holds."""
        return self._reader.first

    def close(self) -> None:
        """Stop listening, and let go of the voxels."""
        self._stop_listening()
        super().close()
