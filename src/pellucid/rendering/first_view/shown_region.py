"""Where in the world something of a scene can be seen: what transfer functions show, and clipping leaves.

Here: corners of the filled bricks of a volume, fit_camera, which sees all that a scene shows.
Not here: which values are shown at first (value_range), from which side (orientation), the camera's distance (camera).
"""

from collections.abc import Callable, Sequence
from math import inf

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.rendering.camera import Camera, Vector, framing_points
from pellucid.rendering.geometry.shapes import Mesh, Points
from pellucid.rendering.scene import MeshLayer, PointsLayer, Scene, Transform, VolumeLayer
from pellucid.volume.statistics import BRICK, BrickRanges
from pellucid.volume.subsample import subsampled
from pellucid.volume.volume import Volume

FINE_BRICKS = ((4, 2**22), (8, 2**28))
"""The edges of the bricks that are looked at in volumes of up to so many bytes."""
ENDS = np.array([[z, y, x] for z in (0, 1) for y in (0, 1) for x in (0, 1)])

FilledBricks = Callable[[BrickRanges], Voxels]
"""Which bricks hold anything that is shown."""


def filled_corners(volume: Volume, is_filled: FilledBricks | None, transform: Transform) -> Voxels:
    """(n, 3) places (x, y, z) in the world: corners of boxes that hold everything that is shown of a volume.

    is_filled: None for all of it, also where nothing is shown.
    """
    return _placed(_filled_boxes(volume, is_filled), volume, transform)


def brighter_than(air: float, top: float) -> FilledBricks:
    """Bricks with a value above the first. Single ones above the second, away from all else, need not be seen."""

    def is_filled(ranges: BrickRanges) -> Voxels:
        return _without_lonely(ranges.highest > air, ranges, top)

    return is_filled


def shown_by(layer: VolumeLayer) -> FilledBricks | None:
    """Bricks of which a layer shows something."""
    if layer.labels is not None:
        return brighter_than(0.0, inf)
    if layer.mode == "isosurface":
        lowest = min((surface.value for surface in layer.isosurfaces), default=-inf)
        return lambda ranges: ranges.highest >= lowest
    visible = np.concatenate([[0], np.cumsum(layer.transfer.table(1.0)[:, 3] > 0)])

    def is_filled(ranges: BrickRanges) -> Voxels:
        first, last = layer.transfer.index(ranges.lowest), layer.transfer.index(ranges.highest)
        is_number = np.isfinite(ranges.highest)
        return _without_lonely(is_number & (visible[last + 1] > visible[first]), ranges, layer.transfer.value_range[1])

    return is_filled


def fit_camera(
    scene: Scene,
    volumes: Sequence[Volume],
    shapes: Sequence[Points | Mesh],
    side: Vector,
    up: Vector,
    aspect: float = 1.0,
) -> Camera:
    """A camera from a side that sees all that a scene shows, its perspective kept. volumes, shapes: of its visible
    layers, in their order, points before meshes. side: from the middle to the eye."""
    scene = scene.visible
    corners = [
        _left_by_planes(_layer_corners(layer, volume), scene)
        for layer, volume in zip(scene.volumes, volumes, strict=True)
    ]
    layers: list[PointsLayer | MeshLayer] = [*scene.points, *scene.meshes]
    corners += [_shape_corners(shape, layer.transform) for layer, shape in zip(layers, shapes, strict=True)]
    places = np.concatenate([np.zeros((0, 3)), *corners])
    if not len(places):
        raise InvalidInput("The scene shows nothing that a camera could be fitted to.", remedy="Show a layer first.")
    return framing_points(places, side, up, aspect, field_of_view_deg=scene.camera.field_of_view_deg)


