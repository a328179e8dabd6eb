"""A scene in the form that kernels need.

Here: from Scene, VolumeLayer and a field on the device to the structs that kernels take.
Not here: the kernels, launching them (renderer).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from pellucid.box import Box
from pellucid.device import Device, launch, runtime
from pellucid.errors import InvalidInput
from pellucid.fields.device_field import DeviceField, empty_distance_of
from pellucid.fields.sizes import CELL
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera
from pellucid.rendering.drawing.light_rays import THROUGH, pack_light_rays, surface_factor, towards_light
from pellucid.rendering.light import Light
from pellucid.rendering.reference.surfaces import MAX_SURFACES
from pellucid.rendering.scene import ClipPlane, Scene, SliceLayer, VolumeLayer
from pellucid.rendering.transfer import EDGE_TABLE_SIZE, TABLE_SIZE, Edges, TransferFunction, summed
from pellucid.rendering.user_shading import MAX_PARAMETERS

Size = tuple[int, int]
NOTHING_THERE = 3.0e38
LARGEST = float(np.finfo(np.float32).max)
MAX_SAMPLES = 2**22
"""Of one ray: far more than any volume needs, and few enough that float32 counts them."""


@dataclass(frozen=True)
class SubpixelOffset:
    """Where in its pixel a ray passes, in pixels from the middle; jitter: added to every ray's fraction of a step."""

    across: float = 0.0
    down: float = 0.0
    jitter: float = 0.0


CENTRED = SubpixelOffset()


def world_step(scene: Scene, fields: list[DeviceField]) -> float:
    """World units between samples: the scene's step in voxels of the finest volume."""
    pairs = list(zip(scene.volumes, fields, strict=True))
    step = scene.step * min(voxel_size(layer, field) for layer, field in pairs)
    longest = max(
        max(field.shape) * max(field.spacing) * max(map(abs, layer.transform.scale)) for layer, field in pairs
    )
    if longest > MAX_SAMPLES * step:
        raise InvalidInput(
            f"The step of {step:g} is too small for volumes {longest:g} world units long.",
            remedy="Use one unit for all volumes, or a larger step.",
        )
    return step


def voxel_size(layer: VolumeLayer, field: DeviceField) -> float:
    """World units along the shortest edge of a voxel: what the opacity of a transfer function is given for."""
    return min(field.spacing) * min(map(abs, layer.transform.scale))


def pack_view(
    scene: Scene, size: Size, step: float, device: Device, aim: SubpixelOffset = CENTRED, *, is_bare: bool = False
) -> Any:
    """The camera, the clipping planes, and an empty list of surfaces; is_bare: that stays empty."""
    from pellucid.rendering.kernels import rays

    warp = runtime.start()
    camera, (height, width) = scene.camera, size
    right, up, forward = camera.axes()
    pixel = camera.visible_height / height
    across, down = right * pixel, -up * pixel
    to_corner = across * (0.5 + aim.across - width / 2) + down * (0.5 + aim.down - height / 2)
    is_perspective = camera.field_of_view_deg is not None
    corner = to_corner + (forward * camera.distance if is_perspective else np.asarray(camera.position))
    view = rays.ViewStruct()
    view.eye, view.corner, view.forward = warp.vec3(*camera.position), warp.vec3(*corner), warp.vec3(*forward)
    view.across, view.down = warp.vec3(*across), warp.vec3(*down)
    view.is_perspective, view.is_jittered, view.step = int(is_perspective), int(scene.is_jittered), step
    view.jitter_shift = aim.jitter
    view.planes = _planes(scene.planes, device.name)
    around = (_shared_surroundings if is_bare else _surroundings)(size, _most_surfaces(scene), device.name)
    view.scenery, view.scenery_depth, view.surface_depths, view.surface_colors = around
    return view


@lru_cache(maxsize=16)
def _planes(planes: tuple[ClipPlane, ...], device_name: str) -> Any:
    warp = runtime.start()
    numbers = np.array([(*plane.normal, plane.offset) for plane in planes], float).reshape(-1, 4)
    # Of unit length, so that however long a normal is, what is taken to be parallel to a plane stays the same.
    numbers /= np.linalg.norm(numbers[:, :3], axis=1, keepdims=True)
    return warp.array(numbers.astype(np.float32), dtype=warp.vec4, device=device_name)


