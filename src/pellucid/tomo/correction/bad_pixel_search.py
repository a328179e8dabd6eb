"""Finding dead and hot pixels of a detector in flats and darks.

Here: repaired(), which gives a scan whose bad pixels are filled in wherever its frames are read; finding them.
Not here: filling them in (bad_pixels), pixels struck by a stray photon in one frame (zingers), columns that are wrong
by little (rings).

A pixel is judged against the pixels on both sides of it, along its row and along its column, so that whole dead rows
and columns are found, and the edge of the beam is not.
"""

import threading
from dataclasses import replace

import numpy as np

from pellucid.device import choose
from pellucid.tomo.correction.bad_pixels import BadPixels
from pellucid.tomo.correction.frame_check import good_darks, good_flats
from pellucid.tomo.correction.rings import running_medians
from pellucid.tomo.scan import Floats, Frames, Scan

DEAD, BRIGHT = 0.5, 2.0
"""Times what the pixels on both sides have: below or above, a pixel is bad."""
HOT_SHARE = 0.25
"""Of the open beam: dark counts of a pixel, beyond those on both sides, that make it bad."""
LIT_SHARE = 0.1
"""Of the open beam: where there is less, pixels are not judged."""
SIDE = 9
"""Pixels on either side that a pixel is compared with."""
MAX_SHARE = 0.15
"""Of the detector: where more pixels stand out, the flats are not what they seem, and none is replaced."""
SOME_FRAMES = 8
"""Flats and darks that are enough to see which pixels are bad."""


def repaired(scan: Scan) -> Scan:
    """The same scan with the bad pixels of its detector replaced; without flats nothing is known of them."""
    if scan.flats is None:
        return scan
    repair = PixelRepair(scan)
    darks = None if scan.darks is None else replace(scan.darks, repair=repair)
    flats = replace(scan.flats, repair=repair)
    return replace(scan, projections=replace(scan.projections, repair=repair), flats=flats, darks=darks)


class PixelRepair:
    """Finds the bad pixels when they are first asked for: reading flats and darks takes its time."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._lock = threading.Lock()
        self._found: BadPixels | None = None

    def __call__(self) -> BadPixels:
        with self._lock:
            if self._found is None:
                flats, darks = good_flats(self._scan), good_darks(self._scan)
                flat = np.zeros(self._scan.projections.shape[1:]) if flats is None else _some_mean(flats)
                dark = np.zeros_like(flat) if darks is None else _some_mean(darks)
                self._found = find_bad_pixels(flat, dark)
            return self._found


def _some_mean(frames: Frames) -> Floats:
    """The average of a few frames, taken from all of them."""
    some = np.unique(np.linspace(0, frames.count - 1, SOME_FRAMES).round().astype(int)).tolist()
    total = np.zeros(frames.shape[1:])
    for frame in some:
        total += frames.read((frame, frame + 1))[0]
    return total / len(some)


def find_bad_pixels(flat: Floats, dark: Floats) -> BadPixels:
    """From the mean flat and the mean dark of a detector (row, column)."""
    is_bad = ~(np.isfinite(flat) & np.isfinite(dark))
    signal, dark = np.where(is_bad, 0.0, flat - dark), np.where(is_bad, 0.0, dark)
    beam = float(np.median(signal))
    if beam <= 0:
        return BadPixels.of(np.zeros(flat.shape, bool))
    for _ in range(2):
        # Where a dead row and a dead column cross, only the second look finds good pixels on both sides.
        bad = BadPixels.of(is_bad)
        around, darkness = bad.filled(np.stack([signal, dark]), 0)
        for axis in (0, 1):
            low, high = _beside(around, axis)
            is_bad |= (low > LIT_SHARE * beam) & ((signal < DEAD * low) | (signal > BRIGHT * high))
            is_bad |= dark > _beside(darkness, axis)[1] + HOT_SHARE * beam
    return BadPixels.of(is_bad & (is_bad.mean() <= MAX_SHARE))


def _beside(image: Floats, axis: int) -> tuple[Floats, Floats]:
    """The lower and the higher of the medians of the pixels before and after each, along an axis.

    Beyond the border, the medians at the border count.
    """
    length = image.shape[axis]
    turned = np.ascontiguousarray(image if axis == 0 else image.T, np.float32)[None]
    size = min(SIDE, (length - 1) // 2 * 2 + 1)
    medians = running_medians(turned, size, choose("cpu"))[0]
    places = np.arange(length)
    sides = [medians[np.clip(places + shift, 0, length - 1)] for shift in (-(size + 1) // 2, (size + 1) // 2)]
    before, after = (side if axis == 0 else side.T for side in sides)
    return np.minimum(before, after), np.maximum(before, after)
