"""PLY: read as text or binary, written binary.

Here: the header, elements with scalars and with one list per row.
Not here: other formats, what is done with the mesh.
"""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from pellucid.errors import Corrupted, InvalidInput, Truncated
from pellucid.formats.byte_sources import open_bytes
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.polygons import fans, pieces
from pellucid.rendering.geometry.shapes import Mesh

TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4",
    "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
    "float32": "f4", "float64": "f8",
}  # fmt: skip
ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
MAX_HEADER = 2**16
MAX_VERTICES = 2**32


@dataclass(frozen=True)
class Element:
    """Rows of one kind. scalars: (name, type); a list property has its count's and its items' type."""

    name: str
    count: int
    scalars: tuple[tuple[str, str], ...]
    lists: tuple[tuple[str, str, str], ...]


def read(path: Path) -> Mesh:
    with open_bytes(path) as file:
        order, elements = _header(path, file)
        rest = file.read()
    read_element = _TextRows(path, rest).read if order == "" else _BinaryRows(path, rest, order).read
    vertices = corners = counts = None
    for element in elements:
        scalars, corner_rows, corner_counts = read_element(element)
        if element.name == "vertex":
            vertices = np.stack([scalars[axis] for axis in "xyz"], axis=1).astype(np.float32)
        elif element.name == "face":
            corners, counts = corner_rows, corner_counts
        if vertices is not None and corners is not None:
            break
    if vertices is None or corners is None or counts is None:
        raise InvalidInput("The file has no vertices or no faces.", remedy="Export a mesh.")
    return Mesh(vertices, fans(corners.astype(np.int64), counts))


def write(file: BinaryIO, vertices: Voxels, triangles: Voxels) -> None:
    """Binary, little-endian; indices are unsigned 32-bit where they need to be."""
    if len(vertices) > MAX_VERTICES:
        raise InvalidInput(f"PLY does not support {len(vertices):,} vertices.", remedy="Use a name that ends in .vtp.")
    name, index = ("int", "<i4") if len(vertices) <= 2**31 else ("uint", "<u4")
    header = (
        "ply\nformat binary_little_endian 1.0\n"
        f"element vertex {len(vertices)}\nproperty float x\nproperty float y\nproperty float z\n"
        f"element face {len(triangles)}\nproperty list uchar {name} vertex_indices\nend_header\n"
    )
    file.write(header.encode())
    for piece in pieces(vertices):
        file.write(np.ascontiguousarray(piece, "<f4").tobytes())
    for piece in pieces(triangles):
        rows = np.empty(len(piece), np.dtype([("count", "u1"), ("corners", index, 3)]))
        rows["count"], rows["corners"] = 3, piece
        file.write(rows.tobytes())


def _header(path: Path, file: IO[bytes]) -> tuple[str, list[Element]]:
    if file.readline(16).strip() != b"ply":
        raise InvalidInput("The file does not begin with 'ply'.", remedy="Choose another file.")
    words: list[list[str]] = []
    while (line := file.readline(MAX_HEADER).decode("ascii", "replace").split()) != ["end_header"]:
        if not line and file.tell() >= path.stat().st_size:
            raise Corrupted(str(path), "its header has no end")
        if file.tell() > MAX_HEADER:
            raise Corrupted(str(path), "its header is too long")
        words.append(line)
    order = next((ORDERS[line[1]] for line in words if line[:1] == ["format"]), None)
    if order is None:
        raise InvalidInput("The header of the file has no format line.", remedy="Export the mesh again.")
    return order, _elements(words)


def _elements(words: list[list[str]]) -> list[Element]:
    found: list[tuple[str, int, list[tuple[str, str]], list[tuple[str, str, str]]]] = []
    for line in words:
        match line:
            case ["element", name, count] if count.isdecimal():
                found.append((name, int(count), [], []))
            case ["property", "list", *_] if found and found[-1][2]:
                raise InvalidInput(
                    "The file has other properties before the vertices of a face.", remedy="Export it without them."
                )
            case ["property", "list", count, item, name] if found:
                found[-1][3].append((name, TYPES[count], TYPES[item]))
            case ["property", kind, name] if found:
                found[-1][2].append((name, TYPES[kind]))
    return [Element(name, count, tuple(scalars), tuple(lists)) for name, count, scalars, lists in found]