def _most_surfaces(scene: Scene) -> int:
    """How many surfaces that are seen through count along a ray; each takes 20 bytes of every pixel."""
    if any(layer.opacity < 1 for layer in scene.meshes):
        return MAX_SURFACES
    return min(MAX_SURFACES, sum(layer.opacity < 1 or layer.labels is not None for layer in scene.slices))


def _surroundings(size: Size, surfaces: int, device_name: str) -> tuple[Any, Any, Any, Any]:
    """A view's scenery, its depth, and the depths and colours of surfaces that are seen through; empty."""
    warp = runtime.start()
    listed = (*size, surfaces)
    return (
        warp.zeros(size, dtype=warp.vec4, device=device_name),
        warp.full(size, NOTHING_THERE, dtype=warp.float32, device=device_name),
        warp.full(listed, NOTHING_THERE, dtype=warp.float32, device=device_name),
        warp.empty(listed, dtype=warp.vec4, device=device_name),
    )


_shared_surroundings = lru_cache(maxsize=4)(_surroundings)


def pack_layer(scene: Scene, layer: VolumeLayer, field: DeviceField, step: float) -> Any:
    """A volume, its place in the world and its colours; its light is not there yet. step: world units between
    samples."""
    from pellucid.rendering.kernels import rays

    warp = runtime.start()
    packed = rays.LayerStruct()
    matrix = pack_place(packed, layer, field)
    is_projected = layer.mode in ("max", "min", "mean")
    table = pack_colors(packed, layer, field, 1.0 if is_projected else step / voxel_size(layer, field))
    packed.step, packed.voxel = step, voxel_size(layer, field)
    _pack_classification(packed, layer, field, table)
    reach = _reach(layer, matrix, step)
    packed.is_step_long = int(reach > 0)
    packed.vacancy = _vacancy(layer, field, table, reach)
    if not field.device.is_cuda and not packed.field.levels:
        packed.occupancy = warp.zeros(field.cells, dtype=warp.uint64, device=field.device.name)
    packed.shading = rays.SHADINGS[layer.shading]
    packed.firmness = surface_factor(layer, voxel_size(layer, field))
    if layer.shading in THROUGH:
        pack_light_rays(packed, layer, field, scene.planes, world_to_voxel(layer, field))
    packed.parameters = warp.zeros(MAX_PARAMETERS, dtype=warp.float32, device=field.device.name)
    return packed


def light_layer(packed: Any, scene: Scene, layer: VolumeLayer, field: DeviceField) -> Any:
    """The same with its light, which may move with the camera."""
    packed.light = pack_light(scene.light, scene.camera)
    if layer.shading in THROUGH:
        way = towards_light(scene.light, scene.camera, world_to_voxel(layer, field)[0])
        packed.light_rays.towards = runtime.start().vec3(*way)
    return packed


def _pack_classification(packed: Any, layer: VolumeLayer, field: DeviceField, table: Voxels) -> None:
    """What a transfer function asks for beyond one row of its table for each sample."""
    warp, transfer = runtime.start(), layer.transfer
    if transfer.is_preintegrated:
        packed.sums = warp.array(summed(table), dtype=warp.vec4d, device=field.device.name)
    if transfer.edges is not None:
        packed.edges = warp.array(transfer.edges.table(), dtype=warp.float32, device=field.device.name)
        low, high = transfer.edges.gradient_range
        voxel = voxel_size(layer, field)
        packed.edge_low, packed.edge_scale = low / voxel, (EDGE_TABLE_SIZE - 1) * voxel / (high - low)


def pack_place(packed: Any, layer: VolumeLayer | SliceLayer, field: DeviceField) -> Voxels:
    """A field, and where it stands; returns the matrix from the world to its voxels."""
    warp = runtime.start()
    packed.field, packed.ranges = field.struct, field.ranges
    matrix, shift = world_to_voxel(layer, field)
    packed.to_voxel, packed.shift = warp.mat33(*matrix.ravel()), warp.vec3(*shift)
    box = (layer.clip or Box.whole(field.shape)).intersect(Box.whole(field.shape))
    packed.low = warp.vec3(*(n - 0.5 for n in box.start[::-1]))
    packed.high = warp.vec3(*(n - 0.5 for n in box.stop[::-1]))
    return matrix


