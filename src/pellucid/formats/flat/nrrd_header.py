"""The header of a NRRD file, as text and as numbers.

Here: parsing it, the meaning of its axes, printing one for a volume.
Not here: voxels and files (nrrd).
"""

import math
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pellucid.errors import Corrupted, UnsupportedType, WrongDimensions
from pellucid.formats.axis_guess import refuse_empty_axes, unnamed_letters
from pellucid.formats.flat.placement import Placement, place
from pellucid.formats.orientation import Orientation, from_along_axes
from pellucid.formats.protocol import Layout, Level, Spacing
from pellucid.formats.text_options import numbered_names
from pellucid.formats.units import short_unit

# The name that is written comes first; the others are synonyms.
_SPELLINGS = {
    "uint8": "uint8, uchar, unsigned char, uint8_t",
    "int8": "int8, signed char, int8_t",
    "uint16": "uint16, ushort, unsigned short, unsigned short int, uint16_t",
    "int16": "int16, short, short int, signed short, signed short int, int16_t",
    "uint32": "uint32, uint, unsigned int, uint32_t",
    "int32": "int32, int, signed int, int32_t",
    "uint64": "uint64, ulonglong, unsigned long long, unsigned long long int, uint64_t",
    "int64": "int64, longlong, long long, long long int, signed long long, signed long long int, int64_t",
    "float32": "float",
    "float64": "double",
}
TYPE_NAMES = {dtype: names.split(", ")[0] for dtype, names in _SPELLINGS.items()}
_DTYPES = {name: dtype for dtype, names in _SPELLINGS.items() for name in names.split(", ")}

_SPACES = {
    "right-anterior-superior": (1, 1, 1), "ras": (1, 1, 1),
    "left-anterior-superior": (-1, 1, 1), "las": (-1, 1, 1),
    "left-posterior-superior": (-1, -1, 1), "lps": (-1, -1, 1),
    "scanner-xyz": (1, 1, 1), "3d-right-handed": (1, 1, 1), "3d-left-handed": (1, -1, 1),
}  # fmt: skip
"""Named spaces, and which of their axes run against ours."""
_NOT_ANATOMICAL = ("scanner-xyz", "3d-right-handed", "3d-left-handed")
_TIME_WORDS = ("time", "t")
_SPACE_KINDS = ("domain", "space")
_UNKNOWN_KINDS = ("", "???", "none")


