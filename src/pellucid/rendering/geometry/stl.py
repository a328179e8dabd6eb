"""STL: read as text or binary, written binary. It has no shared vertices: equal corners are made one.

Here: reading and writing it.
Not here: other formats, what is done with the mesh.
"""

from pathlib import Path
from typing import BinaryIO

import numpy as np

from pellucid.errors import InvalidInput, Truncated
from pellucid.formats.byte_sources import open_bytes
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.polygons import pieces, weld
from pellucid.rendering.geometry.shapes import Mesh

FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
HEADER = 84
MAX_TRIANGLES = 2**32 - 1


def read(path: Path) -> Mesh:
    with open_bytes(path) as file:
        content = file.read()
    # Binary files may begin with "solid" too: only their length shows it.
    if content[:5] == b"solid" and b"facet" in content[:1024] and _promised(content) != len(content):
        return Mesh(*weld(_text_corners(content)))
    if len(content) < HEADER or _promised(content) > len(content):
        raise Truncated(str(path), _promised(content), len(content))
    facets = np.frombuffer(content, FACET, int.from_bytes(content[80:84], "little"), HEADER)
    return Mesh(*weld(facets["corners"].reshape(-1, 3)))


def write(file: BinaryIO, vertices: Voxels, triangles: Voxels) -> None:
    if len(triangles) > MAX_TRIANGLES:
        raise InvalidInput(
            f"STL does not support {len(triangles):,} triangles.", remedy="Use a name that ends in .vtp."
        )
    file.write(b"binary STL".ljust(80) + len(triangles).to_bytes(4, "little"))
    for piece in pieces(triangles):
        facets = np.zeros(len(piece), FACET)
        facets["corners"] = vertices[piece]
        a, b, c = (facets["corners"][:, corner].astype(np.float64) for corner in range(3))
        normals = np.cross(b - a, c - a)
        facets["normal"] = normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
        file.write(facets.tobytes())


def _promised(content: bytes) -> int:
    return HEADER + int.from_bytes(content[80:HEADER], "little") * FACET.itemsize


def _text_corners(content: bytes) -> Voxels:
    words = [line.split() for line in content.splitlines()]
    corners = [[float(number) for number in line[1:4]] for line in words if line[:1] == [b"vertex"]]
    if len(corners) % 3 or b"endsolid" not in content:
        raise InvalidInput("The file is truncated.", remedy="Copy it again.")
    return np.array(corners, np.float32).reshape(-1, 3)
