"""Rays of light through a volume: towards one light (shadows), and in all directions (occlusion).

Here: the numbers that host code, kernels and the definition share, and packing them for kernels.
Not here: following a ray (kernels.light_rays; reference.light_rays is the definition), lighting a sample (shading).

Light is followed only from where a ray sees something, so that what it costs goes by the pixels, not by the voxels.
"""

from typing import Any

import numpy as np

from pellucid.box import Shape
from pellucid.device import runtime
from pellucid.fields.device_field import DeviceField
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera
from pellucid.rendering.light import Light
from pellucid.rendering.scene import ClipPlane, VolumeLayer
from pellucid.rendering.transfer import TABLE_SIZE

THROUGH = ("shadow", "occlusion", "full")
"""Shadings that follow light through the volume."""

SHADOWED, OCCLUDED = ("shadow", "full"), ("occlusion", "full")

BEFORE = 1.5
"""Where the light of a sample is looked for: so many voxels before it, towards the eye. A surface does not shade
itself."""

FIRST = 1.5
"""The first sample of a ray, in steps."""

SKY_STEPS = 15
"""Samples along each ray of ambient light."""

REACH = 16.0
"""How far, in voxels, something may stand and still take ambient light away, in a volume of up to REACH_EDGE voxels."""

REACH_EDGE = 512
"""Along its longest edge; in a volume that is longer, the reach is longer by as much."""

OPEN_SKY = 2.0
"""What the light from all around is multiplied by, up to full light: before a wall half of the sky is missing.

It is compared with the light along the ray to the eye, or what is seen a little below a surface would be grey."""

MIN_OPEN = 0.05
"""Of the light along the ray to the eye: with less than this, nothing is compared."""

SURFACE = 0.1
"""Of the value range, per voxel: what changes so much is lit as a surface. What changes less is lit the less by its
direction, which is that of noise."""

FLAT = 1e-6
"""Of the gradient at which all is surface: what changes less has no direction that rounding would not change."""

TURN = 5.0
"""How fast a surface's side becomes the other one where it turns away from the eye, by the cosine. A sudden change
would make noise of rounding."""

GLINT = 8.0
"""How fast what is mirrored appears where a surface turns to the light, by the cosine."""

DARK = 0.004
"""A ray that lets less through than this counts as dark."""

SHARE = 1 / 16
"""Samples that add up to less than so much of what a pixel shows are lit as the one before them."""

ASKING = 1e-3
"""A brick that light passes is wanted by so much, as one that a ray sees is by 1."""

FAR_AWAY = 1.0e6


def towards_light(light: Light, camera: Camera, to_voxel: Voxels) -> Voxels:
    """(3,): towards the light, in voxel coordinates (x, y, z), as long as a voxel's shortest edge. to_voxel: from the
    world."""
    direction: Voxels = to_voxel @ light.towards(camera) * _edges(to_voxel).min()
    return direction


def around(to_voxel: Voxels) -> Voxels:
    """(14, 3): the same towards the faces and the corners of a cube that stands as the volume does."""
    faces = [(s * (a == 0), s * (a == 1), s * (a == 2)) for a in range(3) for s in (-1.0, 1.0)]
    corners = [(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]
    vectors = np.array([*faces, *corners])
    edges = _edges(to_voxel)
    directions: Voxels = vectors / np.linalg.norm(vectors, axis=1, keepdims=True) * (edges.min() / edges)
    return directions


def _edges(to_voxel: Voxels) -> Voxels:
    """World units along the edges of a voxel, (x, y, z)."""
    lengths: Voxels = np.linalg.norm(np.linalg.inv(to_voxel), axis=0)
    return lengths


def sky_step(shape: Shape) -> float:
    """Voxels between the samples of rays of ambient light.

    >>> sky_step((64, 64, 512)), sky_step((1024, 1024, 1024))
    (1.0, 2.0)
    """
    return REACH / 16 * max(1.0, max(shape) / REACH_EDGE)


def surface_factor(layer: VolumeLayer, voxel: float) -> float:
    """What the gradient, per world unit, is multiplied by to say how far a sample is lit as a surface, 1 and more being
    all the way. voxel: world units along its shortest edge. An isosurface is a surface whatever its gradient, and so is
    the end of a label."""
    low, high = layer.transfer.value_range
    is_firm = layer.mode == "isosurface" or layer.labels is not None
    # Divided twice: a multiple of the narrowest range is 0.
    return FAR_AWAY / (high - low) * voxel if is_firm else voxel / SURFACE / (high - low)


def taken_light(layer: VolumeLayer, step: float) -> tuple[Voxels, float, float]:
    """What a step of so many voxels takes of the light, by value: a table, and its row of a value as (value - low) *
    scale. What lies above an isosurface is as opaque as the surface."""
    low, high = layer.transfer.value_range
    if layer.mode != "isosurface":
        return np.ascontiguousarray(layer.transfer.table(step)[:, 3]), low, (TABLE_SIZE - 1) / (high - low)
    levels = [surface.value for surface in layer.isosurfaces]
    low, high = min(low, *levels), max(high, *levels)
    rows = np.linspace(low, high, TABLE_SIZE)
    passing = np.ones(TABLE_SIZE)
    for surface in layer.isosurfaces:
        passing[rows >= surface.value] *= 1 - surface.opacity
    return (1 - passing**step).astype(np.float32), low, (TABLE_SIZE - 1) / (high - low)


def cuts_in_voxels(planes: tuple[ClipPlane, ...], to_voxel: Voxels, shift: Voxels) -> Voxels:
    """(n, 4): what planes of the world leave lies where normal · point >= offset, in voxel coordinates."""
    cuts = []
    for plane in planes:
        normal = np.asarray(plane.normal) @ np.linalg.inv(to_voxel)
        cuts.append(np.array([*normal, plane.offset + normal @ shift]) / np.linalg.norm(normal))
    return np.array(cuts).reshape(-1, 4)


def pack_light_rays(
    packed: Any, layer: VolumeLayer, field: DeviceField, planes: tuple[ClipPlane, ...], place: tuple[Voxels, Voxels]
) -> None:
    """What kernels need to follow light through a layer. place: to_voxel and shift, from the world."""
    warp, name, light_rays = runtime.start(), field.device.name, packed.light_rays
    light_rays.around = warp.array(around(place[0]).astype(np.float32), dtype=warp.vec3, device=name)
    light_rays.sky_step = sky_step(field.whole_shape)
    shadow_table, light_rays.low, light_rays.scale = taken_light(layer, 1.0)
    sky_table, _, _ = taken_light(layer, light_rays.sky_step)
    light_rays.shadow_table = warp.array(shadow_table, dtype=warp.float32, device=name)
    light_rays.sky_table = warp.array(sky_table, dtype=warp.float32, device=name)
    light_rays.cuts = warp.array(cuts_in_voxels(planes, *place).astype(np.float32), dtype=warp.vec4, device=name)
    light_rays.vacancy = field.empty_distance(shadow_table > 0, light_rays.low, light_rays.scale)
    light_rays.asking, light_rays.share = (ASKING if field.struct.levels else 0.0), SHARE
