"""How close a volume is to the truth.

Here: psnr, similarity.
Not here: volumes without a truth (regions, shell_correlation).
"""

import math

import numpy as np
from scipy import ndimage

from pellucid.formats.protocol import Voxels

WINDOW = 7


def psnr(truth: Voxels, found: Voxels, span: float) -> float:
    """In dB. span: of the values.

    >>> round(psnr(np.zeros(4), np.full(4, 0.1), 1.0), 6)
    20.0
    """
    error = float(np.mean((truth.astype(np.float64) - found) ** 2))
    return math.inf if error == 0 else 20 * math.log10(span) - 10 * math.log10(error)


def similarity(truth: Voxels, found: Voxels, span: float) -> float:
    """Structural similarity (SSIM), the mean over windows of 7 voxels along every axis."""
    a, b = (one.astype(np.float64) / span for one in (truth, found))

    def mean(values: Voxels) -> Voxels:
        return np.asarray(ndimage.uniform_filter(values, [min(WINDOW, n) for n in values.shape]))

    mean_a, mean_b = mean(a), mean(b)
    variance_a, variance_b = mean(a * a) - mean_a**2, mean(b * b) - mean_b**2
    top = (2 * mean_a * mean_b + 0.01**2) * (2 * (mean(a * b) - mean_a * mean_b) + 0.03**2)
    return float((top / ((mean_a**2 + mean_b**2 + 0.01**2) * (variance_a + variance_b + 0.03**2))).mean())
