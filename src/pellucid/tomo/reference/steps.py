"""The definition of the steps before back projection, in plain NumPy and double precision.

Here: the definitions that the kernels of correction, zingers and phase are tested against.
Not here: rings (rings), filtering and back projection (projection).
"""

import numpy as np
import scipy  # Its parts load when they are used, and a viewer that only names them starts sooner.

from pellucid.formats.protocol import Voxels
from pellucid.tomo.scan import Floats


def attenuate(raw: Voxels, flats: Voxels, dark: Voxels, floor: float) -> tuple[Floats, Voxels]:
    """Sinograms (row, view, column) and clipped pixels per (row, view); flats (view, row, column) less the dark."""
    counts, open_beam = raw.astype(np.float64) - dark, flats.astype(np.float64)
    with np.errstate(invalid="ignore"):
        is_bad = ~((counts >= floor) & (open_beam >= floor))
        is_endless = (counts > 1e30) | (open_beam > 1e30)
        counts = np.where(~(counts >= floor) | is_endless, floor, counts)
        open_beam = np.where(~(open_beam >= floor) | is_endless, floor, open_beam)
    values = np.log(open_beam / counts)
    return values.transpose(1, 0, 2), (is_bad | is_endless).sum(axis=2).T


def remove_zingers(sinogram: Voxels, size: int, threshold: float) -> Floats:
    """Pixels of a sinogram (view, column) that are below the median around them by more than a threshold become it."""
    values = sinogram.astype(np.float64)
    median = scipy.ndimage.median_filter(values, size, mode="reflect")
    return np.where(median > values + threshold, median, values)


def paganin(transmission: Voxels, strength: float, pad: int) -> Floats:
    """-ln of transmissions (frame, row, column), each divided by 1 + strength k², k in radians per pixel."""
    padded = np.pad(transmission.astype(np.float64), ((0, 0), (pad, pad), (pad, pad)), mode="symmetric")
    rows, columns = (2 * np.pi * np.fft.fftfreq(length) for length in padded.shape[1:])
    response = 1 / (1 + strength * (rows[:, None] ** 2 + columns**2))
    smooth = np.fft.ifft2(np.fft.fft2(padded) * response).real
    return -np.log(smooth[:, pad : smooth.shape[1] - pad, pad : smooth.shape[2] - pad])