Rows = tuple[Any, Voxels | None, Voxels | None]


class _BinaryRows:
    """Elements one after the other, of which most have rows of one size: read at once. Others are read row by row."""

    def __init__(self, path: Path, content: bytes, order: str) -> None:
        self._path, self._content, self._order, self._at = path, content, order, 0

    def read(self, element: Element) -> Rows:
        if not element.lists:
            return self._take(self._dtype(element, ()), element.count), None, None
        first = self._peek(element)
        dtype = self._dtype(element, (first,))
        fits = self._at + element.count * dtype.itemsize <= len(self._content)
        rows = np.frombuffer(self._content, dtype, element.count if fits else 0, self._at)
        if fits and len(element.lists) == 1 and bool((rows["count"] == first).all()):
            self._at += rows.nbytes
            return rows, rows["items"].ravel(), np.full(element.count, first)
        return self._read_uneven(element)

    def _read_uneven(self, element: Element) -> Rows:
        fixed = self._dtype(element, ()).itemsize
        items: list[Voxels] = []
        for _ in range(element.count):
            for position, (_, count_type, item_type) in enumerate(element.lists):
                count = int(self._take(np.dtype(self._order + count_type), 1)[0])
                row = self._take(np.dtype(self._order + item_type), count)
                if position == 0:
                    items.append(row)
            self._take(np.dtype("u1"), fixed)
        return {}, np.concatenate(items) if items else np.empty(0, np.int64), np.array([len(row) for row in items])

    def _peek(self, element: Element) -> int:
        """How many items the first list has."""
        if not element.count:
            return 0
        before = self._at
        count = int(self._take(np.dtype(self._order + element.lists[0][1]), 1)[0])
        self._at = before
        return count

    def _dtype(self, element: Element, list_lengths: tuple[int, ...]) -> np.dtype[Any]:
        lists: list[Any] = []
        for length in list_lengths:
            _, count_type, item_type = element.lists[0]
            lists = [("count", self._order + count_type), ("items", self._order + item_type, (length,))]
        return np.dtype([*lists, *((name, self._order + kind) for name, kind in element.scalars)])

    def _take(self, dtype: np.dtype[Any], count: int) -> Voxels:
        needs = self._at + dtype.itemsize * count
        if needs > len(self._content):
            raise Truncated(str(self._path), needs, len(self._content))
        if not dtype.itemsize or not count:
            return np.zeros(0, dtype)
        rows = np.frombuffer(self._content, dtype, count, self._at)
        self._at = needs
        return rows


class _TextRows:
    """Elements as lines of numbers."""

    def __init__(self, path: Path, content: bytes) -> None:
        self._path, self._lines = path, BytesIO(content)

    def read(self, element: Element) -> Rows:
        lines = [self._lines.readline().split() for _ in range(min(element.count, len(self._lines.getbuffer())))]
        if len(lines) < element.count or (lines and not lines[-1]):
            raise Corrupted(str(self._path), f"it has fewer than {element.count:,} lines of {element.name}")
        if not element.lists:
            table = np.array(lines, np.float64).reshape(element.count, len(element.scalars))
            return {name: table[:, column] for column, (name, _) in enumerate(element.scalars)}, None, None
        counts = np.array([int(line[0]) for line in lines], np.int64)
        if any(len(line) <= count for line, count in zip(lines, counts, strict=True)):
            raise Corrupted(str(self._path), "a face has fewer vertices than declared")
        corners = [line[1 : 1 + count] for line, count in zip(lines, counts, strict=True)]
        return {}, np.array([int(corner) for row in corners for corner in row], np.int64), counts
