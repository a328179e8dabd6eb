"""Fourier shell correlation: up to which frequency two volumes agree.

Here: shell_correlation, ShellCorrelation.
Not here: which volumes are compared (denoise).
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from pellucid.formats.protocol import Voxels

THRESHOLD = 1 / 7
MAX_VOXELS = 2**24
FADE = 0.125
"""The part of every axis, at either end, over which values fade to the mean: borders would agree too well."""


@dataclass(frozen=True)
class ShellCorrelation:
    """frequencies: of the middle of every shell, in cycles per voxel. values: the correlation of the two volumes."""

    frequencies: list[float]
    values: list[float]

    @property
    def cutoff(self) -> float:
        """The first frequency at which the correlation is below 1/7; 0.5 where it never is."""
        low = [k for k, value in zip(self.frequencies, self.values, strict=True) if value < THRESHOLD]
        return low[0] if low else 0.5

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))


def shell_correlation(first: Voxels, second: Voxels) -> ShellCorrelation:
    """Of two arrays (z, y, x) of the same shape; of larger ones than MAX_VOXELS, of the middle part."""
    window = _middle(first.shape)
    a, b = (_spectrum(one[window]) for one in (first, second))
    shells, count = _shells(first[window].shape)

    def summed(values: Voxels) -> Voxels:
        return np.bincount(shells, values.ravel(), count + 1)[:count]

    joint = summed((a * b.conj()).real)
    own = np.sqrt(summed(np.abs(a) ** 2) * summed(np.abs(b) ** 2))
    values = np.divide(joint, own, out=np.zeros(count), where=own > 0)
    frequencies = (np.arange(count) + 0.5) * 0.5 / count
    return ShellCorrelation(frequencies.round(5).tolist(), values.round(5).tolist())


def _middle(shape: tuple[int, ...]) -> tuple[slice, ...]:
    edges = list(shape)
    while prod(edges) > MAX_VOXELS:
        edges[int(np.argmax(edges))] //= 2
    return tuple(slice((n - e) // 2, (n - e) // 2 + e) for n, e in zip(shape, edges, strict=True))


def _spectrum(voxels: Voxels) -> Voxels:
    faded = voxels.astype(np.float32) - np.float32(voxels.mean())
    for axis, length in enumerate(voxels.shape):
        inside = np.minimum(np.arange(length), np.arange(length)[::-1]) + 0.5
        ramp = np.sin(np.clip(inside / max(FADE * length, 0.5), 0, 1) * np.pi / 2) ** 2
        faded *= ramp.astype(np.float32).reshape([length if other == axis else 1 for other in range(voxels.ndim)])
    return np.fft.rfftn(faded)


def _shells(shape: tuple[int, ...]) -> tuple[Voxels, int]:
    """The number of every coefficient's shell, and how many there are; what is beyond half a cycle is in one more."""
    count = max(4, max(shape) // 2)
    axes = [np.fft.fftfreq(n) for n in shape[:-1]] + [np.fft.rfftfreq(shape[-1])]
    grids = np.meshgrid(*axes, indexing="ij", sparse=True)
    radius = np.sqrt(sum(grid**2 for grid in grids))
    return np.minimum((radius / 0.5 * count).astype(np.int64), count).ravel(), count
