"""Global light: shadows and ambient occlusion, computed in advance on a coarse grid.

Here: LightCache, the brightness at every third voxel, and when it must be worked out anew.
Not here: how much light reaches a point (kernels.light_grid; reference.light is the definition), using it (kernels).

Cost: one float for every 27 voxels, and for each of them a march to the light (shadows) or 14 short ones (occlusion).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.device import Device, LaunchRange, launch, never_cancelled, runtime
from pellucid.errors import Cancelled
from pellucid.fields.device_field import DeviceField
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.scene import ClipPlane, Light, VolumeLayer
from pellucid.rendering.transfer import EDGE_TABLE_SIZE, Edges

EVERY = 3
"""Voxels between two places where the light is known."""

OPEN_SKY = 2.0
"""What the light on the coarse grid is multiplied by for occlusion, up to full light: before a wall half of the sky is
missing."""

DISTANCE = 1.5 * EVERY
"""How far before a point, towards the eye and towards the light, its light is looked up."""

SURFACE = 0.1
"""Of the value range, per voxel: what changes so much is lit as a surface. What changes less is lit the less by its
direction, which is that of noise."""

FLAT = 1e-6
"""Of the gradient at which all is surface: what changes less has no direction that rounding would not change."""

LOOKED_UP = 2 * DISTANCE + 4 * EVERY
"""How far beyond a cut, in voxels, its light still has a part in what is seen: what is looked up before a point lies
between places, each of which is the mean of those around it."""

REACH = 16.0
"""How far, in voxels, something may stand and still take ambient light away."""

FAR_AWAY = 1.0e6


def coarse_shape(shape: Shape) -> Shape:
    """Places along (z, y, x): enough that the last lies at or beyond the last voxel."""
    return triple(-(-(n - 1) // EVERY) + 1 for n in shape)


def directions() -> Voxels:
    """(14, 3): towards the faces and the corners of a cube, unit length."""
    faces = [(s * (a == 0), s * (a == 1), s * (a == 2)) for a in range(3) for s in (-1.0, 1.0)]
    corners = [(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]
    vectors = np.array([*faces, *corners])
    unit: Voxels = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


Side = tuple[float, float, float, float]
"""One side of a plane: its normal and its offset."""


@dataclass(frozen=True)
class VolumePlacement:
    """Where a volume stands, and what is cut away. From the world to its voxels, (x, y, z): to_voxel @ point + shift;
    planes: of the scene, in the world; shape: (z, y, x)."""

    to_voxel: Voxels
    shift: Voxels
    shape: Shape
    planes: tuple[ClipPlane, ...] = ()

    def sides(self, clip: Box | None) -> tuple[Side, ...]:
        """What the planes and a clipping box leave, in voxels."""
        return (*map(self._in_voxels, self.planes), *self._faces(clip or Box.whole(self.shape)))

    def _in_voxels(self, plane: ClipPlane) -> Side:
        normal = np.asarray(plane.normal) @ np.linalg.inv(self.to_voxel)
        x, y, z, offset = np.array([*normal, plane.offset + normal @ self.shift]) / np.linalg.norm(normal)
        return float(x), float(y), float(z), float(offset)

    def _faces(self, box: Box) -> Iterator[Side]:
        """Those that lie inside the volume; beyond its own there is nothing anyway."""
        for axis, (start, stop, end) in enumerate(zip(box.start[::-1], box.stop[::-1], self.shape[::-1], strict=True)):
            x, y, z = (float(other == axis) for other in range(3))
            if start > 0:
                yield x, y, z, start - 0.5
            if stop < end:
                yield -x, -y, -z, 0.5 - stop


@dataclass(frozen=True)
class LightKey:
    """What light is asked for: the answer holds as long as this stays the same.

    towards: steps towards the light in voxel coordinates (x, y, z), one voxel long each, (1, 3); for occlusion (14, 3).
    edges: of the transfer function; steepness: (9,) from a gradient in voxels to one whose magnitude they go by.
    sides: only material at places (x, y, z) in voxels where normal · place >= offset for each of them takes light away.
    """

    table: bytes
    value_low: float
    value_scale: float
    towards: tuple[Vector, ...]
    reach: float
    edges: Edges | None = None
    steepness: tuple[float, ...] = (0.0,) * 9
    sides: tuple[Side, ...] = ()

    @property
    def single(self) -> Vector:
        """The way to the light where there is one light, nothing where it comes from everywhere."""
        return self.towards[0] if len(self.towards) == 1 else (0.0, 0.0, 0.0)


def surface_factor(layer: VolumeLayer, voxel: float) -> float:
    """What the gradient, per world unit, is multiplied by to say how far a sample is lit as a surface, 1 and more being
    all the way. voxel: world units along its shortest edge. An isosurface is a surface whatever its gradient, and so is
    the end of a label."""
    low, high = layer.transfer.value_range
    is_firm = layer.mode == "isosurface" or layer.labels is not None
    return FAR_AWAY / (high - low) * voxel if is_firm else voxel / (SURFACE * (high - low))


def light_key(layer: VolumeLayer, light: Light, camera: Camera, place: VolumePlacement) -> LightKey | None:
    """What a layer's shading must know of the light; None where it need not know."""
    if layer.shading not in ("shadow", "occlusion"):
        return None
    to_voxel, (low, high) = place.to_voxel, layer.transfer.value_range
    opacity = np.ascontiguousarray(layer.transfer.table(1.0)[:, 3])
    if layer.shading == "occlusion":
        ways, reach = directions(), REACH
    else:
        ways = -(to_voxel @ _from_light(light, camera))[None, :]
        reach = FAR_AWAY
    unit = ways / np.linalg.norm(ways, axis=1, keepdims=True)
    towards = tuple((float(x), float(y), float(z)) for x, y, z in unit)
    edges = layer.transfer.edges
    steepness = tuple(map(float, _steepness(layer, to_voxel).ravel())) if edges else (0.0,) * 9
    scale, sides = (len(opacity) - 1) / (high - low), place.sides(layer.clip)
    return LightKey(opacity.tobytes(), low, scale, towards, reach, edges, steepness, sides)


