"""Isosurfaces as meshes: marching cubes over a volume of any size, slab by slab.

Here: extract_isosurface into memory, save_isosurface into a file, and the slabs both are made of.
Not here: the surface of one slab (surface_extraction), mesh formats (mesh_files), isosurfaces met by rays (kernels).

A vertex lies on an edge between two neighbouring voxels, of which one reaches the value and the other does not. Its
number is the rank of that edge among all such edges: planes in order, in each row first the edges along x and then
those along y, then, row by row, the edges to the next plane. So slabs agree on every shared vertex, and their height
changes nothing in the mesh. Positions are the world's (x, y, z), where the scene draws the volume: index times spacing,
mirrored along x where the volume's axes are left-handed. Triangles are counter-clockwise seen from the low values.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from pellucid import progress
from pellucid.box import Box
from pellucid.engines.output_check import check_output
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.rendering.first_view.orientation import is_mirrored, standing_of
from pellucid.rendering.geometry.mesh_files import format_of, write_arrays
from pellucid.rendering.geometry.shapes import Mesh
from pellucid.rendering.geometry.surface_extraction import SurfacePlace, extract_surface
from pellucid.volume.volume import Volume

SLAB_VOXELS = 2**26
"""Voxels of a file that are worked on at once."""
ARRAY_SLAB_VOXELS = 2**28
"""The same where all voxels are in memory already. Numbers of vertices within a slab have 32 bits."""
READ_BYTES = 2**30


@dataclass(frozen=True)
class Slab:
    """A part of a surface: its vertices (n, 3) float32, of which the first has the number ``first``, and triangles
    (m, 3) int32, which count from there."""

    first: int
    vertices: Voxels
    triangles: Voxels

    @property
    def numbered(self) -> Voxels:
        """The triangles, int64, with the numbers that vertices have in the whole surface."""
        return self.triangles + np.int64(self.first)


def extract_isosurface(volume: Volume, value: float, box: Box | None = None) -> Mesh:
    """The surface at ``value``, in a box or in the whole volume. It is closed, except where it leaves the box."""
    slabs = list(isosurface_slabs(volume, value, box))
    if len(slabs) == 1:
        return Mesh(slabs[0].vertices, slabs[0].triangles)
    vertices = np.concatenate([slab.vertices for slab in slabs])
    kind = np.int32 if len(vertices) < 2**31 else np.int64
    return Mesh(vertices, np.concatenate([slab.triangles + kind(slab.first) for slab in slabs]))


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
            triangle_file.write(slab.numbered.tobytes())
            counts = [counts[0] + len(slab.vertices), counts[1] + len(slab.triangles)]
        if not counts[1]:
            check_isovalue(value, volume.value_range)
            raise InvalidInput(
                f"The isovalue {value:g} has no surface in the box {box or volume.box} (z, y, x).",
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
    volume: Volume, value: float, box: Box | None = None, slab_voxels: int | None = None
) -> Iterator[Slab]:
    """The surface part by part; each slab refers to its own vertices and to the first ones of the next slab.

    slab_voxels: how many are worked on at once.
    """
    if not np.isfinite(value):
        raise InvalidInput(f"The isovalue is {value}.", remedy="Use a finite number.")
    box = volume.box if box is None else box
    if box.is_empty:
        raise InvalidInput(f"The box {box} (z, y, x) is empty.", remedy=f"Stay within {volume.box}.")
    if min(box.shape) < 2:
        thin = ", ".join(axis for axis, length in zip("zyx", box.shape, strict=True) if length < 2)
        raise InvalidInput(
            f"The box {box} (z, y, x) is one voxel thick along {thin}, so it has no isosurface.",
            remedy="Use a volume and a box of at least 2 voxels along each axis.",
        )
    most = slab_voxels or (SLAB_VOXELS if volume.array is None else ARRAY_SLAB_VOXELS)
    height = max(1, most // (box.shape[1] * box.shape[2]))
    first = 0
    with progress.task("Extracting the surface", box.shape[0], "planes") as bar:
        for start, voxels, is_last in _read_slabs(volume, box, height):
            place = SurfacePlace((start, *box.start[1:]), volume.spacing, is_last)
            surface = extract_surface(voxels, value, place)
            yield _as_drawn(Slab(first, surface.vertices, surface.triangles), volume)
            first += len(surface.vertices)
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

    An array is not copied. Of files whole chunks are read, each once: slabs are thinner where chunks are thick, and
    would read them again and again.
    """
    if volume.array is not None:
        yield from _array_slabs(volume.array, box, height)
        return
    most = READ_BYTES // (box.shape[1] * box.shape[2] * volume.dtype.itemsize)
    thick = max(height, min(-(-height // volume.chunk[0]) * volume.chunk[0], most))
    start, held = box.start[0], np.empty((0, *box.shape[1:]), volume.dtype)
    for part in box.tiles((thick, *box.stop[1:])):
        held = np.concatenate([held, volume.read(part)]) if len(held) else volume.read(part)
        while len(held) > height:
            yield start, held[: height + 1], False
            start, held = start + height, held[height:]
    yield start, held, True


def _array_slabs(array: Voxels, box: Box, height: int) -> Iterator[tuple[int, Voxels, bool]]:
    for start in range(box.start[0], box.stop[0], height):
        stop = min(start + height, box.stop[0])
        is_last = stop == box.stop[0]
        planes = array[start : stop + (not is_last), box.start[1] : box.stop[1], box.start[2] : box.stop[2]]
        yield start, planes, is_last
