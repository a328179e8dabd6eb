"""Filling in pixels of single frames that are not finite (NaN or infinite).

Here: fill_missing(), and the sentence about it.
Not here: pixels of the detector that are bad in all frames (bad_pixels), rows without light (flat_field).

They are filled in along the row, so that the rows of a frame stay independent of one another.
"""

import numpy as np

from pellucid.formats.protocol import Voxels

MAX_MISSING_SHARE = 0.4
"""Of a row: with more, the row is left as it is, and the correction replaces it by other views."""


def fill_missing(frames: Voxels, *, is_shared: bool = False) -> tuple[Voxels, int]:
    """Frames (frame, row, column) without missing pixels, and how many were filled in.

    In place, or in a copy where the memory is shared and something is missing.

    >>> frames, count = fill_missing(np.array([[[1, 2, np.nan, 6, np.inf]]]))
    >>> frames[0, 0].tolist(), count
    ([1.0, 2.0, 4.0, 6.0, 6.0], 2)
    """
    if frames.dtype.kind != "f":
        return frames, 0
    filled = 0
    for number in range(len(frames)):
        with np.errstate(over="ignore", invalid="ignore"):
            is_complete = np.isfinite(frames[number].sum())  # Sooner than a look at every pixel.
        if is_complete:
            continue
        is_missing = ~np.isfinite(frames[number])
        counts = np.count_nonzero(is_missing, axis=1)
        rows = np.flatnonzero((counts > 0) & (counts <= MAX_MISSING_SHARE * frames.shape[2]))
        if len(rows) and is_shared:
            frames, is_shared = frames.copy(), False
        for row in rows.tolist():
            _fill_row(frames[number, row], is_missing[row])
        filled += int(counts[rows].sum())
    return frames, filled


def filled_sentences(count: int) -> list[str]:
    """What a user should know of pixels of the projections that were filled in.

    >>> filled_sentences(1200)
    ['1,200 pixels of single projections were NaN or infinite, and were filled in from the pixels next to them.']
    """
    if not count:
        return []
    subject = "1 pixel of a projection was" if count == 1 else f"{count:,} pixels of single projections were"
    verb = "was" if count == 1 else "were"
    return [
        f"{subject} NaN or infinite, and {verb} filled in from the pixels next to {'it' if count == 1 else 'them'}."
    ]


def _fill_row(row: Voxels, is_missing: Voxels) -> None:
    """On a line between the nearest finite pixels on both sides; at an end, as the nearest."""
    row[is_missing] = np.interp(np.flatnonzero(is_missing), np.flatnonzero(~is_missing), row[~is_missing])
