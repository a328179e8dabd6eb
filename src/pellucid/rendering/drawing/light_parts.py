"""Shadows in a volume of which each device has a part: what is in other parts takes light away as well.

Here: LightPart, whose light is followed on the device that has it; LightLines, the lines on which its light is handed
on; PartLight, which passes both to kernels.
Not here: following light (kernels.light_rays), who has which part (cluster.images.light).

The way of light begins a little before a sample, towards the eye and then towards the light. Parts are shifted by as
much: then the ways of a part's samples begin in it, and of each way every piece belongs to one part.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.box import Box, Shape
from pellucid.device import runtime
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.drawing.light_rays import (
    BEFORE,
    FAR_AWAY,
    FIRST,
    OCCLUDED,
    SHADOWED,
    SKY_STEPS,
    sky_step,
    towards_light,
)
from pellucid.rendering.light import Light

SHADOW_HALO = 6
"""Voxels around a part that its ways of light touch: its shift, the end of a way, and what a sample reads."""
MARGIN = 2
"""Lines around those through a part, for what lies between lines and for eyes that are near."""


@dataclass(frozen=True)
class LightLines:
    """Lines to a light, one voxel apart where they cross the plane through the origin of a volume across the axis along
    which the light comes most of all. first: along the other two, in the order (x, y, z); shape: rows along the second
    of them."""

    first: tuple[int, int]
    shape: tuple[int, int]

    def overlaps(self, other: "LightLines") -> bool:
        starts = np.maximum(self.first, other.first)
        stops = np.minimum(np.add(self.first, self.shape[::-1]), np.add(other.first, other.shape[::-1]))
        return bool((stops > starts).all())


@dataclass(frozen=True)
class LightPart:
    """low, high: in voxel coordinates (x, y, z) of the volume, or of an array in it."""

    low: Vector
    high: Vector
    lines: LightLines

    def seen_from(self, start: Shape, towards: Voxels) -> tuple["LightPart", tuple[float, float]]:
        """The same in an array whose first voxel is at start, (z, y, x), and the first of its lines there."""
        origin = np.array(start[::-1], float)
        low, high = (_vector(np.asarray(end) - origin) for end in (self.low, self.high))
        u, v = np.subtract(self.lines.first, _crossing(origin, towards)).tolist()
        return replace(self, low=low, high=high), (float(u), float(v))


@dataclass(frozen=True)
class PartLight:
    """A part in an array, as seen_from gives it, and what the other parts leave of the light on each of its lines: an
    array on the device."""

    part: LightPart
    first: tuple[float, float]
    beyond: Any

    def pack(self, packed: Any) -> None:
        """Set in a packed layer which part of its volume it is."""
        warp, rays = runtime.start(), packed.light_rays
        rays.part_low, rays.part_high = warp.vec3(*self.part.low), warp.vec3(*self.part.high)
        rays.beyond_first = warp.vec2(*self.first)
        if self.beyond is not None:
            rays.beyond = self.beyond


def light_part(box: Box, shape: Shape, towards: Voxels, shift: Voxels) -> LightPart:
    """The part of a box of a volume of that shape. towards: to the light; shift: what light_shift gives."""
    at, size = np.array(box.start[::-1], float) - 0.5, np.array(shape[::-1], float)
    stop = np.array(box.stop[::-1], float) - 0.5
    low = np.where(np.array(box.start[::-1]) > 0, at + shift, -FAR_AWAY)
    high = np.where(np.array(box.stop[::-1]) < size, stop + shift, FAR_AWAY)
    near, far = np.maximum(low, -0.5 - np.abs(shift)), np.minimum(high, size - 0.5 + np.abs(shift))
    corners = np.stack(np.meshgrid(*zip(near, far, strict=True), indexing="ij"), -1).reshape(-1, 3)
    crossings = np.array([_crossing(corner, towards) for corner in corners])
    first = np.floor(crossings.min(0)).astype(int) - MARGIN
    last = np.ceil(crossings.max(0)).astype(int) + MARGIN
    columns, rows = (last - first + 1).tolist()
    u, v = first.tolist()
    return LightPart(_vector(low), _vector(high), LightLines((u, v), (rows, columns)))


def light_shift(light: Light, camera: Camera, to_voxel: Voxels, center: Voxels) -> Voxels:
    """(3,): from a sample to where its way to the light begins to count, in voxel coordinates (x, y, z). center: of the
    volume, in the world."""
    forward = np.asarray(camera.axes()[2], float)
    if camera.field_of_view_deg is not None:
        way = center - np.asarray(camera.position, float)
        length = np.linalg.norm(way)
        forward = way / length if length > 0 else forward
    towards = towards_light(light, camera, to_voxel)
    edge = np.linalg.norm(towards) / np.linalg.norm(to_voxel @ light.towards(camera))
    shift: Voxels = to_voxel @ -forward * edge * BEFORE + towards * (FIRST - 0.5)
    return shift


def light_halo(shading: str, shape: Shape) -> int:
    """Voxels around a part of a volume of that shape that its light needs; 0 for shadings that follow no light."""
    sky = int(np.ceil((SKY_STEPS + 1) * sky_step(shape) + BEFORE)) + 2 if shading in OCCLUDED else 0
    return max(sky, SHADOW_HALO if shading in SHADOWED else 0)


def _crossing(at: Voxels, towards: Voxels) -> Voxels:
    """Where the line through a point crosses the plane through the origin, as kernels.light_rays.line_through."""
    axis = 1 if abs(towards[1]) > abs(towards[0]) else 0
    axis = 2 if abs(towards[2]) > abs(towards[axis]) else axis
    crossing: Voxels = np.delete(at - towards * (at[axis] / towards[axis]), axis)
    return crossing


def _vector(values: Voxels) -> Vector:
    x, y, z = np.asarray(values, float).tolist()
    return x, y, z
