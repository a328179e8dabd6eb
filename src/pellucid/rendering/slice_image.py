"""The image of a slice, as a viewer shows it beside the scene: where it lies in the world, and of how many slices.

Here: SliceRectangle, across an axis of a volume and oblique; SliceImage, a part of one with its pixels.
Not here: drawing it (layers.slice_images; its definition: reference.slice_images), planes in the 3D image (SliceLayer).
"""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.rendering.camera import Vector
from pellucid.rendering.scene import SliceLayer, Transform, VolumeLayer
from pellucid.rendering.slice_options import MAX_THICKNESS, SlabProjection
from pellucid.volume.slice_planes import AXES, Planes, SlicePlane

SliceAxis = Literal["z", "y", "x", "oblique"]
Region = tuple[float, float, float, float]
WHOLE: Region = (0.0, 0.0, 1.0, 1.0)
MAX_EDGE = 4096


class SlicedGrid(Protocol):
    """Voxels along (z, y, x), how far apart they are, and how slices of them are shown."""

    @property
    def shape(self) -> tuple[int, int, int]: ...
    @property
    def spacing(self) -> Spacing: ...


@dataclass(frozen=True)
class SliceRectangle:
    """All of a slice, in the world. origin: its top left corner; right, down: along its upper and its left edge.
    step: from it to the next slice. is_along_voxels: its pixels can be voxels."""

    origin: Vector
    right: Vector
    down: Vector
    step: Vector
    is_along_voxels: bool = True

    def at(self, across: float, along: float) -> Vector:
        """The place at these fractions of its width and height."""
        return _vector(np.add(self.origin, np.multiply(self.right, across) + np.multiply(self.down, along)))


@dataclass(frozen=True)
class SliceImage:
    """A part of a slice as an image of so many pixels. region: left, top, right and bottom, as fractions of the slice;
    what lies beyond it is black. thickness, projection: as in SliceOptions."""

    place: SliceRectangle
    width: int
    height: int
    region: Region = WHOLE
    thickness: int = 1
    projection: SlabProjection = "mean"

    def __post_init__(self) -> None:
        left, top, right, bottom = self.region
        if not (left < right and top < bottom):
            raise InvalidInput(
                f"Invalid region of a slice: {self.region}.", remedy="Use left < right and top < bottom."
            )
        if not (1 <= self.width <= MAX_EDGE and 1 <= self.height <= MAX_EDGE):
            what = f"An image of {self.width} × {self.height} pixels is too large for a slice."
            raise InvalidInput(what, remedy=f"Use at most {MAX_EDGE} along each side.")
        if not 1 <= self.thickness <= MAX_THICKNESS:
            raise InvalidInput(f"Invalid thickness: {self.thickness}.", remedy=f"Use 1 to {MAX_THICKNESS}.")

    def steps(self) -> tuple[Voxels, Voxels, Voxels]:
        """The middle of the first pixel, and from one pixel to the next across and downwards; in the world."""
        left, top, right, bottom = self.region
        across = np.multiply(self.place.right, (right - left) / self.width)
        down = np.multiply(self.place.down, (bottom - top) / self.height)
        corner = np.asarray(self.place.at(left, top))
        return corner + across / 2 + down / 2, across, down


def axis_rectangle(plane: SlicePlane, index: int, grid: SlicedGrid, transform: Transform) -> SliceRectangle:
    """A slice of a volume across one of its axes, from voxel face to voxel face."""
    across, down, right = (AXES.index(name[-1]) for name in (plane.across, plane.down, plane.right))
    corner = np.full(3, -0.5)
    corner[across] = index
    along, upon, step = np.zeros(3), np.zeros(3), np.zeros(3)
    along[right], upon[down], step[across] = grid.shape[right], grid.shape[down], 1
    for axis, name, way in ((right, plane.right, along), (down, plane.down, upon)):
        if name.startswith("-"):
            corner[axis] = grid.shape[axis] - 0.5
            way[axis] *= -1
    matrix = transform.matrix() @ np.diag(grid.spacing[::-1])
    origin = matrix @ corner[::-1] + np.asarray(transform.translation)
    return SliceRectangle(
        _vector(origin), _vector(matrix @ along[::-1]), _vector(matrix @ upon[::-1]), _vector(matrix @ step[::-1])
    )


def oblique_rectangle(slice_layer: SliceLayer, grid: SlicedGrid, planes: Planes) -> SliceRectangle:
    """A plane through a volume: a square that all of it fits into, seen along the normal. It looks like the slices
    across the axis that its normal is nearest to. planes: how those are shown."""
    matrix = slice_layer.transform.matrix() @ np.diag(grid.spacing[::-1])
    shape = np.array(grid.shape[::-1], float)
    middle = matrix @ ((shape - 1) / 2) + np.asarray(slice_layer.transform.translation)
    normal = np.asarray(slice_layer.normal) / np.linalg.norm(slice_layer.normal)
    centre = middle + normal * ((np.asarray(slice_layer.point) - middle) @ normal)
    own = matrix / np.linalg.norm(matrix, axis=0)
    across = int(np.argmax(np.abs(own.T @ normal)))
    plane = planes[2 - across]
    downwards, rightwards = (_along(own, name) for name in (plane.down, plane.right))
    down = downwards - normal * (downwards @ normal)
    down /= np.linalg.norm(down)
    right = np.cross(down, normal)
    right *= np.sign(right @ rightwards) or 1.0
    sides = matrix @ np.diag(shape)
    edge = float(max(np.abs(right @ sides).sum(), np.abs(down @ sides).sum()))
    step = normal * float(np.min(np.abs(np.diag(grid.spacing))[np.diag_indices(3)]))
    corner = centre - (right + down) * edge / 2
    return SliceRectangle(
        _vector(corner), _vector(right * edge), _vector(down * edge), _vector(step), is_along_voxels=False
    )


def _along(axes: Voxels, name: str) -> Voxels:
    """The direction of an axis such as "-y", of a volume whose x, y and z run along the columns."""
    direction: Voxels = axes[:, "xyz".index(name[-1])] * (-1.0 if name.startswith("-") else 1.0)
    return direction


def as_volume(layer: SliceLayer) -> VolumeLayer:
    """What an oblique slice cuts, to be drawn as an image."""
    return VolumeLayer(layer.source, layer.transfer, labels=layer.labels, transform=layer.transform)


def _vector(numbers: Voxels) -> Vector:
    x, y, z = (float(number) for number in numbers)
    return (x, y, z)
