"""Wavefront OBJ: vertices and faces; materials, textures and lines are passed over.

Here: reading and writing it.
Not here: other formats, what is done with the mesh.
"""

from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.byte_sources import open_bytes
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.polygons import fans, pieces
from pellucid.rendering.geometry.shapes import Mesh


def read(path: Path) -> Mesh:
    vertices: list[list[float]] = []
    corners: list[int] = []
    counts: list[int] = []
    with TextIOWrapper(open_bytes(path), "utf-8", "replace") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if not words or words[0] not in ("v", "f"):
                continue
            if len(words) < 4:
                raise InvalidInput(f"Line {number} is truncated.", remedy="Copy the file again.")
            if words[0] == "v":
                vertices.append([float(word) for word in words[1:4]])
            else:
                counts.append(len(words) - 1)
                corners += [_index(word, len(vertices), number) for word in words[1:]]
    if not vertices:
        raise InvalidInput("The file has no vertices.", remedy="Export a mesh.")
    return Mesh(np.array(vertices, np.float32), fans(np.array(corners, np.int64), np.array(counts, np.int64)))


def write(file: BinaryIO, vertices: Voxels, triangles: Voxels) -> None:
    for piece in pieces(vertices):
        np.savetxt(file, piece, "v %.9g %.9g %.9g")
    for piece in pieces(triangles):
        np.savetxt(file, piece.astype(np.int64) + 1, "f %d %d %d")


def _index(word: str, known: int, line: int) -> int:
    """Counted from 1, or backwards from the latest vertex; what follows a slash is texture and normal."""
    index = int(word.partition("/")[0])
    if index == 0 or index < -known:
        raise InvalidInput(
            f"Line {line} refers to vertex {index}, which does not exist.", remedy="Number vertices from 1."
        )
    return index - 1 if index > 0 else known + index
