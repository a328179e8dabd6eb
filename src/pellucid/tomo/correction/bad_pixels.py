"""Replacing bad pixels of a detector by their neighbours.

Here: BadPixels: which they are, what they are filled in from, filling them in.
Not here: finding them (bad_pixel_search).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.formats.protocol import Voxels

Mask = np.ndarray[Any, np.dtype[np.bool_]]

REACH = 16
"""Pixels as far as good neighbours are looked for."""
STEPS = ((0, -1), (0, 1), (-1, 0), (1, 0), (-1, -1), (-1, 1), (1, -1), (1, 1))
"""Down and to the right. Where a dead row and a dead column cross, only the diagonals lead to good pixels."""
FRAMES_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class BadPixels:
    """rows, columns: of every bad pixel, by row. near_rows, near_columns, shares: (pixel, 8), its good neighbours in
    all directions, and what each counts for; together 1."""

    rows: Voxels
    columns: Voxels
    near_rows: Voxels
    near_columns: Voxels
    shares: Voxels

    @classmethod
    def of(cls, is_bad: Mask) -> "BadPixels":
        """From a mask (row, column). Pixels without any good neighbour stay as they are."""
        rows, columns = np.nonzero(is_bad)
        near, shares = np.zeros((2, len(rows), len(STEPS)), np.int64), np.zeros((len(rows), len(STEPS)))
        for which, (down, right) in enumerate(STEPS):
            for distance in range(1, REACH + 1):
                r, c = rows + distance * down, columns + distance * right
                is_inside = (r >= 0) & (r < is_bad.shape[0]) & (c >= 0) & (c < is_bad.shape[1])
                is_good = is_inside & ~is_bad[np.where(is_inside, r, 0), np.where(is_inside, c, 0)]
                found = is_good & (shares[:, which] == 0)
                near[:, found, which] = r[found], c[found]
                shares[found, which] = 1 / (distance * np.hypot(down, right))
        some = shares.sum(axis=1) > 0
        best = shares.argmax(axis=1)
        for which in range(len(STEPS)):
            # Where a direction has none, another is read: times 0, a pixel that is no number would still be none.
            none = shares[:, which] == 0
            near[:, none, which] = near[:, none, best[none]]
        total = shares.sum(axis=1, keepdims=True)
        shares = np.divide(shares, total, out=shares, where=total > 0)
        return cls(rows[some], columns[some], near[0][some], near[1][some], shares[some])

    @property
    def count(self) -> int:
        return len(self.rows)

    def within(self, rows: tuple[int, int]) -> "BadPixels":
        """Those in rows first to stop."""
        first, stop = np.searchsorted(self.rows, rows)
        parts = (self.rows, self.columns, self.near_rows, self.near_columns, self.shares)
        return BadPixels(*(part[first:stop] for part in parts))

    def rows_needed(self, rows: tuple[int, int]) -> tuple[int, int]:
        """The rows to be read so that these pixels of the given rows can be filled in."""
        return min(rows[0], int(self.near_rows.min())), max(rows[1], int(self.near_rows.max()) + 1)

    def filled(self, frames: Voxels, first_row: int) -> Voxels:
        """A copy of frames (frame, row, column), which begin at a row of the detector, with the pixels filled in."""
        out = frames.copy()
        for start in range(0, len(frames), FRAMES_AT_ONCE):
            some = frames[start : start + FRAMES_AT_ONCE]
            near = some[:, self.near_rows - first_row, self.near_columns]
            values = np.einsum("fpd,pd->fp", near, self.shares)
            values = values if out.dtype.kind == "f" else np.rint(values)
            out[start : start + len(some), self.rows - first_row, self.columns] = values
        return out
