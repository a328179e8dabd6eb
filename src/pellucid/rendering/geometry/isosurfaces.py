"""Isosurfaces as meshes: marching cubes over a volume of any size, slab by slab.

Here: extract_isosurface into memory, save_isosurface into a file, and the slabs both are made of.
Not here: the table of cases (cube_cases), mesh formats (mesh_files), isosurfaces met by rays (kernels).

A vertex lies on an edge between two neighbouring voxels, of which one reaches the value and the other does not. Its
number is the rank of that edge among all such edges: planes in order, in each first the edges within the plane, then
those to the next plane. So slabs agree on every shared vertex, and their height changes nothing in the mesh. Positions
are the world's (x, y, z), where the scene draws the volume: index times spacing, mirrored along x where the volume's
axes are left-handed. Triangles are counter-clockwise seen from the low values.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from pellucid import progress
from pellucid.box import Box, Shape
from pellucid.engines.output_check import check_output
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.rendering.automatic.orientation import is_mirrored, standing_of
from pellucid.rendering.geometry.cube_cases import EDGES, triangle_table
from pellucid.rendering.geometry.mesh_files import format_of, write_arrays
from pellucid.rendering.geometry.shapes import Mesh
from pellucid.volume.volume import Volume

SLAB_VOXELS = 2**20
"""Voxels worked on at once: about what the caches of a processor hold."""
READ_BYTES = 2**30
NEAREST = 1 / 1024
"""How near a vertex may come to a voxel, in voxels: closer, triangles would shrink to lines and have no normal."""


@dataclass(frozen=True)
class Slab:
    """A part of a surface: its vertices (n, 3) float32, numbered from ``first``, and triangles (m, 3) int64."""

    first: int
    vertices: Voxels
    triangles: Voxels


def extract_isosurface(volume: Volume, value: float, box: Box | None = None) -> Mesh:
    """The surface at ``value``, in a box or in the whole volume. It is closed, except where it leaves the box."""
    slabs = list(isosurface_slabs(volume, value, box))
    vertices = np.concatenate([slab.vertices for slab in slabs])
    triangles = np.concatenate([slab.triangles for slab in slabs])
    return Mesh(vertices, triangles.astype(np.int32) if len(vertices) < 2**31 else triangles)


def save_isosurface(volume: Volume, value: float, path: str | Path, box: Box | None = None) -> tuple[int, int]:
    """Write the surface to a mesh file, however large it is; returns the numbers of vertices and triangles.

    Slabs are first written to two files without names next to it, because mesh formats start with these numbers.
    """
    path = Path(path)
    format_of(path)
    check_output(Location(str(path)), [volume.location], may_join_slices=True)
    counts = [0, 0]
    with TemporaryFile(dir=path.parent) as vertex_file, TemporaryFile(dir=path.parent) as triangle_file:
        for slab in isosurface_slabs(volume, value, box):
            vertex_file.write(slab.vertices.tobytes())
            triangle_file.write(slab.triangles.tobytes())
            counts = [counts[0] + len(slab.vertices), counts[1] + len(slab.triangles)]
        if not counts[1]:
            check_isovalue(value, volume.value_range)
            raise InvalidInput(
                f"The isovalue {value:g} has no surface in {box or volume.box}.",
                remedy="Choose another value or a larger box.",
            )
        vertices = np.memmap(vertex_file, np.float32, "r", shape=(counts[0], 3))
        triangles = np.memmap(triangle_file, np.int64, "r", shape=(counts[1], 3))
        write_arrays(path, vertices, triangles)
    return counts[0], counts[1]


def check_isovalue(value: float, value_range: tuple[float, float]) -> None:
    """An error where no surface can be, because no value of the volume is on the other side."""
    low, high = value_range
    if not low < value <= high:
        raise InvalidInput(
            f"The isovalue {value:g} is outside the values of the volume, which are from {low:g} to {high:g}.",
            remedy=f"Choose a value above {low:g} and up to {high:g}." if low < high else "Choose another volume.",
        )


def isosurface_slabs(
    volume: Volume, value: float, box: Box | None = None, slab_voxels: int = SLAB_VOXELS
) -> Iterator[Slab]:
    """The surface part by part; each slab refers to its own vertices and to the first ones of the next slab."""
    if not np.isfinite(value):
        raise InvalidInput(f"The isovalue is {value}.", remedy="Use a finite number.")
    box = volume.box if box is None else box
    if box.is_empty:
        raise InvalidInput(f"The box {box} is empty.", remedy=f"Stay within {volume.box}.")
    if min(box.shape) < 2:
        thin = ", ".join(axis for axis, length in zip("zyx", box.shape, strict=True) if length < 2)
        raise InvalidInput(
            f"The box {box} is one voxel thick along {thin}, so it has no isosurface.",
            remedy="Use a volume and a box of at least 2 voxels along each axis.",
        )
    height = max(1, slab_voxels // (box.shape[1] * box.shape[2]))
    first = 0
    with progress.task("Extracting the surface", box.shape[0], "planes") as bar:
        for start, voxels, is_last in _read_slabs(volume, box, height):
            slab = _Cut(voxels, (start, *box.start[1:]), volume.spacing, value).slab(first, is_last=is_last)
            first += len(slab.vertices)
            yield _as_drawn(slab, volume)
            bar.advance(len(voxels) - (not is_last))


def _as_drawn(slab: Slab, volume: Volume) -> Slab:
    """A slab where the scene draws the volume; mirrored triangles are turned over, to face outwards again."""
    if not is_mirrored(volume):
        return slab
    standing = standing_of(volume)
    vertices = slab.vertices * np.array(standing.scale) + np.array(standing.translation)
    return replace(slab, vertices=vertices.astype(np.float32), triangles=slab.triangles[:, ::-1])


def _read_slabs(volume: Volume, box: Box, height: int) -> Iterator[tuple[int, Voxels, bool]]:
    """Where slabs begin, their planes and the first one of the next, and whether it is the last slab.

    Whole chunks are read, each once: slabs are thinner where chunks are thick, and would read them again and again.
    """
    most = READ_BYTES // (box.shape[1] * box.shape[2] * volume.dtype.itemsize)
    thick = max(height, min(-(-height // volume.chunk[0]) * volume.chunk[0], most))
    start, held = box.start[0], np.empty((0, *box.shape[1:]), volume.dtype)
    for part in box.tiles((thick, *box.stop[1:])):
        held = np.concatenate([held, volume.read(part)])
        while len(held) > height:
            yield start, held[: height + 1], False
            start, held = start + height, held[height:]
    yield start, held, True


class _Cut:
    """Planes of voxels, and the edges between them that the surface cuts. The next slab begins with the last plane."""

    def __init__(self, voxels: Voxels, start: Shape, spacing: Spacing, value: float) -> None:
        self._voxels, self._start, self._spacing, self._value = voxels, start, spacing, value
        self._inside = voxels >= value  # NaN is outside.
        self._plane = voxels.shape[1] * voxels.shape[2]
        self._keys = self._cut_edges()

    def slab(self, first: int, *, is_last: bool) -> Slab:
        """Its vertices are those on edges that begin before the last plane: that one is the next slab's."""
        own = np.searchsorted(self._keys, (len(self._voxels) - (not is_last)) * 3 * self._plane)
        vertices = self._positions(self._keys[:own])
        return Slab(first, vertices, first + self._ranks(self._triangle_keys()))

    def _ranks(self, keys: Voxels) -> Voxels:
        """The place of each key among all that are cut; a table is several times faster than searching."""
        table = np.empty(3 * self._voxels.size, np.int32 if len(self._keys) < 2**31 else np.int64)
        table[self._keys] = np.arange(len(self._keys), dtype=table.dtype)  # Only what is written is ever read.
        return table[keys].astype(np.int64)

    def _cut_edges(self) -> Voxels:
        """Sorted keys of all edges whose ends differ."""
        planes, rows, columns = self._voxels.shape
        within = np.zeros((planes, rows, columns, 2), bool)
        np.not_equal(self._inside[:, :, 1:], self._inside[:, :, :-1], out=within[:, :, :-1, 0])
        np.not_equal(self._inside[:, 1:], self._inside[:, :-1], out=within[:, :-1, :, 1])
        across = self._inside[1:] != self._inside[:-1]
        keys = []
        for plane in range(planes):
            keys.append(plane * 3 * self._plane + np.flatnonzero(within[plane]))
            if plane < planes - 1:
                keys.append((plane * 3 + 2) * self._plane + np.flatnonzero(across[plane]))
        return np.concatenate(keys)

    def _unpack(self, keys: Voxels) -> tuple[Voxels, Voxels]:
        """The voxels from which edges leave, and the axes along which they do."""
        plane, place = np.divmod(keys, 3 * self._plane)
        is_across = place >= 2 * self._plane
        voxel = plane * self._plane + np.where(is_across, place - 2 * self._plane, place // 2)
        return voxel, np.where(is_across, 2, place % 2)

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
        # The keys of a cube's first edges within the plane and across; those of its other edges lie at fixed distances.
        plane, place = np.divmod(voxel, self._plane)
        firsts = np.stack([2 * place, 2 * self._plane + place], axis=1) + (plane * 3 * self._plane)[:, None]
        corner, axis = np.array(EDGES).T
        is_across = (axis == 2).astype(np.int8)
        aside = (corner & 1) + (corner >> 1 & 1) * self._voxels.shape[2]
        steps = np.where(axis == 2, aside, 2 * aside + axis) + (corner >> 2 & 1) * 3 * self._plane
        keys: Voxels = firsts[np.repeat(np.arange(len(case)), number)[:, None], is_across[edges]] + steps[edges]
        return keys

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
