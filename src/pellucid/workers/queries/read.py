"""What a Worker reads from volumes: facts, values, boxes, exports.

Here: one function per question.
Not here: images of the scene (render), slices (slices), describing what was never seen before (describe).
"""

import threading
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.box import Box, triple
from pellucid.conversion.convert import convert
from pellucid.errors import NotEnoughMemory
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.labels import Labels
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.settings import available_memory_bytes
from pellucid.volume.volume import Volume
from pellucid.workers.protocol.replies import LineSampled, PixelProbed
from pellucid.workers.protocol.requests import Export, ProbePixel, ProbePosition, Retrieve, SampleLine
from pellucid.workers.queries.sources import Sources
from pellucid.workers.render.refinement import LastFrame

SEGMENT = 16
"""Points of a line that are read together: the box around all of them may be the whole volume."""


def probe(request: ProbePixel, shown: LastFrame, sources: Sources) -> PixelProbed:
    """What is under a place of an image."""
    height, width = shown.frame.depth.shape
    column, row = min(int(request.x * width), width - 1), min(int(request.y * height), height - 1)
    depth = float(shown.frame.depth[row, column])
    if not np.isfinite(depth):
        return PixelProbed(request.request, None)
    origin, direction = ray_through(shown.scene.camera, (column + 0.5) / width, (row + 0.5) / height, width / height)
    position = origin + depth * direction
    return _found(request.request, shown.scene, position, direction, sources)


def probe_position(request: ProbePosition, sources: Sources) -> PixelProbed:
    """What is at a place of the world."""
    return _found(request.request, request.scene, np.asarray(request.position), None, sources)


def _found(request: int, scene: Scene, position: Voxels, direction: Voxels | None, sources: Sources) -> PixelProbed:
    """direction: in which labels are looked for behind the place, too; None: in none."""
    place: Vector = (float(position[0]), float(position[1]), float(position[2]))
    found = PixelProbed(request, place)
    for number, layer in enumerate(scene.volumes):
        if not layer.is_visible:
            continue
        volume = sources.volume(layer.source, scene.time)
        if layer.labels is not None:
            places = [position] if direction is None else _along(position, direction, layer, volume)
            found = _with_label(found, number, layer, volume, places)
        elif found.layer < 0 and (voxel := _voxel_at(layer, volume, position)) is not None:
            value = float(_stored(volume, voxel))
            found = replace(found, layer=number, voxel=voxel, value=value if np.isfinite(value) else None)
    if found.layer < 0 and found.label_layer >= 0:  # Labels alone.
        layer = scene.volumes[found.label_layer]
        labelled = _voxel_at(layer, sources.volume(layer.source, scene.time), position)
        found = replace(found, layer=found.label_layer, voxel=labelled or found.voxel)
    return found


def _voxel_at(layer: VolumeLayer, volume: Volume, position: Voxels) -> tuple[int, int, int] | None:
    """The nearest voxel of a volume, None outside it."""
    voxel = np.rint(to_voxels(layer, volume, position[None])[0]).astype(int)
    return triple(voxel.tolist()) if (voxel >= 0).all() and (voxel < volume.shape).all() else None


def _stored(volume: Volume, voxel: tuple[int, int, int]) -> Any:
    z, y, x = voxel
    return volume.read(Box(voxel, (z + 1, y + 1, x + 1)))[0, 0, 0]


def _along(position: Voxels, direction: Voxels, layer: VolumeLayer, volume: Volume) -> list[Voxels]:
    """A place on a ray and those behind it, for up to two voxels."""
    voxel = np.abs(np.diag(layer.transform.scale)) @ np.array(volume.spacing[::-1])
    return [position + direction * voxel.min() * step / 4 for step in range(9)]


def _with_label(
    found: PixelProbed, number: int, layer: VolumeLayer, volume: Volume, places: list[Voxels]
) -> PixelProbed:
    """The first label that is drawn: the surface of an object may lie in the voxel before it. If none is drawn, the
    label of the place itself."""
    labels = layer.labels or Labels()
    for place in places:
        if (voxel := _voxel_at(layer, volume, place)) is None:
            continue
        label = _stored(volume, voxel)
        if labels.table(np.array([label]), 1.0)[0, 3] > 0:
            return replace(found, label=int(label), label_layer=number)
    voxel = _voxel_at(layer, volume, places[0])
    return found if voxel is None else replace(found, label=int(_stored(volume, voxel)), label_layer=number)


def ray_through(camera: Camera, x: float, y: float, aspect: float) -> tuple[Voxels, Voxels]:
    """Origin and unit direction of the ray through a place of the image, 0 to 1 from its left and top."""
    right, up, forward = camera.axes()
    size = camera.visible_height
    offset = (x - 0.5) * size * aspect * right + (0.5 - y) * size * up
    if camera.field_of_view_deg is None:
        return np.asarray(camera.position) + offset, forward
    direction = offset + forward * camera.distance
    return np.asarray(camera.position, float), direction / np.linalg.norm(direction)


def to_voxels(layer: VolumeLayer, volume: Volume, positions: Voxels) -> Voxels:
    """(n, 3) voxel coordinates (z, y, x) of (n, 3) places (x, y, z) in the world."""
    matrix, shift = layer.transform.world_to_voxel(volume.spacing)
    voxels: Voxels = (positions @ matrix.T + shift)[:, ::-1]
    return voxels


def profile(request: SampleLine, sources: Sources) -> LineSampled:
    """Values along a line; None outside the volume."""
    volume = sources.volume(request.layer.source, request.time)
    share = np.linspace(0, 1, request.count)[:, None]
    points = to_voxels(
        request.layer, volume, np.asarray(request.start) * (1 - share) + np.asarray(request.stop) * share
    )
    is_inside = ((points >= -0.5) & (points <= np.array(volume.shape) - 0.5)).all(axis=1)
    values = np.full(request.count, np.nan)
    inside = np.nonzero(is_inside)[0]
    for start in range(0, len(inside), SEGMENT):
        some = inside[start : start + SEGMENT]
        values[some] = volume.sample(points[some])
    return LineSampled(request.request, tuple(float(value) if np.isfinite(value) else None for value in values))


def retrieve(request: Retrieve, sources: Sources) -> tuple[Volume, SharedArray]:
    """The voxels of a box in shared memory."""
    volume = sources.volume(request.source, request.time)
    box = request.box or volume.box
    needs, has = box.size * volume.dtype.itemsize, available_memory_bytes()
    if needs > has:
        raise NotEnoughMemory(needs, has, remedy="Retrieve it in boxes, or export it to a file.")
    shared = SharedArray.create(box.shape, volume.dtype)
    try:
        volume.read(box, shared.array)
    except BaseException:
        shared.close()
        raise
    return volume, shared


def export(request: Export, sources: Sources, cancel: threading.Event) -> None:
    """Write a box of a volume in the format that the name of the target asks for."""
    handed = sources.handed(request.source)
    # An array goes under a name that this process can find; the one that scenes have for it is the supervisor's.
    volume = (
        sources.volume(request.source, request.time)
        if handed is None
        else Volume.from_array(handed.array, handed.spacing, handed.unit)
    )
    convert(
        volume, request.target, engine="threads", overwrite=request.is_replaced, cancel=cancel, box=request.box
    ).close()
