"""VTP, VTK's XML files of polygons, as ParaView writes and reads them.

Here: reading (text, base64 or raw, compressed by zlib or lzma or not), writing (raw, 64-bit indices).
Not here: other formats, what is done with the mesh.
"""

import base64
import lzma
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree

import numpy as np

from pellucid.errors import Corrupted, InvalidInput, Truncated, UnknownCodec
from pellucid.formats.byte_sources import open_bytes
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.polygons import fans, pieces
from pellucid.rendering.geometry.shapes import Mesh

TYPES = {
    "Int8": "i1", "UInt8": "u1", "Int16": "i2", "UInt16": "u2", "Int32": "i4", "UInt32": "u4", "Int64": "i8",
    "UInt64": "u8", "Float32": "f4", "Float64": "f8",
}  # fmt: skip


def _unzip(packed: bytes, limit: int) -> bytes:
    return zlib.decompressobj().decompress(packed, limit)


def _unlzma(packed: bytes, limit: int) -> bytes:
    return lzma.LZMADecompressor().decompress(packed, limit)


# From packed bytes, and how many there are at most when they are unpacked.
CODECS: dict[str, Callable[[bytes, int], bytes]] = {"vtkZLibDataCompressor": _unzip, "vtkLZMADataCompressor": _unlzma}
OFFSETS_AT_ONCE = 2**20


def read(path: Path) -> Mesh:
    file = _open(path)
    piece = file.root.find("./PolyData/Piece")
    if piece is None:
        raise InvalidInput("The file has no PolyData with a Piece.", remedy="Export a mesh, not another kind of data.")
    points, polygons = piece.find("./Points/DataArray"), piece.find("./Polys")
    if points is None or polygons is None:
        raise InvalidInput("The file has no points or no polygons.", remedy="Export a mesh.")
    arrays = {array.get("Name"): file.array(array) for array in polygons.findall("DataArray")}
    offsets = arrays["offsets"].astype(np.int64)
    counts = np.diff(offsets, prepend=0)
    if len(counts) and (counts.min() < 0 or offsets[-1] > len(arrays["connectivity"])):
        raise Corrupted(str(path), "its polygons have other vertices than declared")
    vertices = file.array(points).reshape(-1, 3).astype(np.float32)
    return Mesh(vertices, fans(arrays["connectivity"].astype(np.int64), counts))


@dataclass(frozen=True)
class _File:
    """The XML, and the raw or base64 bytes behind it."""

    path: Path
    root: ElementTree.Element
    appended: bytes
    is_base64: bool

    def array(self, element: ElementTree.Element) -> Voxels:
        dtype = np.dtype(self._order + TYPES[element.get("type", "")])
        match element.get("format", "ascii"):
            case "ascii":
                return np.array((element.text or "").split(), dtype)
            case "binary":
                content = self._unpacked(re.sub(rb"\s", b"", (element.text or "").encode()), is_base64=True)
            case _:
                start = int(element.get("offset", 0))
                content = self._unpacked(self.appended[start:], is_base64=self.is_base64)
        return np.frombuffer(content, dtype)

    @property
    def _order(self) -> str:
        return ">" if self.root.get("byte_order") == "BigEndian" else "<"

    def _unpacked(self, content: bytes, *, is_base64: bool) -> bytes:
        header = np.dtype(self._order + TYPES[self.root.get("header_type", "UInt32")])
        codec = self.root.get("compressor", "")
        reads = _Base64(self.path, content) if is_base64 else _Raw(self.path, content)
        if not codec:
            return reads.take_with_header(header)
        if codec not in CODECS:
            raise UnknownCodec(str(self.path), codec, CODECS)
        (blocks,) = np.frombuffer(reads.peek(header.itemsize), header).tolist()
        _, block, _, *sizes = np.frombuffer(reads.take((3 + blocks) * header.itemsize), header).tolist()
        packed, start, parts = reads.take(sum(sizes)), 0, []
        for size in sizes:
            parts.append(CODECS[codec](packed[start : start + size], max(1, block)))
            start += size
        return b"".join(parts)


