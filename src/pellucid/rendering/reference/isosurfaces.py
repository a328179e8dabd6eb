"""Isosurfaces in plain NumPy: the vertices and triangles that the kernels must find, in the same order.

Here: surface_of, marching cubes over one array.
Not here: the table of cases (geometry.cube_cases), the fast version (geometry.surface_kernels).
"""

import numpy as np

from pellucid.box import Shape
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.rendering.geometry.cube_cases import EDGES, triangle_table

NEAREST = 1 / 1024
"""How near a vertex may come to a voxel, in voxels: closer, triangles would shrink to lines and have no normal."""


def surface_of(
    voxels: Voxels, value: float, start: Shape = (0, 0, 0), spacing: Spacing = (1.0, 1.0, 1.0), *, is_last: bool = True
) -> tuple[Voxels, Voxels]:
    """Vertices (n, 3) float32, without those on edges that begin in the last plane where a slab follows, and triangles
    (m, 3). start: the first voxel in the volume."""
    return _Cut(voxels, start, spacing, value).parts(is_last=is_last)


class _Cut:
    """Planes of voxels, and the edges between them that the surface cuts.

    The key of an edge is its place in the order of vertices: plane by plane, in each row first the edges along x, then
    those along y, then, row by row, those to the next plane.
    """

    def __init__(self, voxels: Voxels, start: Shape, spacing: Spacing, value: float) -> None:
        self._voxels, self._start, self._spacing, self._value = voxels, start, spacing, value
        self._inside = voxels >= value  # NaN is outside.
        self._plane = voxels.shape[1] * voxels.shape[2]
        self._keys = self._cut_edges()

    def parts(self, *, is_last: bool) -> tuple[Voxels, Voxels]:
        """Its vertices are those on edges that begin before the last plane: that one is the next slab's."""
        own = np.searchsorted(self._keys, (len(self._voxels) - (not is_last)) * 3 * self._plane)
        return self._positions(self._keys[:own]), self._ranks(self._triangle_keys())

    def _ranks(self, keys: Voxels) -> Voxels:
        """The place of each key among all that are cut."""
        return np.searchsorted(self._keys, keys)

    def _cut_edges(self) -> Voxels:
        """Sorted keys of all edges whose ends differ."""
        planes, rows, columns = self._voxels.shape
        within = np.zeros((planes, rows, 2, columns), bool)
        within[:, :, 0, :-1] = self._inside[:, :, 1:] != self._inside[:, :, :-1]
        within[:, :-1, 1] = self._inside[:, 1:] != self._inside[:, :-1]
        across = np.zeros((planes, rows, columns), bool)
        across[:-1] = self._inside[1:] != self._inside[:-1]
        flags = np.concatenate([within.reshape(planes, -1), across.reshape(planes, -1)], axis=1)
        return np.flatnonzero(flags)

    def _key(self, voxel: Voxels, axis: Voxels) -> Voxels:
        """Of the edge that leaves a voxel along an axis."""
        plane, rest = np.divmod(voxel, self._plane)
        row, column = np.divmod(rest, self._voxels.shape[2])
        within = np.where(axis == 2, 2 * self._plane + rest, (2 * row + axis) * self._voxels.shape[2] + column)
        key: Voxels = plane * 3 * self._plane + within
        return key

    def _unpack(self, keys: Voxels) -> tuple[Voxels, Voxels]:
        """The voxels from which edges leave, and the axes along which they do."""
        columns = self._voxels.shape[2]
        plane, place = np.divmod(keys, 3 * self._plane)
        is_across = place >= 2 * self._plane
        row, column = np.divmod(place, columns)
        rest = np.where(is_across, place - 2 * self._plane, row // 2 * columns + column)
        return plane * self._plane + rest, np.where(is_across, 2, row % 2)

    def _positions(self, keys: Voxels) -> Voxels:
        """Where the surface cuts edges, in the world: the same to the last bit whichever slab asks."""
        voxel, axis = self._unpack(keys)
        _, rows, columns = self._voxels.shape
        flat = self._voxels.reshape(-1)
        near = flat[voxel].astype(np.float64)
        far = flat[voxel + np.array([1, columns, self._plane])[axis]].astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            fraction = np.nan_to_num((self._value - near) / (far - near), nan=0.5).clip(NEAREST, 1 - NEAREST)
        places = np.stack([voxel % columns, voxel // columns % rows, voxel // self._plane], axis=1)
        places = places + np.array(self._start[::-1]) + fraction[:, None] * (axis[:, None] == np.arange(3))
        positions: Voxels = (places * np.array(self._spacing[::-1])).astype(np.float32)
        return positions

    def _triangle_keys(self) -> Voxels:
        """(m, 3): the edges on which the corners of all triangles lie, cube after cube."""
        case, voxel = self._cubes()
        counts, table = triangle_table()
        number = counts[case].astype(np.int64)
        which = np.arange(int(number.sum())) - np.repeat(np.cumsum(number) - number, number)
        edges = table[np.repeat(case, number), which]
        corner, axis = np.array(EDGES).T
        columns = self._voxels.shape[2]
        aside = (corner & 1) + (corner >> 1 & 1) * columns + (corner >> 2 & 1) * self._plane
        first = voxel[np.repeat(np.arange(len(case)), number)]
        return self._key(first[:, None] + aside[edges], axis[edges])

    def _cubes(self) -> tuple[Voxels, Voxels]:
        """The cubes that the surface passes: their cases, and the numbers of their first voxels."""
        planes, rows, columns = self._voxels.shape
        if min(planes, rows, columns) < 2:
            return np.zeros(0, np.uint8), np.zeros(0, np.int64)
        case = np.zeros((planes - 1, rows - 1, columns - 1), np.uint8)
        for corner in range(8):
            x, y, z = corner & 1, corner >> 1 & 1, corner >> 2 & 1
            part = self._inside[z : planes - 1 + z, y : rows - 1 + y, x : columns - 1 + x]
            case |= part.view(np.uint8) << np.uint8(corner)
        place = np.flatnonzero((case != 0) & (case != 255))
        plane, rest = np.divmod(place, (rows - 1) * (columns - 1))
        row, column = np.divmod(rest, columns - 1)
        return case.reshape(-1)[place], (plane * rows + row) * columns + column
