"""The surfaces of many labels of a label volume, in one pass over it.

Here: extract_label_surfaces, with the label of each vertex and triangle; group_by_label, label after label.
Not here: one surface (surface_extraction), the kernels (label_surface_kernels, grouping_kernels).

Every surface has the vertices and triangles, in the same order, of the isosurface of "is this label", at 0.5. Where two
chosen labels touch, each has vertices of its own, so that every surface is closed by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.device import Device, LaunchRange, choose, launch, primitives, runtime, synchronize
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.surface_extraction import (
    Surface,
    SurfacePlace,
    case_tables,
    fill_grid,
    part_starts,
    readable_voxels,
    voxel_dtype,
)

MAX_TABLE = 2**22
"""Labels from the least to the greatest chosen one, up to which each has an entry in a table."""


@dataclass(frozen=True)
class LabelSurfaces:
    """surface: of all labels together. vertex_owners, triangle_owners: int32, of each the index in ``labels``, which
    ascend. Arrays are on the device."""

    surface: Surface
    vertex_owners: Any
    triangle_owners: Any
    labels: tuple[int, ...]


@dataclass(frozen=True)
class GroupedSurfaces:
    """parts: of each label that has a surface, its number, and how many vertices and triangles it has, one label after
    the other. Triangles refer to the vertices of their own label, from 0."""

    surface: Surface
    parts: tuple[tuple[int, int, int], ...]


def extract_label_surfaces(
    voxels: Any, labels: Sequence[int], place: SurfacePlace | None = None, device: Device | None = None
) -> LabelSurfaces:
    """voxels: (z, y, x), a NumPy array, or a Warp array on a GPU; rows must lie in memory without gaps. Labels may be
    absent. Vertices and triangles are numbered in 32 bits."""
    from pellucid.rendering.geometry import label_surface_kernels as kernels

    device, place = device or choose("cpu"), place or SurfacePlace()
    voxels = readable_voxels(voxels)
    wanted = _possible(labels, np.dtype(voxel_dtype(voxels)))
    if not wanted or min(voxels.shape) < 2:
        none = np.empty(0, np.int32)
        return LabelSurfaces(Surface(np.empty((0, 3), np.float32), np.empty((0, 3), np.int32)), none, none, wanted)
    grid = _grid(voxels, wanted, place, device)
    nz, ny = voxels.shape[:2]
    threads = LaunchRange((nz, ny, grid.spans), heft=4 * grid.span)
    memory = primitives(device)
    bits = memory.empty((4 * nz * ny * grid.words,), np.uint64)
    launch(kernels.label_chosen, threads, [grid], [bits], device)
    launch(kernels.label_cuts, threads, [grid], [bits], device)
    counts, table = case_tables(device)
    edges = memory.empty((3 * nz * ny * grid.spans,), np.int32)
    cubes = memory.empty((nz * ny * grid.spans,), np.int32)
    launch(kernels.label_counts, threads, [grid, bits, counts], [edges, cubes], device)
    starts, triangle_starts = part_starts(edges, device), part_starts(cubes, device)
    vertices, owners = (memory.empty((n * int(starts[-1]),), kind) for n, kind in ((3, np.float32), (1, np.int32)))
    triangles, of_triangles = (memory.empty((n * int(triangle_starts[-1]),), np.int32) for n in (3, 1))
    given = [grid, bits, counts, table, starts, triangle_starts]
    launch(kernels.label_parts, threads, given, [vertices, owners, triangles, of_triangles], device)
    synchronize(device)
    return LabelSurfaces(Surface(vertices.reshape(-1, 3), triangles.reshape(-1, 3)), owners, of_triangles, wanted)


def group_by_label(found: LabelSurfaces, device: Device | None = None) -> GroupedSurfaces:
    """The same vertices and triangles, one label after the other, each label's in the order that they had."""
    from pellucid.rendering.geometry import grouping_kernels

    device = device or choose("cpu")
    memory, surface = primitives(device), found.surface
    if not len(surface.triangles):
        return GroupedSurfaces(surface, ())
    order, bounds = _order(found.vertex_owners, len(found.labels), device)
    vertices = memory.empty(surface.vertices.shape, np.float32)
    numbers = memory.empty((len(vertices),), np.int32)
    given = [surface.vertices, found.vertex_owners, order, bounds]
    launch(grouping_kernels.move_vertices, len(vertices), given, [vertices, numbers], device)
    order, triangle_bounds = _order(found.triangle_owners, len(found.labels), device)
    triangles = memory.empty(surface.triangles.shape, np.int32)
    given = [surface.triangles, order, numbers]
    launch(grouping_kernels.move_triangles, len(triangles), given, [triangles], device)
    synchronize(device)
    counts = [np.diff(memory.to_host(one), axis=1).reshape(-1).tolist() for one in (bounds, triangle_bounds)]
    parts = tuple(part for part in zip(found.labels, *counts, strict=True) if part[2])
    return GroupedSurfaces(Surface(vertices, triangles), parts)


def _order(owners: Any, count: int, device: Device) -> tuple[Any, Any]:
    """What sorts parts by their owners, and from where to where each owner's parts are then."""
    from pellucid.rendering.geometry import grouping_kernels

    memory = primitives(device)
    # NumPy sorts 16 bits by radix, several times faster than 32 bits; CuPy does so with all integers.
    keys = owners if device.is_cuda or count > 2**16 else owners.astype(np.uint16)
    order, bounds = memory.argsort(keys), memory.zeros((count, 2), np.int64)
    launch(grouping_kernels.group_bounds, len(order), [owners, order], [bounds], device)
    return order, bounds


def _possible(labels: Sequence[int], dtype: np.dtype[Any]) -> tuple[int, ...]:
    """Ascending, without those that the type of the voxels cannot hold."""
    least, greatest = -(2**53), 2**53  # The whole numbers that floating-point voxels can hold.
    if dtype.kind != "f":
        least, greatest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return tuple(sorted({int(label) for label in labels if least <= label <= greatest}))


def _grid(voxels: Any, labels: tuple[int, ...], place: SurfacePlace, device: Device) -> Any:
    from pellucid.rendering.geometry import label_surface_kernels

    warp, grid = runtime.start(), fill_grid(label_surface_kernels.LabelGrid(), voxels, place, device)
    ascending, numbers = _lookup(labels)
    grid.least, grid.is_dense = _signed(labels[0]), not len(ascending)
    grid.sorted = warp.array(ascending, dtype=warp.int64, device=device.name)
    grid.numbers = warp.array(numbers, dtype=warp.int32, device=device.name)
    return grid


def _lookup(labels: tuple[int, ...]) -> tuple[Voxels, Voxels]:
    """Labels to be searched, and their numbers; or no labels, and for each from the least to the greatest its number.

    >>> _lookup((5, 7))
    (array([], dtype=int64), array([ 0, -1,  1], dtype=int32))
    """
    extent = labels[-1] - labels[0] + 1
    if extent <= MAX_TABLE:
        table = np.full(extent, -1, np.int32)
        table[np.array([label - labels[0] for label in labels])] = np.arange(len(labels))
        return np.empty(0, np.int64), table
    signed = np.array([_signed(label) for label in labels], np.int64)
    order = np.argsort(signed)
    return signed[order], order.astype(np.int32)


def _signed(label: int) -> int:
    """As the kernels read a label of 64 bits."""
    return label if label < 2**63 else label - 2**64
