"""The header of a NetCDF 3 file: dimensions, attributes, variables.

Here: parsing the three classic kinds (CDF-1, CDF-2, CDF-5) and printing the header of one volume.
Not here: what the variables mean (netcdf), NetCDF 4 (hdf5).

Everything is big-endian. Counts have 8 bytes in CDF-5 and 4 before; positions have 4 bytes in CDF-1 and 8 after.
"""

import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pellucid.errors import Corrupted, Truncated
from pellucid.formats.byte_sources import existing_file, open_bytes, read_errors
from pellucid.formats.protocol import Layout, Level

# Type codes; those from 7 on exist in CDF-5 only.
TYPES = {
    "int8": 1, "int16": 3, "int32": 4, "float32": 5, "float64": 6, "uint8": 7, "uint16": 8, "uint32": 9, "int64": 10,
    "uint64": 11,
}  # fmt: skip
_TEXT = 2
_DTYPES = {code: np.dtype(name).newbyteorder(">") for name, code in TYPES.items()} | {_TEXT: np.dtype("S1")}
_DIMENSION, _VARIABLE, _ATTRIBUTE = 10, 11, 12
_MAX_SIZE = 2**32 - 1
_MAX_NAMED = 1 << 20
_MAX_DIMENSIONS = 1024


@dataclass(frozen=True)
class Dimension:
    """A named length; 0 stands for the number of records."""

    name: str
    length: int


@dataclass(frozen=True)
class Variable:
    """An array: dimensions by index, attributes, type in the file's byte order, position of the first value."""

    name: str
    dimensions: tuple[int, ...]
    attributes: dict[str, Any]
    dtype: np.dtype[Any]
    begin: int

    def text(self, name: str) -> str:
        value = self.attributes.get(name, "")
        return value if isinstance(value, str) else ""

    def number(self, name: str, default: float) -> float:
        value = self.attributes.get(name)
        return default if value is None or isinstance(value, str) or not len(value) else float(value[0])