@dataclass(frozen=True)
class NrrdHeader:
    """What the header says. sizes and everything per axis: fastest axis first, as in the file.

    end: where the bytes after the header begin. data_files: names of a detached header's files.
    """

    path: Path
    fields: dict[str, str]
    sizes: tuple[int, ...]
    dtype: np.dtype[Any]
    data_files: tuple[str, ...]
    end: int

    @property
    def encoding(self) -> str:
        return self.fields.get("encoding", "raw").lower()

    @property
    def line_skip(self) -> int:
        return self._whole("lineskip")

    @property
    def byte_skip(self) -> int:
        return self._whole("byteskip")

    def _whole(self, name: str) -> int:
        try:
            return int(self.fields.get(name, "0"))
        except ValueError:
            raise Corrupted(str(self.path), f"its header has no whole number for {name}") from None

    def placement(self) -> tuple[Placement, int, int]:
        return place(self.axes()[::-1], self.sizes[::-1], self.dtype)

    def axes(self) -> str:
        """A letter for every axis, fastest first."""
        guess = unnamed_letters(str(self.path), self.sizes[::-1])[::-1]
        letters = [self._named(axis) for axis in range(len(self.sizes))]
        inside = [axis for axis, letter in enumerate(letters) if letter == "s"]
        if len(inside) != 3:  # the axes about which nothing is said are space, if there are three of them
            inside = [axis for axis, letter in enumerate(letters) if letter in ("", "s")]
        if len(inside) != 3 or len(letters) == 3:
            return guess
        for axis, letter in zip(inside, "xyz", strict=True):
            letters[axis] = letter
        if "" in letters:
            letters[letters.index("")] = "c" if "t" in letters else "t"
        if len(set(letters)) < len(letters):
            raise WrongDimensions(str(self.path), self.sizes[::-1])
        return "".join(letters)

    def _named(self, axis: int) -> str:
        """What the header says of an axis: t, c, s for one of space, or nothing."""
        count = len(self.sizes)
        kind, label = (self._per_axis(name, count)[axis].lower() for name in ("kinds", "labels"))
        if kind in _TIME_WORDS or label in _TIME_WORDS:
            return "t"
        if kind in _SPACE_KINDS:
            return "s"
        return "" if kind in _UNKNOWN_KINDS else "c"

    def spacing(self) -> Spacing:
        axes = self.axes()
        steps = self._directions() or [_step(word) for word in self._per_axis("spacings", len(axes))]
        z, y, x = (abs(steps[axes.index(letter)]) for letter in "zyx")
        return (z, y, x)

    def unit(self) -> str:
        spaces = _quoted(self.fields.get("spaceunits", ""))
        units = self._per_axis("units", len(self.sizes))
        return short_unit(spaces[0] if spaces else units[self.axes().index("x")])

    def orientation(self) -> Orientation | None:
        """The directions and the origin, where the space that they are in is named; else the place along each axis."""
        space = self.fields.get("space", "").lower().removesuffix("-time")
        vectors, axes = self._vectors(), self.axes()
        if not space and not vectors:
            return from_along_axes(self._axis_mins())
        if space not in _SPACES or not vectors:
            return None
        origin = _vector(self.fields.get("spaceorigin", "")) or [0.0, 0.0, 0.0]
        steps = [*(vectors[axes.index(letter)] for letter in "xyz"), origin]
        if any(len(step) != 3 for step in steps):
            return None
        affine = (np.array(steps) * _SPACES[space]).T
        return Orientation.from_affine(affine, is_anatomical=space not in _NOT_ANATOMICAL)

    def _axis_mins(self) -> Spacing:
        """The centre of the first voxel along (z, y, x). Where voxels are called cells, the header states an edge."""
        axes = self.axes()
        centers_name = "centers" if "centers" in self.fields else "centerings"  # Two names of one field.
        mins, centers = (self._per_axis(name, len(axes)) for name in ("axismins", centers_name))
        places = []
        for letter, step in zip("zyx", self.spacing(), strict=True):
            at = axes.index(letter)
            is_edge = mins[at] != "" and centers[at].lower() == "cell"
            places.append(_number(mins[at]) + (step / 2 if is_edge else 0.0))
        z, y, x = places
        return (z, y, x)

    def _directions(self) -> list[float]:
        """The length of every axis's direction vector; 1 for an axis outside space."""
        return [math.hypot(*vector) if vector else 1.0 for vector in self._vectors()]

    def _vectors(self) -> list[list[float]]:
        """Every axis's direction vector, empty for an axis outside space; nothing where not every axis has a word."""
        words = re.findall(r"none|\([^)]*\)", self.fields.get("spacedirections", ""))
        return [_vector(word) for word in words] if len(words) == len(self.sizes) else []

    def _per_axis(self, name: str, count: int) -> list[str]:
        words = _quoted(self.fields.get(name, ""))
        return words if len(words) == count else [""] * count


def parse_header(path: Path, head: bytes) -> NrrdHeader:
    """Read the header at the beginning of a file."""
    if not head.startswith(b"NRRD"):
        raise Corrupted(str(path), "it does not begin with NRRD")
    fields, files, end = _lines(head)
    try:
        sizes = tuple(int(size) for size in fields["sizes"].split())
        kind = fields["type"].lower()
    except (KeyError, ValueError):
        raise Corrupted(str(path), "its header lacks the type or the sizes") from None
    if kind not in _DTYPES:
        raise UnsupportedType(str(path), kind, TYPE_NAMES)
    unnamed_letters(str(path), sizes[::-1])
    refuse_empty_axes(str(path), sizes[::-1])
    order: Literal["<", ">"] = ">" if fields.get("endian", "little").lower() == "big" else "<"
    return NrrdHeader(path, fields, sizes, np.dtype(_DTYPES[kind]).newbyteorder(order), files, end)


