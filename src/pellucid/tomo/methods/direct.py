"""Direct back projection: from filtered sinograms to slices, by the definition.

Here: ParallelGeometry, and back_project on a device.
Not here: filtering (filters), what back projection means (reference), a faster way (gridding).
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from pellucid.device import Array, Device, LaunchRange, choose, launch, primitives
from pellucid.errors import InvalidInput
from pellucid.tomo.geometry.view_weights import view_weights
from pellucid.tomo.reference.projection import circle_radius
from pellucid.tomo.scan import Floats

LINE_BYTES = 64
"""Of the processor's cache: a vector that straddles two lines takes twice as long."""


@dataclass(frozen=True, eq=False)
class ParallelGeometry:
    """Parallel beams around an axis.

    angles_rad: of every view, in any order, over a half turn or a full one. axes: the column that the axis falls on, of
    every slice. is_circle: whether pixels that not all views see are left at 0.
    """

    angles_rad: Floats
    axes: Floats
    is_circle: bool = True

    @classmethod
    def shared(cls, angles_rad: Floats, axis: float, slices: int, *, is_circle: bool = True) -> "ParallelGeometry":
        """One axis for all slices."""
        return cls(np.asarray(angles_rad, np.float64), np.full(slices, axis), is_circle)

    @property
    def has_one_axis(self) -> bool:
        return bool((self.axes == self.axes[0]).all())

    @property
    def per_pair(self) -> int:
        """Slices that can be the real and the imaginary part of one: two, where they share an axis."""
        return 2 if self.has_one_axis else 1

    @property
    def weights(self) -> Floats:
        """Of every view; together they are a half turn."""
        return view_weights(self.angles_rad)

    @property
    def turns(self) -> Floats:
        """Cosine and sine of every view."""
        return np.stack([np.cos(self.angles_rad), np.sin(self.angles_rad)], axis=1)

    def middles(self, columns: int) -> Floats:
        """(slice, view): the column of the detector that the pixel columns // 2 of a slice's diagonal falls on."""
        off = columns // 2 - (columns - 1) / 2
        cosine, sine = self.turns.T
        return np.ascontiguousarray(self.axes[:, None] + off * (cosine - sine))

    def radii(self, columns: int) -> Floats:
        """Of every slice: pixels further from the axis stay 0."""
        if not self.is_circle:
            return np.full(len(self.axes), float(columns))
        return np.array([circle_radius(columns, axis) for axis in self.axes])

    def part(self, slices: slice) -> "ParallelGeometry":
        return ParallelGeometry(self.angles_rad, self.axes[slices], self.is_circle)

    def every(self, step: int, first: int) -> "ParallelGeometry":
        """Of every step-th view, from the first on."""
        return ParallelGeometry(self.angles_rad[first::step], self.axes, self.is_circle)

    def check(self, shape: tuple[int, int, int]) -> None:
        """Refuse sinograms (slice, view, column) that this is not the geometry of."""
        if shape[:2] != (len(self.axes), len(self.angles_rad)):
            raise InvalidInput(
                f"Sinograms of {shape[0]} slices and {shape[1]} views came with {len(self.axes)} axes and "
                f"{len(self.angles_rad)} angles.",
                remedy="Use one axis per slice and one angle per view.",
            )


@dataclass(frozen=True, eq=False)
class Views:
    """How views are added up. weights: of every view. is_transpose: bins have the weights that a pixel has in their
    rays (projection.project), in the place of linear interpolation between them."""

    weights: Any
    is_transpose: bool = False


def back_project(
    sinograms: Array, geometry: ParallelGeometry, device: Device | None = None, weights: Floats | None = None
) -> Array:
    """Slices (slice, row, column) from filtered sinograms (slice, view, column) of a device.

    weights: of the views; by default the share of a half turn that each stands for, which makes the result the
    attenuation per pixel.
    """
    weights = geometry.weights if weights is None else weights
    return add_views(sinograms, geometry, Views(weights.astype(np.float32)), device)


