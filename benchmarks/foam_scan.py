"""A simulated scan of a foam with photon noise, and what is known of it.

Here: FoamCase, its scan as a file, the truth, and the measures that need to know where bubbles are.
Not here: what is measured with it (learn_denoise).
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.learn.quality.image_quality import psnr
from pellucid.learn.quality.shell_correlation import shell_correlation
from pellucid.tomo.simulation.detector import Detector, Faults, simulate, write_nxtomo
from pellucid.tomo.simulation.phantoms import Ellipsoid, Phantom, foam

CM_UM = 1e4
OPACITY = 2.0
"""Of the foam without its bubbles, through the middle."""
FINE = 3
"""Points along the edge of a voxel at which the truth is known; it is their mean."""
NEAR, FAR = 4.0, 3.0
"""Voxels: how far from surfaces material and air are measured; how far on either side an edge is."""


@dataclass(frozen=True)
class FoamCase:
    """rows, columns: of the detector. counts: in the open beam."""

    rows: int
    columns: int
    views: int
    bubbles: int
    counts: float

    @cached_property
    def phantom(self) -> Phantom:
        radius = 0.47 * self.columns
        return foam(radius, self.bubbles, OPACITY / (2 * radius), seed=1)

    def write(self, path: Path) -> Path:
        detector = Detector(self.rows, self.columns, counts=self.counts, dark_counts=20, flats=20)
        angles = np.linspace(0, np.pi, self.views, endpoint=False)
        write_nxtomo(simulate(self.phantom, detector, angles, Faults(is_noisy=True, seed=2)), path)
        return path

    @property
    def axis(self) -> float:
        return (self.columns - 1) / 2

    def truth(self, rows: tuple[int, int]) -> Voxels:
        """Attenuation per cm of some slices: the mean over the voxel."""
        shape = (FINE * (rows[1] - rows[0]), FINE * self.columns, FINE * self.columns)
        total = np.zeros(shape, np.float32)
        for part in self.phantom.parts:
            _add(total, part, (rows[0] - (self.rows - 1) / 2, self.columns))
        coarse = total.reshape(shape[0] // FINE, FINE, self.columns, FINE, self.columns, FINE).mean(axis=(1, 3, 5))
        return np.asarray(coarse * CM_UM, np.float32)

    def distances(self, rows: tuple[int, int]) -> tuple[Voxels, Voxels]:
        """Of every voxel: to the nearest surface, positive in material; and whether another is about as near."""
        z = np.arange(*rows) - (self.rows - 1) / 2
        y = (self.columns - 1) / 2 - np.arange(self.columns)
        x = np.arange(self.columns) - (self.columns - 1) / 2
        shape = (len(z), self.columns, self.columns)
        nearest, second = np.full(shape, np.inf, np.float32), np.full(shape, np.inf, np.float32)
        for number, part in enumerate(self.phantom.parts):
            (cx, cy, cz), radius = part.centre, part.radii[0]
            far = np.sqrt((z[:, None, None] - cz) ** 2 + (y[:, None] - cy) ** 2 + (x - cx) ** 2).astype(np.float32)
            far = (radius - far) if number == 0 else far - radius
            is_nearer = np.abs(far) < np.abs(nearest)
            second = np.where(is_nearer, np.abs(nearest), np.minimum(second, np.abs(far)))
            nearest = np.where(is_nearer, far, nearest)
        return nearest, second


def _add(total: Voxels, part: Ellipsoid, place: tuple[float, int]) -> None:
    """A ball, into fine points of slices: only where it is."""
    (first, columns), (cx, cy, cz), radius = place, part.centre, part.radii[0]
    z = first + (np.arange(total.shape[0]) + 0.5) / FINE - 0.5
    y = (columns - 1) / 2 - ((np.arange(total.shape[1]) + 0.5) / FINE - 0.5)
    x = (np.arange(total.shape[2]) + 0.5) / FINE - 0.5 - (columns - 1) / 2
    ranges = [np.flatnonzero(np.abs(axis - c) <= radius) for axis, c in ((z, cz), (y, cy), (x, cx))]
    if any(not len(found) for found in ranges):
        return
    a, b, c = (slice(int(found[0]), int(found[-1]) + 1) for found in ranges)
    inside = (z[a, None, None] - cz) ** 2 + (y[b, None] - cy) ** 2 + (x[c] - cx) ** 2 <= radius**2
    total[a, b, c] += inside * np.float32(part.attenuation)


@dataclass(frozen=True)
class FoamMeasures:
    """psnr: in dB of the contrast. snr: (material - air) / standard deviation of air, away from surfaces. correlation:
    mean Fourier shell correlation with the truth. edge: voxels between 10 and 90 % of the contrast at bubbles."""

    psnr: float
    snr: float
    correlation: float
    edge: float


class FoamJudge:
    """Measures slices of a case."""

    def __init__(self, case: FoamCase, rows: tuple[int, int]) -> None:
        self.truth = case.truth(rows)
        self._distance, self._second = case.distances(rows)
        self.contrast = float(self.truth.max())

    def psnr(self, found: Voxels) -> float:
        return psnr(self.truth, found, self.contrast)

    def measure(self, found: Voxels) -> FoamMeasures:
        material = found[self._distance > NEAR]
        in_bubble = (self._distance < -NEAR) & (self.truth == 0) & (self._second > NEAR)
        air = found[in_bubble & self._is_inside()]
        snr = float((material.mean() - air.mean()) / air.std())
        correlation = shell_correlation(self.truth, found).mean
        return FoamMeasures(self.psnr(found), snr, correlation, self._edge(found))

    def _is_inside(self) -> Voxels:
        """Not beside the foam, where all methods see nothing."""
        columns = self.truth.shape[2]
        y, x = np.meshgrid(*(np.arange(columns) - (columns - 1) / 2,) * 2, indexing="ij")
        return np.asarray(np.hypot(y, x) < 0.45 * columns)

    def _edge(self, found: Voxels) -> float:
        """The mean profile across surfaces that are alone, between 10 and 90 % of the contrast."""
        alone = (np.abs(self._distance) < FAR) & (self._second > 2 * FAR) & self._is_inside()
        places, values = self._distance[alone], found[alone]
        bins = np.round(places * 4).astype(int)
        steps = np.arange(bins.min(), bins.max() + 1)
        profile = np.array([values[bins == step].mean() for step in steps])
        low, high = profile[:3].mean(), profile[-3:].mean()
        rising = np.maximum.accumulate((profile - low) / (high - low))
        at = [float(np.interp(level, rising, steps / 4)) for level in (0.1, 0.9)]
        return at[1] - at[0]
