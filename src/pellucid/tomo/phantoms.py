"""Samples that are known exactly: ellipsoids, and what a straight ray loses in them.

Here: Ellipsoid, Phantom; discs, the head of Shepp and Logan in three dimensions, a foam.
Not here: detectors, noise and other faults (simulation).

Lengths are in pixels of the detector, counted from the axis: x to the right and y upwards in a slice, z along the axis
from the middle of the rows downwards. Attenuation is per pixel.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pellucid.tomo.scan import Floats


@dataclass(frozen=True)
class Ellipsoid:
    """Adds ``attenuation`` to everything inside. radii along its own (x, y, z); turned about z by turn_rad."""

    attenuation: float
    centre: tuple[float, float, float]
    radii: tuple[float, float, float]
    turn_rad: float = 0.0

    def lengths(self, angles_rad: Floats, z: Floats, s: Floats) -> Floats:
        """How far rays run inside, as (view, row, column): at every angle, height z and distance s from the axis.

        A ray of angle θ lies where x cos θ + y sin θ = s.
        """
        (x, y, z0), (a, b, c) = self.centre, self.radii
        inside = np.clip(1 - ((z - z0) / c) ** 2, 0, None)[None, :, None]
        turned = angles_rad - self.turn_rad
        width = (a * np.cos(turned)) ** 2 + (b * np.sin(turned)) ** 2
        away = s[None, :] - (x * np.cos(angles_rad) + y * np.sin(angles_rad))[:, None]
        # At a height the section is an ellipse of the same form, smaller by the root of ``inside``.
        reach = np.clip(inside * width[:, None, None] - away[:, None, :] ** 2, 0, None)
        return np.asarray(2 * a * b * np.sqrt(reach) / width[:, None, None])

    def covers(self, z: Floats, y: Floats, x: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Whether points are inside."""
        dx, dy = x - self.centre[0], y - self.centre[1]
        cosine, sine = np.cos(self.turn_rad), np.sin(self.turn_rad)
        along, across = dx * cosine + dy * sine, dy * cosine - dx * sine
        a, b, c = self.radii
        return np.asarray((along / a) ** 2 + (across / b) ** 2 + ((z - self.centre[2]) / c) ** 2 <= 1)


@dataclass(frozen=True)
class Phantom:
    """Ellipsoids that add up."""

    parts: tuple[Ellipsoid, ...]

    def line_integrals(self, angles_rad: Floats, z: Floats, s: Floats) -> Floats:
        """Exactly what every ray loses, as (view, row, column): -ln of its transmission."""
        total = np.zeros((len(angles_rad), len(z), len(s)))
        for part in self.parts:
            rows = np.flatnonzero(np.abs(z - part.centre[2]) < part.radii[2])
            if len(rows):
                total[:, rows] += part.attenuation * part.lengths(angles_rad, z[rows], s)
        return total

    def voxels(self, shape: tuple[int, int, int]) -> Floats:
        """The attenuation at the centres of voxels (z, y, x), with the axis in the middle."""
        z, y, x = (np.arange(length) - (length - 1) / 2 for length in shape)
        grid = np.meshgrid(z, -y, x, indexing="ij")
        total = np.zeros(shape)
        for part in self.parts:
            total += part.attenuation * part.covers(*grid)
        return total

    def scaled(self, factor: float) -> "Phantom":
        """The same in pixels of another size: as opaque, so many times as large."""
        return Phantom(tuple(_scaled(part, factor) for part in self.parts))


def _scaled(part: Ellipsoid, factor: float) -> Ellipsoid:
    (x, y, z), (a, b, c) = part.centre, part.radii
    centre, radii = (x * factor, y * factor, z * factor), (a * factor, b * factor, c * factor)
    return Ellipsoid(part.attenuation / factor, centre, radii, part.turn_rad)


def disc(radius: float, attenuation: float = 0.01, x: float = 0.0, y: float = 0.0) -> Phantom:
    """A rod along the axis: the same disc in every slice."""
    return Phantom((Ellipsoid(attenuation, (x, y, 0.0), (radius, radius, 1e12)),))


def discs(several: Iterable[tuple[float, float, float, float]]) -> Phantom:
    """Rods, each given as radius, attenuation, x, y."""
    return Phantom(tuple(disc(*one).parts[0] for one in several))


def shepp_logan(radius: float, attenuation: float = 0.02) -> Phantom:
    """The head of Shepp and Logan in three dimensions, within a sphere; its brain has a tenth of the attenuation."""
    table = (  # share of attenuation, centre, radii, turn in degrees: unit sphere, z along the axis
        (1.0, (0, 0, 0), (0.69, 0.92, 0.81), 0),
        (-0.8, (0, -0.0184, 0), (0.6624, 0.874, 0.78), 0),
        (-0.2, (0.22, 0, 0), (0.11, 0.31, 0.22), -18),
        (-0.2, (-0.22, 0, 0), (0.16, 0.41, 0.28), 18),
        (0.1, (0, 0.35, -0.15), (0.21, 0.25, 0.41), 0),
        (0.1, (0, 0.1, 0.25), (0.046, 0.046, 0.05), 0),
        (0.1, (0, -0.1, 0.25), (0.046, 0.046, 0.05), 0),
        (0.1, (-0.08, -0.605, 0), (0.046, 0.023, 0.05), 0),
        (0.1, (0, -0.606, 0), (0.023, 0.023, 0.02), 0),
        (0.1, (0.06, -0.605, 0), (0.023, 0.046, 0.02), 0),
    )
    parts = tuple(
        Ellipsoid(share * attenuation * radius, centre, radii, float(np.deg2rad(turn)))
        for share, centre, radii, turn in table
    )
    return Phantom(parts).scaled(radius)


def foam(radius: float, bubbles: int = 200, attenuation: float = 0.01, seed: int = 0) -> Phantom:
    """A ball full of round holes of many sizes that do not touch."""
    random = np.random.default_rng(seed)
    places, sizes = np.empty((0, 3)), np.empty(0)
    for _ in range(200 * bubbles):
        if len(sizes) == bubbles:
            break
        size = radius * random.uniform(0.02, 0.15)
        place = random.uniform(-radius, radius, 3)
        is_inside = np.linalg.norm(place) + size < 0.97 * radius
        if is_inside and (np.linalg.norm(places - place, axis=1) > sizes + size + 0.01 * radius).all():
            places, sizes = np.vstack([places, place]), np.append(sizes, size)
    holes = tuple(
        Ellipsoid(-attenuation, (float(x), float(y), float(z)), (float(size),) * 3)
        for (x, y, z), size in zip(places, sizes, strict=True)
    )
    return Phantom((Ellipsoid(attenuation, (0.0, 0.0, 0.0), (radius,) * 3), *holes))
