"""Which rows of the detector show the sample; only these are used to find the rotation axis.

Here: SampleRows, measured in a few views: the contrast of every row, compared with its noise and with other rows.
Not here: the axis in these rows (axis, tilt, offset).
"""

from dataclasses import dataclass
from math import sqrt
from weakref import WeakKeyDictionary

import numpy as np
import scipy  # Its parts load when they are used, and a viewer that only names them starts sooner.

from pellucid.tomo.correction.beam import floor_of
from pellucid.tomo.correction.frame_check import good_darks, good_flats
from pellucid.tomo.scan import Floats, Frames, Indices, Scan

SAMPLED_VIEWS, SAMPLED_FLATS = 8, 5
BINS, MIN_BIN_COLUMNS = 32, 4
"""Columns are averaged in so many bins, of so many columns at least, before their contrast is measured."""

CONTRAST_PERCENT = (5, 95)
MIN_DEVIATIONS = 8.0
"""Standard deviations of the noise of a bin: the contrast of noise alone is about 4."""

MIN_SHARE = 0.2
"""Of the contrast of the strongest row: a row with less shows a beam that drifts, and no sample."""

MIN_LIT_SHARE = 0.5
"""Of the pixels of a row, that have light."""

NOISE_OF_DIFFERENCES = sqrt(np.pi) / 2
"""The noise of a pixel, from the mean difference of two pixels: both normal."""

_MEASURED: WeakKeyDictionary[Scan, "SampleRows"] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class SampleRows:
    """contrasts: of the attenuation along every row of the detector. deviations: the same in deviations of the noise.

    >>> found = SampleRows(np.array([0.01, 0.5, 1.0, 0.8, 0.9, 0.01]), np.array([3.0, 90, 99, 95, 97, 3.0]))
    >>> found.rows.tolist(), found.strongest, found.across(2), found.has_sample
    ([1, 2, 3, 4], 2, [2, 3], True)
    """

    contrasts: Floats
    deviations: Floats

    @classmethod
    def of(cls, scan: Scan) -> "SampleRows":
        """Measured once for every scan."""
        if scan not in _MEASURED:
            _MEASURED[scan] = _measured(scan)
        return _MEASURED[scan]

    @property
    def has_sample(self) -> bool:
        return bool((self.deviations >= MIN_DEVIATIONS).any())

    @property
    def rows(self) -> Indices:
        """That show the sample; all rows, where none stands out from the noise."""
        if not self.has_sample:
            return np.arange(len(self.contrasts))
        is_clear = self.deviations >= MIN_DEVIATIONS
        return np.flatnonzero(is_clear & (self.contrasts >= MIN_SHARE * self.contrasts[is_clear].max()))

    @property
    def strongest(self) -> int:
        """The row with the most contrast; the middle one, where none stands out from the noise."""
        if not self.has_sample:
            return len(self.contrasts) // 2
        return int(np.argmax(np.where(self.deviations >= MIN_DEVIATIONS, self.contrasts, 0.0)))

    def across(self, count: int) -> list[int]:
        """So many rows across the sample, without its ends."""
        rows = self.rows
        places = np.linspace(0, len(rows) - 1, min(len(rows), count) + 2).round().astype(int)[1:-1]
        chosen: list[int] = rows[np.unique(places)].tolist()
        return chosen


def _measured(scan: Scan) -> SampleRows:
    floor = floor_of(scan)
    flats, darks = good_flats(scan), good_darks(scan)
    dark = np.zeros(()) if darks is None else _mean(darks)
    beam = np.ones(()) if flats is None else _mean(flats) - dark
    parts = [_contrasts(view - dark, beam, floor) for view in _some(scan.projections, SAMPLED_VIEWS)]
    contrasts, noise = np.median(parts, axis=0)
    # A single row may be bad: its neighbours decide.
    contrasts = scipy.ndimage.median_filter(contrasts, 3, mode="nearest") if scan.rows > 3 else contrasts
    return SampleRows(contrasts, np.divide(contrasts, noise, out=np.zeros(scan.rows), where=noise > 0))


def _contrasts(counts: Floats, beam: Floats, floor: float) -> tuple[Floats, Floats]:
    """Of every row of a view: the contrast of its attenuation, and the noise of a bin."""
    is_lit = (counts >= floor) & (beam >= floor)
    shares = np.maximum(np.nan_to_num(counts), floor) / np.maximum(np.nan_to_num(beam), floor)
    values = -np.log(shares)
    columns = values.shape[1]
    width = max(1, min(columns, max(MIN_BIN_COLUMNS, columns // BINS)))
    bins = values[:, : columns // width * width].reshape(len(values), -1, width).mean(axis=2)
    low, high = np.percentile(bins, CONTRAST_PERCENT, axis=1)
    # Data without noise still have the rounding of numbers.
    noise = (
        NOISE_OF_DIFFERENCES * np.abs(np.diff(values, axis=1)).mean(axis=1) if columns > 1 else np.zeros(len(values))
    )
    contrasts = np.where(is_lit.mean(axis=1) >= MIN_LIT_SHARE, high - low, 0.0)
    return contrasts, np.maximum(noise / sqrt(width), 1e-6)


def _mean(frames: Frames) -> Floats:
    return np.asarray(np.mean(_some(frames, SAMPLED_FLATS), axis=0))


def _some(frames: Frames, count: int) -> list[Floats]:
    chosen = np.unique(np.linspace(0, frames.count - 1, min(count, frames.count)).round().astype(int))
    return [frames.read((number, number + 1))[0].astype(np.float64) for number in chosen.tolist()]