def _steepness(layer: VolumeLayer, to_voxel: Voxels) -> Voxels:
    """(3, 3): from a gradient in voxels to the change of the value per shortest edge of a voxel, in the world."""
    spacing = np.diag(np.linalg.inv(to_voxel @ layer.transform.matrix()))
    voxel = float(np.abs(spacing).min()) * min(map(abs, layer.transform.scale))
    matrix: Voxels = to_voxel.T * voxel
    return matrix


def _from_light(light: Light, camera: Camera) -> Voxels:
    """The way of the light; a headlight stands above and to the left of the eye here, or no shadow would be seen."""
    if light.direction is not None:
        return np.asarray(light.direction)
    right, up, forward = camera.axes()
    way: Voxels = forward - 0.9 * up + 0.7 * right
    return way


class LightCache:
    """The light in one volume, kept until the question or the volume changes.

    is_cancelled: whether the next image is no longer wanted; called while light is computed, from any thread.
    """

    def __init__(self, field: DeviceField) -> None:
        self.field = field
        self.is_cancelled: Callable[[], bool] = never_cancelled
        self._question: tuple[LightKey, int] | None = None
        self._answer: Any = None
        self._question_of_all: tuple[LightKey, int] | None = None
        self._light_of_all: Any = None

    def ask(self, question: LightKey) -> Any:
        """The brightness, 0 to 1, as an array (z, y, x) on the field's device."""
        if (question, self.field.revision) != self._question:
            self._answer = _softened(self._light(question), self.field.device)
            self._question = question, self.field.revision
        return self._answer

    def _light(self, question: LightKey) -> Any:
        if question.reach == FAR_AWAY:
            return _find_light(self.field, question, None, self.is_cancelled)
        # Light from nearby is another only beside what is cut: a plane that is moved does not change the rest.
        of_all = replace(question, sides=())
        if (of_all, self.field.revision) != self._question_of_all:
            self._light_of_all = _find_light(self.field, of_all, None, self.is_cancelled)
            self._question_of_all = of_all, self.field.revision
        if not question.sides:
            return self._light_of_all
        return _find_light(self.field, question, self._light_of_all, self.is_cancelled)


def _find_light(field: DeviceField, question: LightKey, of_all: Any, is_cancelled: Callable[[], bool]) -> Any:
    """of_all: the same light where nothing is cut away, if it is known."""
    from pellucid.rendering.kernels import light_grid as kernels

    warp, device = runtime.start(), field.device
    shape = coarse_shape(field.shape)
    light = warp.zeros(shape, dtype=warp.float32, device=device.name)
    opacity = np.frombuffer(question.table, np.float32)
    table = warp.array(opacity, dtype=warp.float32, device=device.name)
    towards = warp.array(np.array(question.towards, np.float32), dtype=warp.vec3, device=device.name)
    values = [question.value_low, question.value_scale]
    edges = _pack_edges(question, device)
    sides = warp.array(np.array(question.sides, np.float32).reshape(-1, 4), dtype=warp.vec4, device=device.name)
    known = warp.empty((0, 0, 0), dtype=warp.float32, device=device.name) if of_all is None else of_all
    inputs = [field.struct, table, *values, edges, sides, towards, question.reach, EVERY, known]
    launch(kernels.find_light, LaunchRange(shape, 0, is_cancelled), inputs, [light], device)
    if is_cancelled():
        raise Cancelled("Computing the light")
    return light


def _softened(light: Any, device: Device) -> Any:
    from pellucid.rendering.kernels import light_grid as kernels

    soft = runtime.start().empty(light.shape, dtype=light.dtype, device=device.name)
    launch(kernels.soften, light.shape, [light], [soft], device)
    return soft


def _pack_edges(question: LightKey, device: Device) -> Any:
    from pellucid.rendering.kernels import light_grid as kernels

    warp, edges = runtime.start(), kernels.EdgeFactors()
    if question.edges is not None:
        low, high = question.edges.gradient_range
        edges.factors = warp.array(question.edges.table(), dtype=warp.float32, device=device.name)
        edges.low, edges.scale = low, (EDGE_TABLE_SIZE - 1) / (high - low)
        edges.steepness = warp.mat33(*question.steepness)
    return edges
