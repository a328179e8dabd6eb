"""A scene in the form that the kernel of paths needs.

Here: volumes as media, the lamp, the environment, the options of a scene.
Not here: meshes and spheres (layers), following paths (path_pass).
"""

from functools import lru_cache
from typing import Any

import numpy as np

from pellucid.device import Device, launch, runtime
from pellucid.fields.device_field import DeviceField
from pellucid.fields.sizes import TEXTURED
from pellucid.formats.protocol import Voxels
from pellucid.rendering.cinematic.environments import environment_map
from pellucid.rendering.drawing.light_rays import surface_factor
from pellucid.rendering.drawing.packing import pack_place, value_scale, voxel_size
from pellucid.rendering.light import linear
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.transfer import EDGE_TABLE_SIZE

DENSEST = 4.0
"""Extinction per voxel, at the most: such a medium is opaque within half a voxel, and a larger one costs time."""


def matter_table(table: Voxels, voxel: float) -> Voxels:
    """(n, 4) float32: albedo, and extinction per world unit. table: colours, and the opacity of one voxel."""
    density = -np.log1p(-np.minimum(table[:, 3].astype(np.float64), 1 - np.exp(-DENSEST))) / voxel
    matter: Voxels = np.concatenate([linear(table[:, :3]), density[:, None]], axis=1).astype(np.float32)
    return matter


def pack_medium(layer: VolumeLayer, field: DeviceField) -> Any:
    """A volume as a medium."""
    from pellucid.rendering.kernels.path_tracing import find_majorants, media

    warp, name = runtime.start(), field.device.name
    packed = media.MediumStruct()
    pack_place(packed, layer, field)
    voxel = packed.voxel = voxel_size(layer, field)
    if layer.labels is not None and field.labels is not None:
        table = layer.labels.table(field.labels.labels, 1.0)
        packed.is_labels, packed.value_low, packed.value_scale = 1, float(field.labels.first), 1.0
    else:
        table = layer.transfer.table(1.0)
        packed.value_low, packed.value_scale = value_scale(layer.transfer)
    matter = matter_table(table, voxel)
    packed.table = warp.array(matter, dtype=warp.vec4, device=name)
    packed.firmness = surface_factor(layer, voxel)
    _pack_edges(packed, layer, voxel, name)
    largest = warp.array(_largest(matter[:, 3]), dtype=warp.float32, device=name)
    packed.majorants = warp.empty(field.cells, dtype=warp.float32, device=name)
    inputs = [field.ranges, packed.value_low, packed.value_scale, largest]
    launch(find_majorants, field.cells, inputs, [packed.majorants], field.device)
    packed.vacancy = field.empty_distance(matter[:, 3] > 0, packed.value_low, packed.value_scale)
    return packed


def pack_textured(medium: Any, device: Device) -> Any:
    """A medium that is_textured, for the kernel that follows paths through such a one alone."""
    from pellucid.rendering.kernels.path_tracing import media, texture_walk

    textured = texture_walk.TexturedMedium()
    textured.medium = medium
    textured.cells = runtime.start().empty(medium.majorants.shape, dtype=float, device=device.name)
    launch(media.join_cells, medium.majorants.shape, [medium.majorants, medium.vacancy], [textured.cells], device)
    return textured


def is_textured(medium: Any) -> bool:
    """Whether a medium is a texture as a whole, whose values alone say what it is made of."""
    is_plain = not medium.is_labels and not medium.edges
    return medium.field.whole.kind >= TEXTURED and not medium.field.levels and is_plain


def _pack_edges(packed: Any, layer: VolumeLayer, voxel: float, name: str) -> None:
    if layer.transfer.edges is None or layer.labels is not None:
        return
    edges = layer.transfer.edges
    packed.edges = runtime.start().array(edges.table(), dtype=runtime.start().float32, device=name)
    low, high = edges.gradient_range
    packed.edge_low, packed.edge_scale = low / voxel, (EDGE_TABLE_SIZE - 1) * voxel / (high - low)


def _largest(density: Voxels) -> Voxels:
    """(powers, rows): the largest of 2ⁿ rows from each row on, or of those that there are."""
    found = [density]
    while 1 << len(found) <= len(density):
        half = 1 << (len(found) - 1)
        last = found[-1]
        found.append(np.maximum(last, np.concatenate([last[half:], np.full(half, last[-1])])))
    return np.stack(found).astype(np.float32)


@lru_cache(maxsize=4)
def pack_environment(name: str, device_name: str) -> Any:
    """A map of all directions on a device."""
    warp = runtime.start()
    return warp.array(environment_map(name), dtype=warp.vec3, device=device_name)


def pack_options(scene: Scene, first_sample: int, samples: int) -> Any:
    """What a scene says about its cinematic image."""
    from pellucid.rendering.kernels import path_tracing

    warp, cinematic, camera = runtime.start(), scene.cinematic, scene.camera
    options = path_tracing.TraceOptions()
    options.first_sample, options.samples, options.seed = first_sample, samples, 1 + 1_000_003 * cinematic.seed
    options.most, options.surface, options.anisotropy = cinematic.scatterings, cinematic.surface, cinematic.anisotropy
    options.coat.roughness, options.coat.coat = cinematic.roughness, cinematic.coat
    options.lens = 0.5 * cinematic.aperture * camera.distance
    is_perspective = camera.field_of_view_deg is not None
    options.focus = cinematic.focus * (1.0 if is_perspective else camera.distance)
    options.towards = warp.vec3(*scene.light.towards(camera))
    options.cone = float(np.cos(np.radians(cinematic.lamp_deg) / 2))
    options.lamp = warp.vec3(*(3 * [np.pi * cinematic.lamp]))
    options.sky_frame = warp.mat33(*environment_frame(scene).ravel())
    options.strength, options.exposure = cinematic.strength, cinematic.exposure
    options.nearest = 1e-4 * camera.visible_height
    return options


def environment_frame(scene: Scene) -> Voxels:
    """(3, 3): from the world to the environment, whose y is up and -z ahead.

    An environment moves with the camera if the scene's light does; else it stands in a world whose z is up.
    """
    turn = np.radians(scene.cinematic.turn_deg)
    about = np.array([[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]])
    if scene.light.direction is not None:
        stand = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])
    else:
        right, up, forward = scene.camera.axes()
        stand = np.stack([right, up, -forward])
    frame: Voxels = about @ stand
    return frame


def is_cinematic(scene: Scene) -> bool:
    """Whether paths of light are followed through a scene."""
    return any(one.shading == "cinematic" and one.mode == "composite" for one in scene.visible.volumes)