def print_header(level: Level, layout: Layout, encoding: str, data_file: str = "") -> bytes:
    """The header of a volume."""
    lines = [
        "NRRD0004",
        f"type: {TYPE_NAMES[layout.dtype.newbyteorder('=').name]}",
        "dimension: 3",
        f"sizes: {' '.join(str(length) for length in reversed(level.shape))}",
        *(_placed(level, layout) if layout.orientation else _measured(level, layout)),
        "kinds: domain domain domain",
        "endian: little",
        f"encoding: {encoding}",
        *([f"data file: {data_file}"] if data_file else []),
    ]
    return ("\n".join(lines) + "\n\n").encode()


def _measured(level: Level, layout: Layout) -> list[str]:
    """Spacing and unit of a volume of which nothing else is known."""
    unit = f'"{layout.unit}"'
    spacings = f"spacings: {' '.join(repr(float(step)) for step in reversed(level.spacing))}"
    return [spacings, *([f"units: {unit} {unit} {unit}"] if layout.unit else [])]


def _placed(level: Level, layout: Layout) -> list[str]:
    """Directions, whose lengths are the spacing, and origin; a file that has them has no spacings."""
    assert layout.orientation is not None  # noqa: S101 - asked only where there is one
    affine = layout.orientation.affine(level.spacing)
    directions = " ".join(_printed(column) for column in affine.T[:3])
    unit = f'"{layout.unit}"'
    return [
        f"space: {'right-anterior-superior' if layout.orientation.is_anatomical else '3D-right-handed'}",
        f"space directions: {directions}",
        f"space origin: {_printed(affine[:, 3])}",
        *([f"space units: {unit} {unit} {unit}"] if layout.unit else []),
    ]


def _printed(vector: Any) -> str:
    return f"({','.join(repr(float(number)) for number in vector)})"


def _vector(word: str) -> list[float]:
    """The numbers between brackets; none where there are no brackets, or no numbers."""
    try:
        return [float(number) for number in word.strip("()").split(",")] if word.startswith("(") else []
    except ValueError:
        return []


def _lines(head: bytes) -> tuple[dict[str, str], tuple[str, ...], int]:
    """Fields by name without blanks, the listed files, and the position after the empty line."""
    fields: dict[str, str] = {}
    position, files, is_list = 0, [], False
    while position < len(head):
        end = head.find(b"\n", position)
        end = len(head) if end < 0 else end
        line = head[position:end].decode("latin-1").rstrip("\r")
        position = end + 1
        if is_list and line:
            files.append(line.strip())
        elif not line:
            break
        elif not line.startswith("#") and ": " in line:
            name, _, value = line.partition(": ")
            fields[name.replace(" ", "").lower()] = value.strip()
            is_list = name in ("data file", "datafile") and value.startswith("LIST")
    return fields, tuple(files) or _named_files(fields.get("datafile", "")), min(position, len(head))


def _named_files(text: str) -> tuple[str, ...]:
    """One name, or a pattern with its first number, last number and step."""
    return numbered_names(text) if "%" in text else (text,) if text else ()


def _quoted(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _step(word: str) -> float:
    """A distance, 1 where the header has none, and nan where it has something else."""
    try:
        return float(word) if word else 1.0
    except ValueError:
        return math.nan


def _number(word: str) -> float:
    """A number, or 0 where the header has none (an empty word, nan)."""
    try:
        number = float(word)
    except ValueError:
        return 0.0
    return 0.0 if math.isnan(number) else number
