"""The surface between voxels on a device, as vertices and triangles.

Here: Surface, extract_surface.
Not here: many labels (label_surfaces), volumes in slabs (isosurfaces), the kernels (surface_kernels).
"""

from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any

import numpy as np

from pellucid.box import Shape
from pellucid.device import Device, LaunchRange, choose, launch, primitives, runtime, synchronize
from pellucid.formats.protocol import Spacing
from pellucid.rendering.geometry.cube_cases import triangle_table

WORD = 64


@dataclass(frozen=True)
class Surface:
    """vertices: (n, 3) float32, triangles: (m, 3) int32, in host memory or on the device. Triangles may refer to
    vertices behind the last: those of the next slab."""

    vertices: Any
    triangles: Any


@dataclass(frozen=True)
class SurfacePlace:
    """start: the first voxel in the volume, (z, y, x). is_last: whether no slab follows; else the last plane is the
    first of the next one."""

    start: Shape = (0, 0, 0)
    spacing: Spacing = (1.0, 1.0, 1.0)
    is_last: bool = True


def extract_surface(
    voxels: Any, value: float, place: SurfacePlace | None = None, device: Device | None = None
) -> Surface:
    """Where the values of an array pass ``value``. voxels: (z, y, x), a NumPy array, or a Warp array on a GPU; rows
    must lie in memory without gaps."""
    from pellucid.rendering.geometry import surface_kernels

    device, place = device or choose("cpu"), place or SurfacePlace()
    voxels = readable_voxels(voxels)
    limits = _limits(np.dtype(voxel_dtype(voxels)), value)
    if limits is None:
        return Surface(np.empty((0, 3), np.float32), np.empty((0, 3), np.int32))
    grid = fill_grid(surface_kernels.SurfaceGrid(), voxels, place, device)
    grid.value, grid.limit = limits
    grid.own = voxels.shape[0] - (not place.is_last)
    nz, ny = voxels.shape[:2]
    threads = LaunchRange((nz, ny, grid.spans), heft=4 * grid.span)
    memory = primitives(device)
    bits = memory.empty((nz * ny * grid.words,), np.uint64)
    launch(surface_kernels.surface_bits, threads, [grid], [bits], device)
    counts, table = case_tables(device)
    edges = memory.empty((3 * nz * ny * grid.spans,), np.int32)
    cubes = memory.empty((nz * ny * grid.spans,), np.int32)
    launch(surface_kernels.surface_counts, threads, [grid, bits, counts], [edges, cubes], device)
    starts, triangle_starts = part_starts(edges, device), part_starts(cubes, device)
    number = int(starts[grid.own * 3 * ny * grid.spans])
    vertices = memory.empty((3 * number,), np.float32)
    triangles = memory.empty((3 * int(triangle_starts[-1]),), np.int32)
    given = [grid, bits, counts, table, starts, triangle_starts]
    launch(surface_kernels.surface_parts, threads, given, [vertices, triangles], device)
    synchronize(device)
    return Surface(vertices.reshape(-1, 3), triangles.reshape(-1, 3))


def readable_voxels(voxels: Any) -> Any:
    """The voxels themselves where a kernel can read them."""
    if not isinstance(voxels, np.ndarray):
        return voxels
    if voxels.dtype.kind == "b":
        voxels = voxels.view(np.uint8)
    if voxels.dtype == np.float16:
        voxels = voxels.astype(np.float32)
    size = voxels.dtype.itemsize
    is_plain = voxels.dtype.isnative and voxels.flags.aligned and min(voxels.strides) >= 0
    if is_plain and voxels.strides[2] == size and not any(stride % size for stride in voxels.strides):
        return voxels
    return np.ascontiguousarray(voxels, voxels.dtype.newbyteorder("="))


def voxel_dtype(voxels: Any) -> Any:
    return voxels.dtype if isinstance(voxels, np.ndarray) else runtime.start().dtype_to_numpy(voxels.dtype)


def _limits(dtype: np.dtype[Any], value: float) -> tuple[float, int] | None:
    """The value, and the least whole number that reaches it; None where all or no numbers of the type do."""
    if dtype.kind == "f":
        return value, 0
    limit, facts = ceil(value), np.iinfo(dtype)
    if not int(facts.min) < limit <= int(facts.max):
        return None
    return value, limit if limit < 2**63 else limit - 2**64


def fill_grid(grid: Any, voxels: Any, place: SurfacePlace, device: Device) -> Any:
    """The grid, whatever its surfaces are of, with the voxels, their place and how threads share them."""
    from pellucid.rendering.geometry import surface_kernels

    warp, dtype = runtime.start(), np.dtype(voxel_dtype(voxels))
    grid.voxels = voxels.ctypes.data if isinstance(voxels, np.ndarray) else voxels.ptr
    grid.kind = surface_kernels.VOXEL_KINDS.index(dtype.str[1:])
    grid.plane, grid.row = (stride // dtype.itemsize for stride in voxels.strides[:2])
    grid.shape = warp.vec3i(*voxels.shape[::-1])
    grid.words = -(-voxels.shape[2] // WORD)
    grid.span = 1 if device.is_cuda else grid.words
    grid.spans = -(-grid.words // grid.span)
    grid.start = warp.vec3i(*place.start[::-1])
    grid.spacing = warp.vec3d(*place.spacing[::-1])
    return grid


@cache
def case_tables(device: Device) -> tuple[Any, Any]:
    """How many triangles each case has, and their edges one after the other."""
    counts, table = triangle_table()
    memory = primitives(device)
    return memory.to_device(counts), memory.to_device(np.ascontiguousarray(table.reshape(256, -1)))


def part_starts(counts: Any, device: Device) -> Any:
    """Where each begins, and behind the last one how many there are."""
    memory = primitives(device)
    starts = memory.zeros((len(counts) + 1,), np.int64)
    starts[1:] = memory.scan(counts)
    return starts