def _layer_corners(layer: VolumeLayer, volume: Volume) -> Voxels:
    boxes = _filled_boxes(volume, shown_by(layer))
    if layer.clip is not None:
        low, high = np.array(layer.clip.start), np.array(layer.clip.stop)
        boxes = np.stack([np.maximum(boxes[:, 0], low), np.minimum(boxes[:, 1], high)], axis=1)
        boxes = boxes[(boxes[:, 0] < boxes[:, 1]).all(axis=1)]
        boxes = boxes if len(boxes) else np.array([[low, high]], float)
    return _placed(boxes, volume, layer.transform)


def _left_by_planes(corners: Voxels, scene: Scene) -> Voxels:
    """The corners of the boxes that clipping planes do not cut away whole, moved onto the planes where they cut."""
    boxes = corners.reshape(-1, len(ENDS), 3)
    for plane in scene.planes:
        normal = np.asarray(plane.normal) / np.linalg.norm(plane.normal)
        beyond = plane.offset / np.linalg.norm(plane.normal) - boxes @ normal
        left = boxes[(beyond <= 0).any(axis=1)]
        if not len(left):
            return corners
        moved = np.maximum(plane.offset / np.linalg.norm(plane.normal) - left @ normal, 0.0)
        boxes = left + moved[..., None] * normal
    return boxes.reshape(-1, 3)


def _shape_corners(shape: Points | Mesh, transform: Transform) -> Voxels:
    low, high = np.array(shape.bounds)
    places: Voxels = (low + ENDS * (high - low)) @ transform.matrix().T + np.asarray(transform.translation)
    return places


def _placed(boxes: Voxels, volume: Volume, transform: Transform) -> Voxels:
    """A voxel reaches half a spacing to each side of its place."""
    corners = boxes[:, ENDS, np.arange(3)].reshape(-1, 3) - 0.5
    own = (corners * volume.spacing)[:, ::-1]
    places: Voxels = own @ transform.matrix().T + np.asarray(transform.translation)
    return places


def _filled_boxes(volume: Volume, is_filled: FilledBricks | None) -> Voxels:
    """(n, 2, 3) of first and last voxels (z, y, x), the last one not included."""
    whole = np.array([[(0, 0, 0), volume.shape]], float)
    if is_filled is None:
        return whole
    # Of a large array in memory only some voxels are read.
    seen = subsampled(volume)
    # Of large ones, what the histogram has found out already.
    ranges = seen.brick_ranges(next((edge for edge, most in FINE_BRICKS if seen.nbytes <= most), BRICK))
    boxes = _ends_of_rows(is_filled(ranges), ranges.brick)
    boxes = np.minimum(boxes * _steps(volume.spacing, seen.spacing), volume.shape)
    return boxes if len(boxes) else whole


def _steps(spacing: Spacing, of_seen: Spacing) -> Voxels:
    """Voxels from one that was looked at to the next."""
    steps: Voxels = np.rint(np.array(of_seen) / np.array(spacing))
    return steps


def _ends_of_rows(is_filled: Voxels, brick: int) -> Voxels:
    """The first and the last filled brick of every row: all that can touch the border of an image."""
    z, y = np.nonzero(is_filled.any(axis=2))
    first = is_filled[z, y].argmax(axis=1)
    last = is_filled.shape[2] - 1 - is_filled[z, y, ::-1].argmax(axis=1)
    low = np.stack([np.tile(z, 2), np.tile(y, 2), np.concatenate([first, last])], axis=1) * brick
    return np.stack([low, low + brick], axis=1).astype(float)


def _without_lonely(is_filled: Voxels, ranges: BrickRanges, top: float) -> Voxels:
    lonely = (ranges.highest > top) & (_neighbours(is_filled) == 1)
    kept: Voxels = is_filled & ~lonely
    return kept


def _neighbours(is_filled: Voxels) -> Voxels:
    """How many of the 27 bricks around each are filled."""
    counts = np.pad(is_filled.astype(np.int64), 1)
    for axis in range(3):
        along = np.moveaxis(counts, axis, 0)
        counts = np.moveaxis(along[:-2] + along[1:-1] + along[2:], 0, axis)
    return counts
