"""The definition of cinematic images, in plain NumPy: paths of light, followed backwards from the eye by chance.

Here: one medium with a lamp and an environment: the light that paths bring, and the single scattering that a sum over
the ray gives.
Not here: speed, several media, meshes, lenses, filters (kernels.path_tracing).

Chance is drawn in another order than by kernels, and over one majorant for the whole medium: images agree in the mean.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.rendering.cinematic.options import Cinematic
from pellucid.rendering.cinematic.packing import matter_table
from pellucid.rendering.drawing.light_rays import surface_factor
from pellucid.rendering.reference.volumes import Medium, Rays

REFLECTED = 0.04


@dataclass(frozen=True)
class TracedMedium:
    """A medium, how paths are followed through it, unit vectors to the lamp, and the light from all around. frame: from
    the world to the environment."""

    medium: Medium
    cinematic: Cinematic
    towards: Voxels
    sky: Voxels
    frame: Voxels
    random: np.random.Generator

    @cached_property
    def table(self) -> Voxels:
        return matter_table(self.medium.layer.transfer.table(1.0), self.medium.voxel)

    def matter(self, points: Voxels) -> Voxels:
        """(n, 4): albedo and extinction at world points."""
        values = self.medium.value(points)
        matter = self.table[self.medium.layer.transfer.index(values)].astype(float)
        matter[:, 3] *= self.medium.factors(self.medium.places(points))
        return matter

    def brought(self, rays: Rays) -> Voxels:
        """(n, 4): the light that one path of each ray brings, and whether it met anything."""
        light, carried = np.zeros((len(rays.origins), 4)), np.ones((len(rays.origins), 3))
        origins, ways = rays.origins.astype(float).copy(), rays.directions.astype(float).copy()
        alive = np.arange(len(origins))
        for count in range(self.cinematic.scatterings):
            distance = self._collision(origins[alive], ways[alive])
            hit = np.isfinite(distance)
            if count:
                gone = alive[~hit]
                light[gone, :3] += carried[gone] * self.cinematic.strength * self._sky_light(ways[gone])
            alive, distance = alive[hit], distance[hit]
            light[alive, 3] = 1
            origins[alive] += ways[alive] * distance[:, None]
            normals, is_surface, colors = self._met(origins[alive], ways[alive])
            lamp = self._lamp_light(origins[alive], ways[alive], normals, is_surface, colors)
            light[alive, :3] += carried[alive] * lamp
            after, weights = self._scattered(ways[alive], normals, is_surface, colors)
            carried[alive] *= weights
            ways[alive] = after
            alive = alive[carried[alive].max(axis=1) > 0]
        return light

    def single_scattering(self, rays: Rays, step: float) -> Voxels:
        """(n, 3): the light of a far lamp that a cloud scatters once, summed over the ray in steps of the world."""
        near, far = self.medium.inside(rays)
        length = float(np.max(far - near))
        light, passed = np.zeros((len(near), 3)), np.ones(len(near))
        cosine = rays.directions @ self.towards
        for way in (np.arange(max(1, int(length / step))) + 0.5) * step:
            inside = near + way < far
            points = rays.origins + rays.directions * (near + way)[:, None]
            matter = self.matter(points)
            taken = np.where(inside, 1 - np.exp(-matter[:, 3] * step), 0.0)
            arriving = self._quadrature(points, step)
            scattered = self._phase(cosine) * np.pi * self.cinematic.lamp * arriving
            light += (passed * taken * scattered)[:, None] * matter[:, :3]
            passed *= 1 - taken
        return light

    def _quadrature(self, points: Voxels, step: float) -> Voxels:
        """(n,): what comes from the lamp to points, in steps."""
        rays = Rays(points, np.broadcast_to(self.towards, points.shape), np.zeros(len(points)))
        near, far = self.medium.inside(rays)
        depth = np.zeros(len(points))
        for way in (np.arange(max(1, int(np.max(far - near) / step) + 1)) + 0.5) * step:
            matter = self.matter(points + self.towards * (near + way)[:, None])
            depth += np.where(near + way < far, matter[:, 3] * step, 0.0)
        passed: Voxels = np.exp(-depth)
        return passed

    def _collision(self, origins: Voxels, ways: Voxels) -> Voxels:
        """(n,): how far it is to the first collision; infinite where there is none."""
        near, far = self.medium.inside(Rays(origins, ways, np.zeros(len(origins))))
        majorant, at, found = float(self.table[:, 3].max()), near.copy(), np.full(len(near), np.inf)
        open_ = np.flatnonzero(far > near)
        while len(open_):
            at[open_] += self.random.exponential(1 / majorant, len(open_))
            open_ = open_[at[open_] < far[open_]]
            matter = self.matter(origins[open_] + ways[open_] * at[open_, None])
            hit = self.random.random(len(open_)) * majorant < matter[:, 3]
            found[open_[hit]] = at[open_[hit]]
            open_ = open_[~hit]
        return found

    def _met(self, points: Voxels, ways: Voxels) -> tuple[Voxels, Voxels, Voxels]:
        """Normals towards the eye, whether each is that of a surface, and albedo."""
        slopes = self.medium.gradient(points) * surface_factor(self.medium.layer, self.medium.voxel)
        lengths = np.linalg.norm(slopes, axis=1)
        normals = slopes / np.maximum(lengths, 1e-6)[:, None]
        normals *= -np.sign(np.sum(normals * ways, axis=1))[:, None]
        is_surface = self.random.random(len(points)) < self.cinematic.surface * np.minimum(lengths, 1)
        return normals, is_surface & (lengths > 1e-6), self.matter(points)[:, :3]

    def _phase(self, cosine: Voxels) -> Voxels:
        g = self.cinematic.anisotropy
        per_steradian: Voxels = (1 - g * g) / (4 * np.pi * (1 + g * g - 2 * g * cosine) ** 1.5)
        return per_steradian

    def _mirrored(self, cosine: Voxels) -> Voxels:
        share: Voxels = self.cinematic.coat * (REFLECTED + (1 - REFLECTED) * (1 - np.clip(cosine, 0, 1)) ** 5)
        return share

    def _facets(self, cosine: Voxels) -> Voxels:
        alpha = self.cinematic.roughness**2
        density: Voxels = alpha**2 / (np.pi * (cosine**2 * (alpha**2 - 1) + 1) ** 2)
        return density

    def _open(self, cosine: Voxels) -> Voxels:
        tangent = (1 - cosine**2) / np.maximum(cosine**2, 1e-6)
        share: Voxels = 2 / (1 + np.sqrt(1 + self.cinematic.roughness**4 * tangent))
        return share

    def _lamp_light(self, points: Voxels, ways: Voxels, normals: Voxels, is_surface: Voxels, colors: Voxels) -> Voxels:
        """(n, 3): what the lamp sends to the eye from points."""
        cone = np.cos(np.radians(self.cinematic.lamp_deg) / 2)
        to_lamp = _around(np.broadcast_to(self.towards, points.shape), *self._chances(1 - cone, len(points)))
        lit, seen = np.sum(normals * to_lamp, axis=1), -np.sum(normals * ways, axis=1)
        half = to_lamp - ways
        half /= np.linalg.norm(half, axis=1, keepdims=True)
        mirrored = self._mirrored(seen)
        glint = self._facets(np.sum(normals * half, axis=1)) * self._open(lit) * self._open(seen) / 4
        glint = mirrored * glint / np.maximum(seen, 1e-6)
        from_surface = colors * ((1 - mirrored) * lit / np.pi)[:, None] + glint[:, None]
        from_surface[(lit <= 0) | (seen <= 0)] = 0
        from_cloud = colors * self._phase(np.sum(ways * to_lamp, axis=1))[:, None]
        arriving = ~np.isfinite(self._collision(points, to_lamp))
        shares = np.where(is_surface[:, None], from_surface, from_cloud)
        light: Voxels = shares * np.pi * self.cinematic.lamp * arriving[:, None]
        return light

    def _chances(self, width: float, count: int) -> tuple[Voxels, Voxels]:
        return 1 - width * self.random.random(count), self.random.random(count)

    def _scattered(self, ways: Voxels, normals: Voxels, is_surface: Voxels, colors: Voxels) -> tuple[Voxels, Voxels]:
        """Where paths go on, and what is left of what they carry."""
        count, seen = len(ways), -np.sum(normals * ways, axis=1)
        g, share = self.cinematic.anisotropy, self.random.random(count)
        cosine = 1 - 2 * share
        if abs(g) > 1e-3:
            cosine = (1 + g * g - ((1 - g * g) / (1 + g - 2 * g * share)) ** 2) / (2 * g)
        after, weights = _around(ways, cosine, self.random.random(count)), colors.copy()
        diffuse = _around(normals, np.sqrt(1 - self.random.random(count)), self.random.random(count))
        after[is_surface] = diffuse[is_surface]
        glossy = is_surface & (self.random.random(count) < self._mirrored(seen))
        alpha, share = self.cinematic.roughness**2, self.random.random(count)
        facet = np.sqrt((1 - share) / (1 + (alpha**2 - 1) * share))
        half = _around(normals, facet, self.random.random(count))
        facing = -np.sum(half * ways, axis=1)
        bounced = ways + 2 * facing[:, None] * half
        lit = np.sum(normals * bounced, axis=1)
        weight = self._open(lit) * self._open(seen) * facing / np.maximum(seen * facet, 1e-6)
        after[glossy] = bounced[glossy]
        weights[glossy] = np.where((lit > 0) & (facing > 0), weight, 0)[glossy, None]
        return after, weights

    def _sky_light(self, ways: Voxels) -> Voxels:
        """(n, 3): from directions, between the nearest four pixels of the map."""
        rows, columns, _ = self.sky.shape
        x, y, z = (ways @ self.frame.T).T
        down = np.clip(np.arccos(np.clip(y, -1, 1)) / np.pi * rows - 0.5, 0, rows - 1)
        across = (0.5 + np.arctan2(x, -z) / (2 * np.pi)) * columns - 0.5
        row, column = down.astype(int), np.floor(across).astype(int)
        v, u = (down - row)[:, None], (across - column)[:, None]
        below, left, right = np.minimum(row + 1, rows - 1), column % columns, (column + 1) % columns
        upper = self.sky[row, left] * (1 - u) + self.sky[row, right] * u
        lower = self.sky[below, left] * (1 - u) + self.sky[below, right] * u
        light: Voxels = upper * (1 - v) + lower * v
        return light


def _around(axes: Voxels, cosine: Voxels, turn: Voxels) -> Voxels:
    """Unit vectors (n, 3) at an angle to axes, and at a share of a turn around them."""
    other = np.where((np.abs(axes[:, :1]) > 0.7), np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    aside = np.cross(axes, other)
    aside /= np.linalg.norm(aside, axis=1, keepdims=True)
    up, angle = np.cross(axes, aside), 2 * np.pi * turn
    across = aside * np.cos(angle)[:, None] + up * np.sin(angle)[:, None]
    found: Voxels = axes * cosine[:, None] + across * np.sqrt(np.maximum(1 - cosine**2, 0))[:, None]
    return found