def add_views(sinograms: Array, geometry: ParallelGeometry, views: Views, device: Device | None = None) -> Array:
    """The sum of what all views say of every pixel."""
    device = device or choose()
    geometry.check(sinograms.shape)
    slices, _, columns = sinograms.shape
    images = primitives(device).zeros((slices, columns, columns), np.float32)
    if not geometry.has_one_axis:
        _by_slices(sinograms, geometry, views, images, device)
    elif device.is_cuda:
        _on_cuda(sinograms, geometry, views, images, device)
    else:
        _on_cpu(sinograms, geometry, views, images)
    return images


def _by_slices(sinograms: Array, geometry: ParallelGeometry, views: Views, images: Array, device: Device) -> None:
    from pellucid.tomo.kernels import direct

    columns, room = sinograms.shape[2], primitives(device)
    steepness = 1 / np.abs(geometry.turns).max(axis=1) if views.is_transpose else np.ones(len(geometry.angles_rad))
    numbers = (views.weights, geometry.turns, steepness, geometry.axes, geometry.radii(columns))
    inputs = [sinograms, *(room.to_device(values.astype(np.float32)) for values in numbers)]
    shape = (columns, len(sinograms), columns)
    launch(direct.back_project_slices, shape, inputs=inputs, outputs=[images], device=device)


def _on_cpu(sinograms: Array, geometry: ParallelGeometry, views: Views, images: Array) -> None:
    """A packet of neighbouring slices at a time."""
    from pellucid.tomo.kernels import direct

    device, (slices, count, columns) = choose("cpu"), sinograms.shape
    packed = aligned((1, count, columns + direct.BORDER, direct.CPU_LANES))
    tiles = -(-columns // direct.TILE)
    inputs = [packed, geometry.turns, float(geometry.axes[0]), float(geometry.radii(columns)[0])]
    for start in range(0, slices, direct.CPU_LANES):
        some = slice(start, min(slices, start + direct.CPU_LANES))
        shape = (count, 1, columns + direct.BORDER)
        launch(direct.pack, shape, inputs=[sinograms[some], views.weights], outputs=[packed], device=device)
        tiled = LaunchRange((tiles, tiles, 1), heft=direct.TILE**2)
        launch(_kernel("cpu", views.is_transpose), tiled, inputs=inputs, outputs=[images[some]], device=device)


def _on_cuda(sinograms: Array, geometry: ParallelGeometry, views: Views, images: Array, device: Device) -> None:
    from pellucid.tomo.kernels import direct

    room, (slices, count, columns) = primitives(device), sinograms.shape
    packets = -(-slices // direct.CUDA_LANES)
    packed = room.empty((packets, count, columns + direct.BORDER, direct.CUDA_LANES), np.float32)
    shape = (count, packets, columns + direct.BORDER)
    launch(direct.pack, shape, inputs=[sinograms, room.to_device(views.weights)], outputs=[packed], device=device)
    turns = room.to_device(geometry.turns.astype(np.float32))
    inputs = [packed, turns, float(geometry.axes[0]), float(geometry.radii(columns)[0])]
    tiles = -(-columns // 8)
    kernel = _kernel("cuda", views.is_transpose)
    launch(kernel, (packets, tiles, tiles, 64), inputs=inputs, outputs=[images], device=device, block_dim=64)


@cache
def _kernel(kind: str, is_transpose: bool) -> Any:
    from pellucid.tomo.kernels import direct

    make = direct.direct_cuda if kind == "cuda" else direct.direct_cpu
    return make(is_transpose=is_transpose)


def aligned(shape: tuple[int, ...]) -> Array:
    """An empty float32 array on the CPU that begins at a line of the cache."""
    count = int(np.prod(shape))
    room = np.empty(count + LINE_BYTES // 4, np.float32)
    start = -room.ctypes.data % LINE_BYTES // 4
    return room[start : start + count].reshape(shape)
