"""Points and meshes: positions with values; triangles.

Here: Points, Mesh, and finding those that a program holds in memory by a name such as ``memory:5f2a...``.
Not here: files (point_files, mesh_files), drawing them (spheres, meshes), making a mesh of a volume (isosurfaces).
"""

from dataclasses import dataclass, field
from typing import TypeVar
from uuid import uuid4
from weakref import WeakValueDictionary

import numpy as np

from pellucid.errors import InvalidInput, NotFound
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Vector

MEMORY = "memory:"
Bounds = tuple[Vector, Vector]


def _new_name() -> str:
    return MEMORY + uuid4().hex


@dataclass(frozen=True, eq=False)
class Points:
    """Positions (n, 3) in world units (x, y, z) and a value (n,) for each, both float32. name: its name in a scene.

    >>> Points(np.zeros((2, 3)), np.array([1.0, 2.0])).values.dtype
    dtype('float32')
    """

    positions: Voxels
    values: Voxels
    name: str = field(default_factory=_new_name)

    def __post_init__(self) -> None:
        positions, values = _rows(self.positions, "positions"), np.asarray(self.values, np.float32)
        if values.shape != (len(positions),):
            remedy = "Pass one value for every position."
            raise InvalidInput(
                f"The number of values does not match: {len(positions)} positions, values of shape {values.shape}.",
                remedy=remedy,
            )
        object.__setattr__(self, "positions", positions)
        object.__setattr__(self, "values", values)
        _held[self.name] = self

    @property
    def bounds(self) -> Bounds:
        return _bounds(self.positions)


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles (m, 3): indices, counter-clockwise seen from outside, into vertices (n, 3) float32, world (x, y, z).

    normals: (n, 3) float32, unit length; if missing, they are computed from the triangles when the mesh is drawn.
    """

    vertices: Voxels
    triangles: Voxels
    normals: Voxels | None = None
    name: str = field(default_factory=_new_name)

    def __post_init__(self) -> None:
        vertices = _rows(self.vertices, "vertices")
        triangles = np.asarray(self.triangles)
        if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
            remedy = "Pass three integers for every triangle."
            raise InvalidInput(
                f"Invalid triangles of shape {triangles.shape} and type {triangles.dtype}.", remedy=remedy
            )
        if len(triangles) and not 0 <= int(triangles.min()) <= int(triangles.max()) < len(vertices):
            wrong = int(triangles.min()) if triangles.min() < 0 else int(triangles.max())
            remedy = f"Use vertex numbers from 0 to {len(vertices) - 1}."
            raise InvalidInput(f"A triangle refers to vertex {wrong}, but the mesh has {len(vertices)}.", remedy=remedy)
        if self.normals is not None and np.shape(self.normals) != vertices.shape:
            raise InvalidInput(
                f"The normals have shape {np.shape(self.normals)}.",
                remedy="Pass one normal (x, y, z) for every vertex.",
            )
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "triangles", triangles)
        _held[self.name] = self

    @property
    def bounds(self) -> Bounds:
        return _bounds(self.vertices)

    def without_gaps(self) -> "Mesh":
        """Without the triangles of which a corner is NaN or infinite: they would spoil the normals of their
        neighbours. All of them, where there are none such."""
        is_known = np.asarray(np.isfinite(self.vertices).all(axis=1))
        if is_known.all():
            return self
        known = np.where(is_known[:, None], self.vertices, 0)
        return Mesh(known, self.triangles[is_known[self.triangles].all(axis=1)], self.normals)

    def smooth_normals(self) -> Voxels:
        """Unit vectors (n, 3): its own normals, or at every vertex the mean of its triangles by their area."""
        if self.normals is not None:
            return np.asarray(self.normals, np.float32)
        a, b, c = (self.vertices[self.triangles[:, corner]] for corner in range(3))
        faces = np.cross(b - a, c - a).astype(np.float64)
        sums = np.empty((len(self.vertices), 3))
        corners = self.triangles.ravel()
        for axis in range(3):
            sums[:, axis] = np.bincount(corners, np.repeat(faces[:, axis], 3), len(self.vertices))
        return unit(sums)


def unit(vectors: Voxels) -> Voxels:
    """Scaled to length 1, as float32; zero stays zero."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Voxels = (vectors / np.where(length > 0, length, 1)).astype(np.float32)
    return scaled


_held: "WeakValueDictionary[str, Points | Mesh]" = WeakValueDictionary()
Kind = TypeVar("Kind", Points, Mesh)


def in_memory(name: str, kind: type[Kind]) -> Kind:
    """The Points or Mesh of that name, while the program that made it holds it."""
    found = _held.get(name)
    if not isinstance(found, kind):
        raise NotFound(f"{name} in this process")
    return found


def _rows(given: Voxels, what: str) -> Voxels:
    rows = np.ascontiguousarray(given, np.float32)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise InvalidInput(f"The {what} have shape {rows.shape}.", remedy="Pass shape (n, 3): x, y and z of each.")
    return rows


def _bounds(rows: Voxels) -> Bounds:
    finite = rows[np.isfinite(rows).all(axis=1)]
    if not len(finite):
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    (a, b, c), (d, e, f) = finite.min(axis=0).tolist(), finite.max(axis=0).tolist()
    return (a, b, c), (d, e, f)
