"""The definition of points and meshes in images, in plain NumPy: their kernels are compared with this.

Here: the nearest sphere and the nearest triangle along every ray, lit, cut by planes.
Not here: volumes, and light itself (reference), speed (kernels.spheres, kernels.meshes).

A sphere or a triangle that a plane cuts is hollow: behind the plane its other side is seen from within.
"""

from collections.abc import Sequence

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.shapes import Mesh, Points, unit
from pellucid.rendering.reference.shading import Sun, lit
from pellucid.rendering.reference.surfaces import CLOSEST, MAX_SURFACES, ReferenceImage
from pellucid.rendering.reference.volumes import Rays
from pellucid.rendering.scene import ClipPlane, MeshLayer, PointsLayer


def draw_points(
    points: Points, layer: PointsLayer, rays: Rays, sun: Sun, planes: Sequence[ClipPlane] = ()
) -> ReferenceImage:
    """Every visible point as a sphere: its value times the layer's scale is its radius."""
    span = span_between(rays, planes)
    depth = np.full(len(rays.origins), np.inf)
    base, normals = np.zeros((len(depth), 3)), np.zeros((len(depth), 3))
    colors = layer.transfer.table(1.0)[layer.transfer.index(points.values)]
    centres = points.positions @ layer.transform.matrix().T + np.asarray(layer.transform.translation)
    for centre, radius, color in zip(centres, points.values * layer.radius_scale, colors, strict=True):
        if color[3] <= 0 or not radius > 0:
            continue
        distance = _meets_sphere(rays, centre, float(radius), span)
        nearer = distance < depth
        depth[nearer], base[nearer] = distance[nearer], color[:3]
        at = rays.origins[nearer] + distance[nearer, None] * rays.directions[nearer]
        normals[nearer] = (at - centre) / radius
    return _image(base, normals, depth, rays, sun if layer.is_lit else None)


def draw_mesh(mesh: Mesh, layer: MeshLayer, rays: Rays, sun: Sun, planes: Sequence[ClipPlane] = ()) -> ReferenceImage:
    """The nearest triangles along rays, of one colour; the normal turns from corner to corner."""
    return _nearest_triangles(mesh, layer, rays, sun, span_between(rays, planes))


def draw_clear_mesh(
    mesh: Mesh, layer: MeshLayer, rays: Rays, sun: Sun, planes: Sequence[ClipPlane] = ()
) -> list[ReferenceImage]:
    """The nearest eight surfaces of a mesh that is seen through. Where two triangles meet there is one surface."""
    (near, far), images = span_between(rays, planes), []
    for _ in range(MAX_SURFACES):
        color, depth = _nearest_triangles(mesh, layer, rays, sun, (near, far))
        if not np.isfinite(depth).any():
            break
        images.append((color * layer.opacity, depth))
        near = np.where(np.isfinite(depth), depth * (1 + CLOSEST), np.inf)
    return images


def _nearest_triangles(
    mesh: Mesh, layer: MeshLayer, rays: Rays, sun: Sun, span: tuple[Voxels, Voxels]
) -> ReferenceImage:
    depth, normals = np.full(len(rays.origins), np.inf), np.zeros((len(rays.origins), 3))
    matrix = layer.transform.matrix()
    vertices = mesh.vertices @ matrix.T + np.asarray(layer.transform.translation)
    at_corners = unit(mesh.smooth_normals() @ np.linalg.inv(matrix))
    for triangle in mesh.triangles:
        distance, weights = _meets_triangle(rays, vertices[triangle], span)
        nearer = distance < depth
        depth[nearer] = distance[nearer]
        normals[nearer] = weights[nearer] @ at_corners[triangle]
    base = np.broadcast_to(np.array(layer.color), normals.shape)
    return _image(base, normals, depth, rays, sun if layer.is_lit else None)


def nearest(images: Sequence[ReferenceImage]) -> ReferenceImage:
    """Several opaque images: what is nearest in each pixel."""
    color, depth = images[0]
    for other, distance in images[1:]:
        color = np.where((distance < depth)[:, None], other, color)
        depth = np.minimum(depth, distance)
    return color, depth


def span_between(rays: Rays, planes: Sequence[ClipPlane]) -> tuple[Voxels, Voxels]:
    """Where along every ray nothing is cut away."""
    near, far = np.zeros(len(rays.origins)), np.full(len(rays.origins), np.inf)
    for plane in planes:
        along = rays.directions @ np.asarray(plane.normal)
        height = plane.offset - rays.origins @ np.asarray(plane.normal)
        at = height / np.where(np.abs(along) > 1e-9, along, np.inf)
        near = np.where(along > 1e-9, np.maximum(near, at), near)
        far = np.where(along < -1e-9, np.minimum(far, at), far)
        far = np.where((np.abs(along) <= 1e-9) & (height > 0), -1.0, far)
    return near, far


def _meets_sphere(rays: Rays, centre: Voxels, radius: float, span: tuple[Voxels, Voxels]) -> Voxels:
    """Where rays enter a sphere or, from within it, leave it."""
    near, far = span
    to_centre = centre - rays.origins
    along = np.sum(to_centre * rays.directions, axis=1)
    aside = to_centre - along[:, None] * rays.directions
    inside = radius**2 - np.sum(aside**2, axis=1)
    half = np.sqrt(np.maximum(inside, 0))
    distance = np.where(along - half >= near, along - half, along + half)
    return np.where((inside >= 0) & (distance >= near) & (distance < far), distance, np.inf)


def _meets_triangle(rays: Rays, corners: Voxels, span: tuple[Voxels, Voxels]) -> tuple[Voxels, Voxels]:
    """Distances (n,), inf where rays miss, and the weights (n, 3) of the corners."""
    near, far = span
    first, second = corners[1] - corners[0], corners[2] - corners[0]
    across = np.cross(rays.directions, second)
    area = across @ first
    with np.errstate(divide="ignore", invalid="ignore"):
        from_corner = rays.origins - corners[0]
        u = np.sum(from_corner * across, axis=1) / area
        side = np.cross(from_corner, first)
        v = np.sum(rays.directions * side, axis=1) / area
        distance = side @ second / area
        hits = (u >= 0) & (v >= 0) & (u + v <= 1) & (distance >= near) & (distance < far)
    return np.where(hits, distance, np.inf), np.stack([1 - u - v, u, v], axis=1)


def _image(base: Voxels, normals: Voxels, depth: Voxels, rays: Rays, sun: Sun | None) -> ReferenceImage:
    hit = np.isfinite(depth)
    color = np.zeros((len(depth), 4))
    color[hit, :3] = base[hit] if sun is None else lit(base[hit], normals[hit], rays.directions[hit], sun)
    color[hit, 3] = 1
    return color, depth
