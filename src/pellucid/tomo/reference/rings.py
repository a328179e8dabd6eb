"""The definition of ring removal, in plain NumPy, one sinogram (view, column) at a time.

Here: the algorithms 3 to 6 of Vo, Atwood and Drakopoulos (2018), the definition that kernels are tested against.
Not here: anything fast (rings), the wavelet and the regularised method (they are what they are in one place).
"""

from typing import Any

import numpy as np
import scipy  # Its parts load when they are used, and a viewer that only names them starts sooner.

Floats = np.ndarray[Any, np.dtype[np.float64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

SMOOTHING = 10
"""Views over which a column is averaged to see whether it follows the sample."""


def remove_sorting(sinogram: Floats, size: int) -> Floats:
    """Algorithm 3: what is smooth over the columns when each is sorted is kept, and put back in the old order."""
    order = np.argsort(sinogram, axis=0, kind="stable")
    ranked = np.take_along_axis(sinogram, order, axis=0)
    out = np.empty_like(ranked)
    np.put_along_axis(out, order, _median(ranked, size), axis=0)
    return out


def detect(values: Floats, snr: float) -> Mask:
    """Algorithm 4: values that stand out from the straight line through the middle half of them, once sorted."""
    count = len(values)
    ranked = np.sort(values)
    middle = np.arange(count, dtype=np.float64)[count // 4 : count - count // 4 - 1]
    slope, low = (
        _line(middle, ranked[count // 4 : count - count // 4 - 1])
        if len(middle) > 1
        else (0.0, float(np.median(ranked)))
    )
    high = low + slope * (count - 1)
    noise = max(abs(high - low), 1e-6)
    found = np.zeros(count, np.bool_)
    if abs(ranked[-1] - high) / noise >= snr:
        found |= values > high + 0.5 * snr * noise
    if abs(low - ranked[0]) / noise >= snr:
        found |= values <= low - 0.5 * snr * noise
    return found


def _line(x: Floats, y: Floats) -> tuple[float, float]:
    """Slope and height at 0 of the straight line that is nearest to points."""
    away = x - x.mean()
    slope = float((away * y).sum() / (away**2).sum())
    return slope, float(y.mean() - slope * x.mean())


def remove_large(sinogram: Floats, snr: float, size: int, drop: float = 0.1, *, normalize: bool = True) -> Floats:
    """Algorithm 5: columns that are too bright or too dark as a whole."""
    order = np.argsort(sinogram, axis=0, kind="stable")
    ranked = np.take_along_axis(sinogram, order, axis=0)
    smooth = _median(ranked, size)
    factors = column_factors(ranked, smooth, drop)
    mask = widened(detect(factors, snr))
    out = sinogram / factors if normalize else sinogram.copy()
    fixed = np.empty_like(out)
    np.put_along_axis(fixed, order, smooth, axis=0)
    out[:, mask] = fixed[:, mask]
    return out


def column_factors(ranked: Floats, smooth: Floats, drop: float) -> Floats:
    """How much brighter each column is than its surroundings; extremes of either are left out."""
    rows = len(ranked)
    left_out = int(0.5 * drop * rows)
    kept = slice(left_out, rows - left_out)
    own, usual = ranked[kept].mean(axis=0), smooth[kept].mean(axis=0)
    return np.asarray(np.divide(own, usual, out=np.ones_like(own), where=(usual != 0) & (own != 0)))


def remove_dead(sinogram: Floats, snr: float, size: int) -> Floats:
    """Algorithm 6: columns that do not follow the sample, or fluctuate by themselves, from those beside them."""
    return interpolated(sinogram, dead_columns(column_variability(sinogram), snr, size))


def column_variability(sinogram: Floats) -> Floats:
    """Per column, how far it is from its own average over a few views, summed."""
    smooth = scipy.ndimage.uniform_filter1d(sinogram, SMOOTHING, axis=0, mode="reflect")
    return np.asarray(np.abs(sinogram - smooth).sum(axis=0))


def dead_columns(differences: Floats, snr: float, size: int) -> Mask:
    """Which columns; the two at either border stay, for there is nothing beyond them."""
    usual = scipy.ndimage.median_filter(differences, size, mode="reflect")
    factors = np.divide(differences, usual, out=np.ones_like(differences), where=usual != 0)
    mask = widened(detect(factors, snr))
    mask[:2] = mask[-2:] = False
    # Where a third of the detector stands out, it is the sample that does.
    return mask if 3 * mask.sum() < len(mask) else np.zeros_like(mask)


def interpolated(sinogram: Floats, mask: Mask) -> Floats:
    out = sinogram.copy()
    good = np.flatnonzero(~mask)
    for row in out:
        row[mask] = np.interp(np.flatnonzero(mask), good, row[good])
    return out


def remove_all(sinogram: Floats, snr: float, large_size: int, small_size: int) -> Floats:
    """6, then 5, then 3."""
    return remove_sorting(remove_large(remove_dead(sinogram, snr, large_size), snr, large_size), small_size)


def widened(mask: Mask) -> Mask:
    """One column more on both sides."""
    return np.asarray(scipy.ndimage.binary_dilation(mask))


def _median(ranked: Floats, size: int) -> Floats:
    return np.asarray(scipy.ndimage.median_filter(ranked, (1, size), mode="reflect"))
