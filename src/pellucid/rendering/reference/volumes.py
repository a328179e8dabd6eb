"""The definition of every image, in plain NumPy: all kernels are compared with this.

Here: rays through volumes: composite, maximum, minimum, mean, isosurface; gradient shading; clipping.
Not here: speed (kernels).

Voxel (z, y, x) has its centre at (x, y, z) * spacing, then where the layer's transform puts it, and fills half a voxel
around it. Samples lie at (k + jitter) * step from the eye, for every whole k for which they are inside.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pellucid.box import Box
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.rendering.camera import Camera
from pellucid.rendering.drawing.light_rays import OCCLUDED, SHADOWED, surface_factor, towards_light
from pellucid.rendering.light import Light
from pellucid.rendering.reference import classification
from pellucid.rendering.reference.extremes import largest_along
from pellucid.rendering.reference.light_rays import LitVolume
from pellucid.rendering.reference.shading import Sun, lit
from pellucid.rendering.reference.surfaces import ReferenceImage, ReferenceSurfaces, SurfaceWalk, nothing, over
from pellucid.rendering.scene import AHEAD, ClipPlane, Isosurface, VolumeLayer
from pellucid.volume.interpolate import trilinear

OPAQUE = 0.996
"""Opacity at which a ray ends: what is behind would change an 8-bit colour by at most one."""


@dataclass(frozen=True)
class Rays:
    """Origins and directions (n, 3) in the world (x, y, z), unit length; jitter (n,): fraction of a step."""

    origins: Voxels
    directions: Voxels
    jitter: Voxels


def camera_rays(camera: Camera, width: int, height: int, *, is_jittered: bool) -> Rays:
    origins, directions = (part.reshape(-1, 3) for part in camera.rays(width, height))
    row, column = (part.ravel() for part in np.indices((height, width), np.uint32))
    return Rays(origins, directions, pixel_jitter(row, column) if is_jittered else np.full(len(row), 0.5, np.float32))


def pixel_jitter(row: Voxels, column: Voxels) -> Voxels:
    """A number from 0 to 1 for every pixel, the same each time: an integer hash of its place."""
    with np.errstate(over="ignore"):
        h = row.astype(np.uint32) * np.uint32(0x1E3779B1) ^ column.astype(np.uint32) * np.uint32(0x05EBCA77)
        h = (h ^ (h >> np.uint32(15))) * np.uint32(0x2C1B3C6D)
        h = (h ^ (h >> np.uint32(12))) * np.uint32(0x297A2D39)
        h = h ^ (h >> np.uint32(15))
    jitter: Voxels = (h >> np.uint32(8)).astype(np.float32) / np.float32(2**24)
    return jitter


@dataclass(frozen=True)
class Span:
    """First and last sample (n,) of every ray inside the volume; last < first where it misses."""

    first: Voxels
    last: Voxels


@dataclass(frozen=True)
class Medium:
    """A volume and how it is drawn. step: world units between samples; planes: what they cut away is not drawn."""

    voxels: Voxels
    spacing: Spacing
    layer: VolumeLayer
    light: Light
    step: float
    planes: tuple[ClipPlane, ...] = ()
    camera: Camera = AHEAD

    @cached_property
    def lit(self) -> LitVolume:
        """What takes light away; what is cut away does not."""
        factors = lambda places: self.factors(places) * self.is_kept(places)  # noqa: E731
        return LitVolume(self.voxels, self.layer, self.to_voxel, self.voxel, factors)

    def is_kept(self, places: Voxels) -> Voxels:
        """(n,): whether neither the planes nor the clipping box cut places in voxel coordinates (x, y, z) away."""
        low, high = self.bounds
        kept: Voxels = np.all((places >= low) & (places <= high), axis=1)
        points = places @ np.linalg.inv(self.to_voxel).T + np.asarray(self.layer.transform.translation)
        for plane in self.planes:
            kept &= points @ np.asarray(plane.normal) >= plane.offset
        return kept

    @property
    def bounds(self) -> tuple[Voxels, Voxels]:
        """What the clipping box leaves: low and high corner in voxel coordinates (x, y, z)."""
        z, y, x = self.voxels.shape
        box = self.layer.clip or Box.whole((z, y, x))
        return np.array(box.start[::-1]) - 0.5, np.array(box.stop[::-1]) - 0.5

    @property
    def to_voxel(self) -> Voxels:
        """(3, 3): from the world to voxel coordinates, both (x, y, z), where the volume stands at the origin."""
        return np.linalg.inv(self.layer.transform.matrix() @ np.diag(self.spacing[::-1]))

    def places(self, points: Voxels) -> Voxels:
        """World points (n, 3) in voxel coordinates (x, y, z)."""
        moved: Voxels = (points - np.asarray(self.layer.transform.translation)) @ self.to_voxel.T
        return moved

    @property
    def voxel(self) -> float:
        """World units along the shortest edge of a voxel."""
        return min(self.spacing) * min(map(abs, self.layer.transform.scale))

    @property
    def is_mask(self) -> bool:
        return self.layer.labels is not None and self.layer.labels.is_mask

    @property
    def table(self) -> Voxels:
        return self.layer.transfer.table(self.step / self.voxel)

    def inside(self, rays: Rays, end: Voxels | float = np.inf) -> tuple[Voxels, Voxels]:
        """Between which distances (n,) every ray is inside, up to its end; the first is larger where it misses."""
        low, high = self.bounds
        origins, speeds = self.places(rays.origins), rays.directions @ self.to_voxel.T
        with np.errstate(divide="ignore", invalid="ignore"):
            a, b = (low - origins) / speeds, (high - origins) / speeds
        near = np.nanmax(np.minimum(a, b), axis=1).clip(min=0)
        far = np.minimum(np.nanmin(np.maximum(a, b), axis=1), end)
        for plane in self.planes:
            near, far = _beyond(plane, rays, near, far)
        return near, far

    def span(self, rays: Rays, end: Voxels | float = np.inf) -> Span:
        """Up to the end (n,) of every ray."""
        near, far = self.inside(rays, end)
        first = np.ceil(near / self.step - rays.jitter).astype(np.int64)
        last = np.floor(far / self.step - rays.jitter).astype(np.int64)
        return Span(first, np.where(far > near, last, first - 1))

    def value(self, points: Voxels) -> Voxels:
        """Values at world points (n, 3)."""
        return trilinear(self.voxels, self.places(points)[:, ::-1])

    def classified(self, points: Voxels, directions: Voxels) -> Voxels:
        """(n, 4): colour and opacity of the step around each world point."""
        transfer = self.layer.transfer
        if transfer.is_preintegrated:
            half = 0.5 * self.step * directions
            fronts, backs = self.value(points - half), self.value(points + half)
            steps = classification.by_steps(transfer, self.table, fronts, backs)
        else:
            steps = classification.by_value(transfer, self.table, self.value(points))
        return classification.thinned(steps, self.factors(self.places(points)))

    def factors(self, places: Voxels) -> Voxels:
        """(n,): how much of the material counts at places in voxel coordinates (x, y, z)."""
        edges = self.layer.transfer.edges
        if edges is None:
            return np.ones(len(places))
        return classification.edge_factor(edges, np.linalg.norm(self._slopes(places), axis=1) * self.voxel)

    def gradient(self, points: Voxels) -> Voxels:
        """Change of the value per world unit along (x, y, z): central differences, one voxel to each side."""
        return self._slopes(self.places(points))

    def _slopes(self, places: Voxels) -> Voxels:
        inside = np.clip(places, 0, np.array(self.voxels.shape[::-1]) - 1)
        slopes = [
            (trilinear(self.voxels, (inside + side)[:, ::-1]) - trilinear(self.voxels, (inside - side)[:, ::-1])) / 2
            for side in np.eye(3)
        ]
        in_world: Voxels = np.stack(slopes, axis=1) @ self.to_voxel
        return in_world


def _beyond(plane: ClipPlane, rays: Rays, near: Voxels, far: Voxels) -> tuple[Voxels, Voxels]:
    """The part of every ray that a plane leaves."""
    along = rays.directions @ np.asarray(plane.normal)
    height = plane.offset - rays.origins @ np.asarray(plane.normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        at = height / along
    near = np.where(along > 1e-9, np.maximum(near, at), near)
    far = np.where(along < -1e-9, np.minimum(far, at), far)
    return near, np.where((np.abs(along) <= 1e-9) & (height > 0), -1.0, far)


def render(media: Sequence[Medium], rays: Rays, scenery: ReferenceSurfaces | None = None) -> ReferenceImage:
    """Colours (n, 4), multiplied by their opacity, and depths (n,)."""
    walk = SurfaceWalk(scenery or nothing(len(rays.origins)))
    if media[0].layer.mode == "composite":
        composite(media, rays, walk)
        return walk.finish()
    if media[0].layer.mode == "isosurface":
        isosurface(media[0], rays, walk)
        return walk.finish()
    return project(media[0], rays, walk)


def composite(media: Sequence[Medium], rays: Rays, walk: SurfaceWalk) -> None:
    """Front to back: every sample adds its light and takes away some of what is behind it."""
    color, depth = walk.color, walk.depth
    spans = [medium.span(rays, walk.scenery.depth) for medium in media]
    hits = [span.last >= span.first for span in spans]
    first = min(int(span.first[hit].min(initial=2**31)) for span, hit in zip(spans, hits, strict=True))
    last = max(int(span.last[hit].max(initial=-1)) for span, hit in zip(spans, hits, strict=True))
    for k in range(first, last + 1):
        walk.meet(np.minimum((k + rays.jitter) * media[0].step, walk.scenery.depth))
        drawn = _unmasked(media, spans, rays, k)
        for medium, span in zip(media, spans, strict=True):
            if medium.is_mask:
                continue
            is_shown = drawn | (medium.layer.labels is not None)
            alive = np.nonzero(is_shown & (k >= span.first) & (k <= span.last) & (color[:, 3] < OPAQUE))[0]
            if len(alive):
                _add_samples(medium, rays, alive, (k + rays.jitter[alive]) * medium.step, color, depth)


def _unmasked(media: Sequence[Medium], spans: Sequence[Span], rays: Rays, k: int) -> Voxels:
    """(n,): whether the labels of every mask let values be drawn at sample k of a ray."""
    drawn = np.ones(len(rays.origins), bool)
    for medium, span in zip(media, spans, strict=True):
        if medium.is_mask and medium.layer.labels is not None:
            points = rays.origins + ((k + rays.jitter) * medium.step)[:, None] * rays.directions
            drawn &= (k >= span.first) & (k <= span.last)
            drawn &= medium.layer.labels.mask_table(medium.value(points))[:, 3] > 0
    return drawn


def _add_samples(medium: Medium, rays: Rays, alive: Voxels, distance: Voxels, color: Voxels, depth: Voxels) -> None:
    points = rays.origins[alive] + distance[:, None] * rays.directions[alive]
    sample = medium.classified(points, rays.directions[alive])
    visible = sample[:, 3] > 0
    sample[visible, :3] = _shaded(medium, rays.directions[alive][visible], points[visible], sample[visible, :3])
    weight = (1 - color[alive, 3]) * sample[:, 3]
    reaches = (color[alive, 3] < 0.5) & (color[alive, 3] + weight >= 0.5)
    depth[alive[reaches]] = distance[reaches]
    color[alive, :3] += weight[:, None] * sample[:, :3]
    color[alive, 3] += weight


def project(medium: Medium, rays: Rays, walk: SurfaceWalk) -> ReferenceImage:
    """The largest, smallest or mean value along every ray, up to what is opaque, in the transfer function's colours.

    The largest and smallest are those of the trilinear field, between samples too; the mean is that of the samples. It
    lies where it was found, the mean where the ray enters. It covers what is behind as much as the transfer function
    makes one voxel of it opaque; where nothing is behind, it covers that completely.
    """
    found, depth, place, hit = (_mean if medium.layer.mode == "mean" else _extreme)(medium, rays, walk.scenery.depth)
    entries = medium.layer.transfer.table(1.0)[medium.layer.transfer.index(np.where(hit, found, 0.0))]
    walk.meet(np.where(hit, place, walk.scenery.depth))
    before = walk.color.copy()
    walk.color[:] = 0
    behind, _ = walk.finish()
    solid = np.where(hit[:, None], np.concatenate([entries[:, :3], np.ones((len(hit), 1))], axis=1), 0.0)
    laid = entries[:, 3:] * solid + (1 - entries[:, 3:]) * over(behind, solid)
    return over(before, np.where(hit[:, None], laid, behind)), np.minimum(depth, walk.scenery.depth)


Projected = tuple[Voxels, Voxels, Voxels, Voxels]
"""Of every ray: a value, its depth, where it lies among surfaces, and whether there is any."""


def _extreme(medium: Medium, rays: Rays, end: Voxels) -> Projected:
    """The largest or smallest value; the lowest where no voxel is a number."""
    sign = 1.0 if medium.layer.mode == "max" else -1.0
    near, far = medium.inside(rays, end)
    hit, found, depth = far > near, np.full(len(near), -np.inf), np.full(len(near), np.inf)
    origins, speeds = medium.places(rays.origins), rays.directions @ medium.to_voxel.T
    found[hit], depth[hit] = largest_along(
        sign * medium.voxels.astype(float), origins[hit], speeds[hit], near[hit], far[hit]
    )
    return np.where(np.isinf(depth), -np.inf, sign * found), depth, depth, hit


def _mean(medium: Medium, rays: Rays, end: Voxels) -> Projected:
    span = medium.span(rays, end)
    total, nowhere = np.zeros(len(rays.origins)), np.full(len(rays.origins), np.inf)
    for alive, points, _ in _march(medium, rays, span, np.zeros((len(rays.origins), 4))):
        total[alive] += medium.value(points)
    count = span.last - span.first + 1
    return total / np.maximum(count, 1), nowhere, (span.first + rays.jitter) * medium.step, count > 0


def isosurface(medium: Medium, rays: Rays, walk: SurfaceWalk) -> None:
    """Where the value passes one of the isovalues between two samples: a surface, refined between them, and lit."""
    before = np.full(len(rays.origins), np.nan)
    surfaces = sorted(medium.layer.isosurfaces, key=lambda surface: surface.value)
    for alive, points, distance in _march(medium, rays, medium.span(rays, walk.scenery.depth), walk.color):
        value = medium.value(points)
        rising = value >= before[alive]
        for index in range(len(surfaces)):
            # A ray that climbs meets the low surfaces first, one that descends the high ones.
            for is_up, surface in ((True, surfaces[index]), (False, surfaces[-1 - index])):
                crosses = _crosses(before[alive], value, surface.value) & (rising == is_up)
                where = alive[crosses]
                _add_surface(medium, rays, (where, distance[crosses]), surface, walk)
        before[alive] = value


def _crosses(before: Voxels, value: Voxels, level: float) -> Voxels:
    with np.errstate(invalid="ignore"):
        return np.asarray(((before < level) & (value >= level)) | ((before >= level) & (value < level)))


def _add_surface(
    medium: Medium, rays: Rays, hits: tuple[Voxels, Voxels], surface: Isosurface, walk: SurfaceWalk
) -> None:
    (where, distance), color, depth = hits, walk.color, walk.depth
    if not len(where):
        return
    exact = _refine(medium, rays, where, distance, surface.value)
    reached = np.full(len(depth), -np.inf)
    reached[where] = exact
    walk.meet(reached)
    points = rays.origins[where] + exact[:, None] * rays.directions[where]
    base = np.broadcast_to(np.array(surface.color), (len(where), 3))
    shaded = _shaded(medium, rays.directions[where], points, base)
    weight = (1 - color[where, 3]) * surface.opacity
    reaches = (color[where, 3] < 0.5) & (color[where, 3] + weight >= 0.5)
    depth[where[reaches]] = exact[reaches]
    color[where, :3] += weight[:, None] * shaded
    color[where, 3] += weight


def _refine(medium: Medium, rays: Rays, where: Voxels, distance: Voxels, level: float) -> Voxels:
    """Eight halvings of the step before the sample: 1/256 of a step."""
    far, near = distance.copy(), distance - medium.step
    is_above = medium.value(rays.origins[where] + far[:, None] * rays.directions[where]) >= level
    for _ in range(8):
        middle = (near + far) / 2
        same = (medium.value(rays.origins[where] + middle[:, None] * rays.directions[where]) >= level) == is_above
        far, near = np.where(same, middle, far), np.where(same, near, middle)
    return (near + far) / 2


def _march(medium: Medium, rays: Rays, span: Span, color: Voxels) -> Iterator[tuple[Voxels, Voxels, Voxels]]:
    """For every step: the rays that are inside and not yet opaque, their points and their distances from the eye."""
    everyone = np.arange(len(rays.origins))
    hit = span.last >= span.first
    if not hit.any():
        return
    longest = int((span.last - span.first)[hit].max()) + 1
    for i in range(longest):
        k = span.first + i
        alive = everyone[hit & (k <= span.last) & (color[:, 3] < OPAQUE)]
        if not len(alive):
            return
        distance = (k[alive] + rays.jitter[alive]) * medium.step
        yield alive, rays.origins[alive] + distance[:, None] * rays.directions[alive], distance


def _shaded(medium: Medium, directions: Voxels, points: Voxels, base: Voxels) -> Voxels:
    shading, light, ones = medium.layer.shading, medium.light, np.ones(len(points))
    if shading == "none" or not len(points):
        return base
    places, towards = medium.places(points), towards_light(light, medium.camera, medium.to_voxel)
    shadow = medium.lit.shadow(places, directions, towards) if shading in SHADOWED else ones
    sky = medium.lit.sky(places, directions) if shading in OCCLUDED else ones
    if shading == "shadow":
        return np.asarray(base * (light.ambient + light.diffuse * shadow)[:, None])
    sun = Sun(light, light.towards(medium.camera), shadow)
    surface = lit(base, medium.gradient(points), directions, sun, surface_factor(medium.layer, medium.voxel))
    return np.asarray(surface * sky[:, None])