class _Raw:
    """Bytes as they are."""

    def __init__(self, path: Path, content: bytes) -> None:
        self._path, self._content, self._at = path, content, 0

    def peek(self, count: int) -> bytes:
        if self._at + count > len(self._content):
            raise Truncated(str(self._path), self._at + count, len(self._content))
        return self._content[self._at : self._at + count]

    def take(self, count: int) -> bytes:
        taken = self.peek(count)
        self._at += len(taken)
        return taken

    def take_with_header(self, header: "np.dtype[np.generic]") -> bytes:
        """The bytes whose number stands in front of them."""
        (size,) = np.frombuffer(self.take(header.itemsize), header).tolist()
        return self.take(size)


class _Base64(_Raw):
    """Bytes of which every piece was made base64 by itself."""

    def peek(self, count: int) -> bytes:
        return base64.b64decode(super().peek(-(-count // 3) * 4))[:count]

    def take(self, count: int) -> bytes:
        taken = self.peek(count)
        self._at += -(-count // 3) * 4
        return taken

    def take_with_header(self, header: "np.dtype[np.generic]") -> bytes:
        # Without compression, header and bytes are one piece.
        (size,) = np.frombuffer(self.peek(header.itemsize), header).tolist()
        return self.take(header.itemsize + size)[header.itemsize :]


def _open(path: Path) -> _File:
    with open_bytes(path) as file:
        content = file.read()
    if b"<VTKFile" not in content[:4096] or b"<!ENTITY" in content[:4096]:
        raise InvalidInput("The file is not a VTK file.", remedy="Choose another file.")
    found = re.search(rb'<AppendedData\s+encoding="(\w+)"\s*>\s*_', content)
    xml, appended, encoding = content, b"", b""
    if found:
        appended, encoding = content[found.end() :], found[1]
        xml = content[: found.start()] + b"</VTKFile>"
    try:
        return _File(path, ElementTree.fromstring(xml), appended, encoding == b"base64")
    except ElementTree.ParseError as error:
        raise Corrupted(str(path), f"its XML is invalid ({error})") from error


def write(file: BinaryIO, vertices: Voxels, triangles: Voxels) -> None:
    """Appended raw arrays behind a short XML: points, corners and ends of the triangles."""
    sizes = (len(vertices) * 12, len(triangles) * 24, len(triangles) * 8)
    starts = (0, 8 + sizes[0], 16 + sizes[0] + sizes[1])
    file.write(_xml(len(vertices), len(triangles), starts).encode())
    for size, array, dtype in ((sizes[0], vertices, "<f4"), (sizes[1], triangles, "<i8")):
        file.write(size.to_bytes(8, "little"))
        for piece in pieces(array):
            file.write(np.ascontiguousarray(piece, dtype).tobytes())
    file.write(sizes[2].to_bytes(8, "little"))
    for start in range(0, len(triangles), OFFSETS_AT_ONCE):
        stop = min(start + OFFSETS_AT_ONCE, len(triangles))
        file.write((3 * np.arange(start + 1, stop + 1, dtype="<i8")).tobytes())
    file.write(b"\n</AppendedData>\n</VTKFile>\n")


def _xml(vertices: int, triangles: int, starts: tuple[int, int, int]) -> str:
    def array(kind: str, name: str, components: int, offset: int) -> str:
        shape = f'type="{kind}" Name="{name}" NumberOfComponents="{components}"'
        return f'<DataArray {shape} format="appended" offset="{offset}"/>\n'

    return (
        '<?xml version="1.0"?>\n'
        '<VTKFile type="PolyData" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n<PolyData>\n'
        f'<Piece NumberOfPoints="{vertices}" NumberOfPolys="{triangles}">\n'
        f"<Points>\n{array('Float32', 'Points', 3, starts[0])}</Points>\n"
        f"<Polys>\n{array('Int64', 'connectivity', 1, starts[1])}{array('Int64', 'offsets', 1, starts[2])}</Polys>\n"
        '</Piece>\n</PolyData>\n<AppendedData encoding="raw">\n_'
    )
