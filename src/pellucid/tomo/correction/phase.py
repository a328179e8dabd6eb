"""Phase retrieval of one material, after Paganin: from propagated transmissions to attenuation.

Here: Paganin with physical units and its smoothing radius; retrieve() on a device.
Not here: what it means (reference.steps.paganin), flats and darks (correction).

The filter is 1 / (1 + (z δ/μ) k²) with k in radians per length. Others write it otherwise: a ratio that multiplies the
square of cycles per pixel is (2π)² times the strength here.
"""

from dataclasses import dataclass
from math import ceil, pi, sqrt

import numpy as np
import scipy  # Its parts load when they are used, and a viewer that only names them starts sooner.

from pellucid.device import Array, Device, launch, primitives
from pellucid.errors import InvalidInput
from pellucid.tomo.number_check import check_number

WAVELENGTH_M_KEV = 1.239841984e-9
"""Wavelength in metres times energy in keV."""

MIN_PAD = 32
PAD_RADII = 10
FLOOR = 1e-6
MAX_RADIUS_SHARE = 0.25
"""Of the width of a frame: a filter that reaches further leaves nothing to see."""


@dataclass(frozen=True)
class Paganin:
    """Phase retrieval for one material. energy_kev: of the beam. distance_mm: from sample to detector. pixel_size_um:
    at the sample. delta_over_beta: of the sample's refractive index.

    >>> round(Paganin(energy_kev=20, distance_mm=100, pixel_size_um=1.0, delta_over_beta=500).radius_px, 2)
    15.71
    """

    energy_kev: float
    distance_mm: float
    pixel_size_um: float
    delta_over_beta: float

    def __post_init__(self) -> None:
        check_number("The energy in keV for phase retrieval", self.energy_kev, above=0)
        check_number("The distance in mm for phase retrieval", self.distance_mm, above=0)
        check_number("The pixel size in micrometres for phase retrieval", self.pixel_size_um, above=0)
        check_number("The ratio δ/β for phase retrieval", self.delta_over_beta, above=0)

    @property
    def strength(self) -> float:
        """z δ/μ in square pixels; μ = 4πβ/λ."""
        wavelength = WAVELENGTH_M_KEV / self.energy_kev
        square = self.distance_mm * 1e-3 * wavelength * self.delta_over_beta / (4 * pi)
        return square / (self.pixel_size_um * 1e-6) ** 2

    @property
    def radius_px(self) -> float:
        """How far it smooths: a point becomes a spot that decays as exp(-r / radius)."""
        return sqrt(self.strength)

    @property
    def pad_px(self) -> int:
        return max(MIN_PAD, ceil(PAD_RADII * self.radius_px))

    def check(self, shape: tuple[int, ...]) -> None:
        """Raise an error if the filter is wider than the frame."""
        if self.radius_px > MAX_RADIUS_SHARE * shape[-1]:
            raise InvalidInput(
                f"This phase filter smooths over {self.radius_px:.0f} pixels, but a frame is only {shape[-1]} wide.",
                remedy="Check the units: energy in keV, distance in mm, pixel size in um; or lower δ/β.",
            )


def padded_shape(settings: Paganin, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Rows and columns of the transforms of a frame."""
    return tuple(scipy.fft.next_fast_len(length + 2 * settings.pad_px, real=True) for length in shape)


def retrieve(transmissions: Array, settings: Paganin, device: Device | None = None) -> Array:
    """-ln of the filtered transmissions (frame, row, column) of a device; whole frames, for rows mix."""
    from pellucid.tomo.kernels import phase as kernels

    settings.check(transmissions.shape)
    room, (count, rows, columns) = primitives(device), transmissions.shape
    margin, shape = settings.pad_px, padded_shape(settings, (rows, columns))
    padded = room.empty((count, *shape), np.float32)
    launch(kernels.pad, (shape[0], count, shape[1]), inputs=[margin, transmissions], outputs=[padded], device=device)
    spectrum = room.rfft(padded, axes=(1, 2))
    numbers = spectrum.view(np.float32)
    inputs = [settings.strength, shape[1]]
    launch(kernels.smooth, (shape[0], count, numbers.shape[2]), inputs=inputs, outputs=[numbers], device=device)
    smooth = room.irfft(spectrum, shape, axes=(1, 2))
    frames = room.empty(transmissions.shape, np.float32)
    inputs = [margin, FLOOR, smooth]
    launch(kernels.take_logarithm, (rows, count, columns), inputs=inputs, outputs=[frames], device=device)
    return frames
