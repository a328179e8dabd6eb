"""How good a compressed volume is.

Here: Quality, measured over all voxels.
Not here: images of volumes (rendering), sizes of files (compression).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from pellucid.box import Box
from pellucid.volume.volume import Volume

SSIM_WINDOW = 7
SLAB = 32


@dataclass(frozen=True)
class Quality:
    """psnr: in dB of the volume's value range, infinite where all voxels are equal. ssim: mean over 7³ windows.
    max_error: in the volume's units."""

    psnr: float
    ssim: float
    max_error: float


def measure(
    volume: Volume,
    read: Callable[[Box], np.ndarray[tuple[int, ...], np.dtype[np.generic]]],
    device: torch.device | str = "cpu",
) -> Quality:
    """Compare a volume with what ``read`` returns for its boxes, slab by slab. device: what computes."""
    low, high = volume.value_range
    extent = (high - low) or 1.0
    squares, largest, similar, windows = 0.0, 0.0, 0.0, 0
    for start in range(0, volume.shape[0], SLAB):
        box = Box((start, 0, 0), (min(start + SLAB, volume.shape[0]), *volume.shape[1:]))
        truth, found = (
            torch.from_numpy(np.array(values, np.float64)).to(device) for values in (volume.read(box), read(box))
        )
        difference = torch.nan_to_num((truth - found).abs(), nan=math.inf, posinf=math.inf)
        squares += float(difference.square().sum())
        largest = max(largest, float(difference.max()))
        total, count = _ssim(truth / extent, found / extent)
        similar, windows = similar + total, windows + count
    mean = squares / math.prod(volume.shape)
    psnr = math.inf if mean == 0 else 20 * math.log10(extent) - 10 * math.log10(mean)
    return Quality(psnr, similar / windows if windows else 1.0, largest)


def _ssim(first: torch.Tensor, second: torch.Tensor) -> tuple[float, int]:
    """Sum of the structural similarity of all windows in a slab, and how many there are."""
    if min(first.shape) < SSIM_WINDOW:
        return 0.0, 0
    a, b = first[None, None], second[None, None]

    def mean(values: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.avg_pool3d(values, SSIM_WINDOW, stride=1)

    mean_a, mean_b = mean(a), mean(b)
    variance_a, variance_b = mean(a * a) - mean_a**2, mean(b * b) - mean_b**2
    covariance = mean(a * b) - mean_a * mean_b
    top = (2 * mean_a * mean_b + 0.01**2) * (2 * covariance + 0.03**2)
    found = top / ((mean_a**2 + mean_b**2 + 0.01**2) * (variance_a + variance_b + 0.03**2))
    return float(found.sum()), found.numel()