@dataclass(frozen=True)
class Contents:
    """All that a header says."""

    dimensions: tuple[Dimension, ...]
    variables: tuple[Variable, ...]
    records: int

    def shape(self, variable: Variable) -> tuple[int, ...]:
        return tuple(self.dimensions[index].length or self.records for index in variable.dimensions)

    def strides(self, variable: Variable) -> tuple[int, ...]:
        """Byte distances along every dimension. Records of all variables alternate in the file."""
        shape = self.shape(variable)
        steps = [variable.dtype.itemsize * prod(shape[axis + 1 :]) for axis in range(len(shape))]
        if self.is_record(variable):
            steps[0] = self.record_bytes()
        return tuple(steps)

    def coordinate(self, name: str) -> Variable | None:
        """The one-dimensional variable named after a dimension."""
        found = (one for one in self.variables if one.name == name and len(one.dimensions) == 1)
        return next(found, None)

    def is_record(self, variable: Variable) -> bool:
        return bool(variable.dimensions) and self.dimensions[variable.dimensions[0]].length == 0

    def record_bytes(self) -> int:
        sizes = [one.dtype.itemsize * prod(self.shape(one)[1:]) for one in self.variables if self.is_record(one)]
        # Records are padded to four bytes, unless there is only one variable of them.
        return sizes[0] if len(sizes) == 1 else sum(-(-size // 4) * 4 for size in sizes)


class _Parser:
    """Takes the header apart, from its first byte on."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        magic = self._take(4)
        self.version = magic[3]
        if magic[:3] != b"CDF" or self.version not in (1, 2, 5):
            raise Corrupted(str(path), "it does not begin with CDF and a version")

    def count(self) -> int:
        return self._number(8 if self.version == 5 else 4)

    def dimensions(self) -> tuple[Dimension, ...]:
        return tuple(Dimension(self._name(), self.count()) for _ in range(self._listed(_DIMENSION)))

    def attributes(self) -> dict[str, Any]:
        return {self._name(): self._values() for _ in range(self._listed(_ATTRIBUTE))}

    def variables(self) -> tuple[Variable, ...]:
        return tuple(self._variable() for _ in range(self._listed(_VARIABLE)))

    def _variable(self) -> Variable:
        name = self._name()
        dimensions = tuple(self.count() for _ in range(self._bounded(self.count())))
        attributes = self.attributes()
        dtype = self._dtype()
        if attributes.get("_Unsigned") == "true" and dtype.kind == "i":
            dtype = np.dtype(dtype.str.replace("i", "u"))
        self.count()  # the size, which cannot be relied on beyond 4 GiB
        return Variable(name, dimensions, attributes, dtype, self._number(4 if self.version == 1 else 8))

    def _listed(self, tag: int) -> int:
        found, count = self._number(4), self.count()
        if (found, count) != (0, 0) and (found != tag or count > _MAX_NAMED):
            raise Corrupted(str(self._path), "its header contains an invalid list")
        return count

    def _bounded(self, count: int) -> int:
        if count > _MAX_DIMENSIONS:
            raise Corrupted(str(self._path), f"a variable has an invalid number of dimensions ({count:,})")
        return count

    def _name(self) -> str:
        return self._padded(self.count()).decode("utf-8", "replace")

    def _values(self) -> Any:
        dtype, count = self._dtype(), self.count()
        stored = self._padded(count * dtype.itemsize)
        if dtype.kind == "S":
            return stored.decode("utf-8", "replace").rstrip("\0")
        return np.frombuffer(stored, dtype)

    def _dtype(self) -> np.dtype[Any]:
        code = self._number(4)
        if code not in _DTYPES:
            raise Corrupted(str(self._path), f"its header has the type code {code}")
        return _DTYPES[code]

    def _padded(self, length: int) -> bytes:
        if length > _MAX_NAMED:
            raise Corrupted(str(self._path), "its header has a name or value of invalid length")
        return self._take(-(-length // 4) * 4)[:length]

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big")

    def _take(self, size: int) -> bytes:
        taken = self._file.read(size)
        if len(taken) < size:
            raise Truncated(str(self._path), self._file.tell() - len(taken) + size, self._file.tell())
        return taken


def parse_header(path: Path) -> Contents:
    with read_errors(path), open_bytes(existing_file(path)) as file:
        parser = _Parser(path, file)
        records = parser.count()
        dimensions = parser.dimensions()
        parser.attributes()
        variables = parser.variables()
    if any(index >= len(dimensions) for one in variables for index in one.dimensions):
        raise Corrupted(str(path), "a variable uses a dimension that does not exist")
    return Contents(dimensions, variables, _known_records(path, Contents(dimensions, variables, 0), records))


def _known_records(path: Path, contents: Contents, records: int) -> int:
    """The number of records; one that was never filled in (all bits set) follows from the file's size."""
    if records not in (2**32 - 1, 2**64 - 1):
        return records
    begins = [one.begin for one in contents.variables if contents.is_record(one)]
    return (path.stat().st_size - min(begins)) // contents.record_bytes() if begins else 0


@dataclass(frozen=True)
class _Printer:
    """Puts a header together."""

    version: int

    def count(self, number: int) -> bytes:
        return struct.pack(">Q" if self.version == 5 else ">I", min(number, _MAX_SIZE) if self.version < 5 else number)

    def text(self, text: str) -> bytes:
        return self.count(len(text.encode())) + _pad(text.encode())

    def listed(self, tag: int, entries: list[bytes]) -> bytes:
        return struct.pack(">I", tag if entries else 0) + self.count(len(entries)) + b"".join(entries)

    def attributes(self, unit: str, step: float) -> bytes:
        entries = [self.text("spacing") + struct.pack(">I", TYPES["float64"]) + self.count(1) + struct.pack(">d", step)]
        if unit:
            entries.append(self.text("units") + struct.pack(">I", _TEXT) + self.text(unit))
        return self.listed(_ATTRIBUTE, entries)

    def variable(self, name: str, dimensions: list[int], attributes: bytes, code: int, place: tuple[int, int]) -> bytes:
        """place: how many bytes from which position on."""
        size, begin = place
        indices = self.count(len(dimensions)) + b"".join(self.count(index) for index in dimensions)
        kind = struct.pack(">I", code) + self.count(-(-size // 4) * 4) + struct.pack(">Q", begin)
        return self.text(name) + indices + attributes + kind


def print_header(name: str, level: Level, layout: Layout) -> bytes:
    """The header of one volume and the positions along its axes, which lie before the voxels."""
    code = TYPES[layout.dtype.newbyteorder("=").name]
    printer = _Printer(5 if code >= 7 else 2)
    positions = [np.arange(n) * step for n, step in zip(level.shape, level.spacing, strict=True)]
    sizes = [*(8 * len(one) for one in positions), prod(level.shape) * layout.dtype.itemsize]

    def printed(begin: int) -> bytes:
        begins = [begin + sum(sizes[:index]) for index in range(4)]
        axes = [
            printer.variable(axis, [i], printer.attributes(layout.unit, level.spacing[i]), 6, (sizes[i], begins[i]))
            for i, axis in enumerate("zyx")
        ]
        voxels = printer.variable(name, [0, 1, 2], printer.listed(_ATTRIBUTE, []), code, (sizes[3], begins[3]))
        lengths = [printer.text(axis) + printer.count(n) for axis, n in zip("zyx", level.shape, strict=True)]
        start = b"CDF" + bytes([printer.version]) + printer.count(0) + printer.listed(_DIMENSION, lengths)
        return start + printer.listed(_ATTRIBUTE, []) + printer.listed(_VARIABLE, [*axes, voxels])

    head = printed(len(printed(0)))
    return head + b"".join(one.astype(">f8").tobytes() for one in positions)


def _pad(content: bytes) -> bytes:
    return content.ljust(-(-len(content) // 4) * 4, b"\0")
