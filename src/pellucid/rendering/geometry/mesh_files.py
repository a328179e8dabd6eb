"""Meshes in files: reading and writing PLY, OBJ, STL and VTP.

Here: load_mesh, write_arrays, and the table of formats.
Not here: the formats themselves (ply, obj, stl, vtp), meshes in memory (geometry).

Every format is a module with read(path) and write(file, vertices, triangles). Arrays may be mapped from a disk: they
are gone through in pieces, and nothing counts indices in 32 bits.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import cast

from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.local_files import written_whole
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.point_files import checked_file
from pellucid.rendering.geometry.shapes import MEMORY, Mesh, in_memory

MESH_FILES = {
    ".ply": "pellucid.rendering.geometry.ply",
    ".obj": "pellucid.rendering.geometry.obj",
    ".stl": "pellucid.rendering.geometry.stl",
    ".vtp": "pellucid.rendering.geometry.vtp",
}


def load_mesh(source: str) -> Mesh:
    """A mesh by name: a file, or ``memory:...`` for a Mesh of this process."""
    if source.startswith(MEMORY):
        return in_memory(source, Mesh)
    path = checked_file(source)
    read = cast(Callable[[Path], Mesh], import_module(format_of(path)).read)
    try:
        mesh = read(path)
    except InvalidInput as error:
        raise InvalidInput(
            f"{path} does not contain a mesh: {error.what}", remedy="Export it again with another program."
        ) from error
    except PellucidError:
        raise
    except (ValueError, KeyError, IndexError, OverflowError) as error:
        remedy = "Check that the content matches the file name."
        raise InvalidInput(f"{path} does not contain a mesh: {error}.", remedy=remedy) from error
    if not len(mesh.triangles):
        raise InvalidInput(f"{path} contains no triangles.", remedy="Export a surface, and copy the whole file.")
    return mesh


def write_arrays(path: Path, vertices: Voxels, triangles: Voxels) -> None:
    """Write vertices (n, 3) and triangles (m, 3), which may be memory maps, in one step. The name's end says how."""
    module = import_module(format_of(path))
    with written_whole(path) as file:
        module.write(file, vertices, triangles)


def format_of(path: Path) -> str:
    """The module that reads and writes a file of that name."""
    module = MESH_FILES.get(path.suffix.lower())
    if module is None:
        remedy = f"Use a name that ends in {', '.join(MESH_FILES)}."
        raise InvalidInput(f"{path} is not a valid mesh file name.", remedy=remedy)
    return module
