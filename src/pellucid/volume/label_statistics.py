"""Statistics of labels: how many voxels each has, where its centre is and which box it fills.

Here: LabelTable, and measure_labels, which reads a volume of any size once, piece by piece.
Not here: colours and names (rendering.labels), statistics of values (statistics).
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pellucid.box import Box, triple
from pellucid.errors import Cancelled, InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.volume.statistics import Readable, each_piece

MAX_LABELS = 2**16
MERGED_TOGETHER = 2**18
COLUMNS = 11


@dataclass(frozen=True)
class LabelTable:
    """One row per label, in ascending order. labels, voxels: (n,), how many voxels each label has. center: (n, 3) mean
    of the voxel indices (z, y, x). start, stop: (n, 3), the smallest box that holds the label."""

    labels: Voxels
    voxels: Voxels
    center: Voxels
    start: Voxels
    stop: Voxels

    def box(self, row: int) -> Box:
        return Box(triple(self.start[row].tolist()), triple(self.stop[row].tolist()))

    def to_rows(self) -> Voxels:
        """(n, 11) int64, of which the last three hold the bits of the centre."""
        bits = np.ascontiguousarray(self.center, np.float64).view(np.int64)
        columns = (self.labels.astype(np.int64)[:, None], self.voxels[:, None], self.start, self.stop, bits)
        return np.ascontiguousarray(np.concatenate(columns, axis=1))

    @classmethod
    def from_rows(cls, rows: Voxels, dtype: str) -> "LabelTable":
        """dtype: of the labels."""
        labels = rows[:, 0].astype(np.dtype(dtype))
        center = np.ascontiguousarray(rows[:, 8:]).view(np.float64)
        return cls(labels, rows[:, 1], center, rows[:, 2:5], rows[:, 5:8])


def measure_labels(volume: Readable, cancel: threading.Event | None = None) -> LabelTable:
    """Count the voxels of every label except 0.

    >>> from pellucid.volume.volume import Volume
    >>> table = measure_labels(Volume.from_array(np.array([[[0, 7, 7]]], np.uint8)))
    >>> table.labels.tolist(), table.voxels.tolist(), table.center.tolist()
    ([7], [2], [[0.0, 0.0, 1.5]])
    """
    if volume.dtype.kind not in "iu":
        raise InvalidInput(
            f"{volume.location} has type {volume.dtype}, but labels must be whole numbers.",
            remedy="Open a volume of labels.",
        )

    def count(box: Box, voxels: Voxels) -> _Rows:
        if cancel is not None and cancel.is_set():
            raise Cancelled("Counting labels")
        return _runs(box, voxels)

    rows = _none(volume.dtype.newbyteorder("="))
    for found in _batches(each_piece(volume, "Counting labels", count)):
        rows = _merged([rows, *found])
        if len(rows.labels) > MAX_LABELS:
            raise InvalidInput(
                f"{volume.location} contains more than {MAX_LABELS:,} different labels.",
                remedy="Use a part of it (pellucid convert --box), or merge small labels.",
            )
    return LabelTable(rows.labels, rows.voxels, rows.sums / rows.voxels[:, None], rows.start, rows.stop)


@dataclass(frozen=True)
class _Rows:
    """Parts of labels, in any order; sums: of the indices (z, y, x) of their voxels, exact."""

    labels: Voxels
    voxels: Voxels
    sums: Voxels
    start: Voxels
    stop: Voxels


def _none(dtype: "np.dtype[np.generic]") -> _Rows:
    triples = np.empty((0, 3), np.int64)
    return _Rows(np.empty(0, dtype), np.empty(0, np.int64), triples, triples, triples)


def _batches(found: Iterator[_Rows]) -> Iterator[list[_Rows]]:
    """Merging takes about as long for many rows as for few."""
    batch: list[_Rows] = []
    for one in found:
        batch.append(one)
        if sum(len(rows.labels) for rows in batch) > MERGED_TOGETHER:
            yield batch
            batch = []
    yield batch


def _runs(box: Box, voxels: Voxels) -> _Rows:
    """The labels of a piece. Equal voxels follow each other along x: only the first of each run is looked at."""
    height, width = voxels.shape[1:]
    flat = np.ascontiguousarray(voxels).reshape(-1)
    flat = flat.astype(flat.dtype.newbyteorder("="), copy=False)
    is_start = np.empty(flat.size, bool)
    is_start[1:] = flat[1:] != flat[:-1]
    is_start[::width] = True
    starts = np.flatnonzero(is_start)
    lengths = np.diff(starts, append=flat.size)
    is_label = flat[starts] != 0
    starts, lengths = starts[is_label], lengths[is_label]
    rows, x = np.divmod(starts, width)
    z, y = np.divmod(rows, height)
    first = np.stack([z, y, x], axis=1) + np.array(box.start)
    along_x = lengths * (2 * first[:, 2] + lengths - 1) // 2
    sums = np.stack([first[:, 0] * lengths, first[:, 1] * lengths, along_x], axis=1)
    stop = first + 1
    stop[:, 2] += lengths - 1
    return _merged([_Rows(flat[starts], lengths, sums, first, stop)])


def _merged(parts: list[_Rows]) -> _Rows:
    """One row per label."""
    labels = np.concatenate([part.labels for part in parts])
    if not len(labels):
        return parts[0]
    order = np.argsort(labels, kind="stable")
    labels = labels[order]
    first = np.flatnonzero(np.concatenate([[True], labels[1:] != labels[:-1]]))
    voxels, sums, start, stop = (
        np.concatenate([getattr(part, name) for part in parts])[order] for name in ("voxels", "sums", "start", "stop")
    )
    return _Rows(
        labels[first],
        np.add.reduceat(voxels, first),
        np.add.reduceat(sums, first, axis=0),
        np.minimum.reduceat(start, first, axis=0),
        np.maximum.reduceat(stop, first, axis=0),
    )