def pack_colors(packed: Any, layer: VolumeLayer | SliceLayer, field: DeviceField, voxels: float) -> Voxels:
    """The table of a transfer function, or of labels, with the opacity of so many voxels of material."""
    warp = runtime.start()
    if layer.labels is not None and field.labels is not None:
        is_mask = layer.labels.is_mask and isinstance(layer, VolumeLayer)
        names = field.labels.labels
        table = layer.labels.mask_table(names) if is_mask else layer.labels.table(names, voxels)
        packed.is_labels, packed.value_low, packed.value_scale = 1 + is_mask, float(field.labels.first), 1.0
    else:
        table = layer.transfer.table(voxels)
        packed.value_low, packed.value_scale = value_scale(layer.transfer)
    packed.table = warp.array(table, dtype=warp.vec4, device=field.device.name)
    shown = np.flatnonzero(table[:, 3])
    packed.shown = warp.vec2i(int(shown[0]), int(shown[-1])) if len(shown) else warp.vec2i(0, -1)
    return table


def world_to_voxel(layer: VolumeLayer | SliceLayer, field: DeviceField) -> tuple[Voxels, Voxels]:
    """(3, 3) and (3,): voxel = matrix @ world + shift, both (x, y, z)."""
    return layer.transform.world_to_voxel(field.spacing)


def pack_light(light: Light, camera: Camera) -> Any:
    from pellucid.rendering.kernels import rays

    packed = rays.LightStruct()
    packed.towards = runtime.start().vec3(*light.towards(camera))
    packed.ambient, packed.diffuse = light.ambient, light.diffuse
    packed.specular, packed.shininess = light.specular, light.shininess
    return packed


def value_scale(transfer: TransferFunction) -> tuple[float, float]:
    """From a value to a row of the table: (value - low) * scale."""
    low, high = transfer.value_range
    # Kernels compute in single precision, where an infinite scale would make the lowest value NaN.
    return low, min((TABLE_SIZE - 1) / (high - low), LARGEST)


def _reach(layer: VolumeLayer, to_voxel: Voxels, step: float) -> int:
    """How many cells beyond its own a sample's step may reach; the range of a cell has half a voxel around it in it."""
    if not layer.transfer.is_preintegrated:
        return 0
    farthest = 0.5 * step * float(np.linalg.norm(to_voxel, axis=1).max())
    return max(0, math.ceil((farthest - 0.5 - 1e-6) / CELL))


def _vacancy(layer: VolumeLayer, field: DeviceField, table: Voxels, reach: int) -> Any:
    """The way from every cell to the nearest that can change the image, less those that steps reach over."""
    warp = runtime.start()
    if layer.mode == "isosurface":
        return field.empty_distance_to_surfaces([surface.value for surface in layer.isosurfaces])
    low, scale = (float(field.labels.first), 1.0) if field.labels else value_scale(layer.transfer)
    visible = table[:, 3] > 0 if layer.mode == "composite" else np.ones(TABLE_SIZE, bool)
    vacancy = field.empty_distance(visible, low, scale)
    if reach > 0:
        nearer = np.maximum(vacancy.numpy(), reach) - np.uint8(reach)
        vacancy = warp.array(nearer, dtype=warp.uint8, device=field.device.name)
    if layer.transfer.edges is None or layer.mode != "composite" or layer.labels:
        return vacancy
    return _vacancy_of_flat(layer, field, layer.transfer.edges, vacancy)


def _vacancy_of_flat(layer: VolumeLayer, field: DeviceField, edges: Edges, vacancy: Any) -> Any:
    """The same without the cells in which no gradient can be large enough to be seen."""
    from pellucid.fields.kernels.empty_space import find_steep

    least = edges.least_visible / voxel_size(layer, field)
    if least <= 0:
        return vacancy
    matrix, _ = world_to_voxel(layer, field)
    # Each of three central differences is at most half of what values differ by; rounding must not make it less.
    largest = math.sqrt(3) / 2 * float(np.linalg.norm(matrix, 2)) * 1.001
    occupied = runtime.start().empty(field.cells, dtype=vacancy.dtype, device=field.device.name)
    launch(find_steep, field.cells, [field.ranges, least / largest, vacancy], [occupied], field.device)
    return empty_distance_of(occupied, field.device)
