"""Phantoms: ellipsoids, and the exact attenuation of a ray through them.

Here: Ellipsoid, Phantom; discs, the head of Shepp and Logan in three dimensions, a foam, a heap of beads.
Not here: detectors, noise and other faults (simulation).

Lengths are in pixels of the detector, counted from the axis: x to the right and y upwards in a slice, z along the axis
from the middle of the rows downwards. Attenuation is per pixel.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pellucid.device import choose, launch
from pellucid.tomo.scan import Floats


@dataclass(frozen=True)
class Ellipsoid:
    """Adds ``attenuation`` to everything inside. radii along its own (x, y, z); turned about z by turn_rad."""

    attenuation: float
    centre: tuple[float, float, float]
    radii: tuple[float, float, float]
    turn_rad: float = 0.0

    @property
    def numbers(self) -> tuple[float, ...]:
        """All that it is, for a kernel."""
        return (self.attenuation, *self.centre, *self.radii, float(np.cos(self.turn_rad)), float(np.sin(self.turn_rad)))

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
        """Exactly what every ray loses, as (view, row, column): -ln of its transmission. s: ascending."""
        from pellucid.tomo.kernels import phantoms as kernels

        total = np.zeros((len(angles_rad), len(z), len(s)))
        turns = np.stack([np.cos(angles_rad), np.sin(angles_rad)], axis=1)
        inputs = [np.array([part.numbers for part in self.parts]), turns, z, s]
        launch(kernels.add_lengths, total.shape[:2], inputs=inputs, outputs=[total], device=choose("cpu"))
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
    places, sizes = _packed(radius, np.random.default_rng(seed).uniform(0.02, 0.15, 200 * bubbles), bubbles, seed)
    holes = tuple(_ball(-attenuation, place, size) for place, size in zip(places, sizes, strict=True))
    return Phantom((_ball(attenuation, np.zeros(3), radius), *holes))


def beads(radius: float, count: int = 260, attenuation: float = 0.02, seed: int = 3) -> Phantom:
    """A ball of hollow beads that all but touch, large ones first; every third one has a dense kernel."""
    tried = np.linspace(0.21, 0.05, 60 * count)
    places, sizes = _packed(radius, tried, count, seed)
    parts: list[Ellipsoid] = []
    for number, (place, size) in enumerate(zip(places, sizes, strict=True)):
        parts += [_ball(attenuation, place, size), _ball(-attenuation, place, 0.78 * size)]
        if number % 3 == 0:
            parts.append(_ball(2 * attenuation, place - (0, 0, 0.36 * size), 0.4 * size))
    return Phantom(tuple(parts))


def _packed(radius: float, shares: Floats, count: int, seed: int) -> tuple[Floats, Floats]:
    """Places and radii of balls inside a ball that do not touch; shares: of its radius, in the order of trial."""
    random = np.random.default_rng(seed)
    places, sizes = np.empty((0, 3)), np.empty(0)
    for share in shares:
        size, place = radius * share, random.uniform(-radius, radius, 3)
        is_inside = np.linalg.norm(place) + size < 0.97 * radius
        if is_inside and (np.linalg.norm(places - place, axis=1) > sizes + size + 0.01 * radius).all():
            places, sizes = np.vstack([places, place]), np.append(sizes, size)
        if len(sizes) == count:
            break
    return places, sizes


def _ball(attenuation: float, place: Floats, size: float) -> Ellipsoid:
    x, y, z = map(float, place)
    return Ellipsoid(attenuation, (x, y, z), (float(size),) * 3)
