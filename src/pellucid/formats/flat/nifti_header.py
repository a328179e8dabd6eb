"""The header of a NIfTI file, version 1 and 2.

Here: its fields, their meaning for a volume, printing one.
Not here: voxels and files (nifti).
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pellucid.errors import Corrupted, Truncated, UnsupportedType, WrongDimensions
from pellucid.formats.axis_guess import refuse_empty_axes
from pellucid.formats.flat.placement import Placement, place
from pellucid.formats.orientation import Orientation
from pellucid.formats.protocol import Layout, Level, Spacing
from pellucid.formats.units import METRES

_FIRST = np.dtype([
    ("sizeof_hdr", "i4"), ("unused_analyze", "S35"), ("dim_info", "u1"), ("dim", "i2", 8), ("intent_p", "f4", 3),
    ("intent_code", "i2"), ("datatype", "i2"), ("bitpix", "i2"), ("slice_start", "i2"), ("pixdim", "f4", 8),
    ("vox_offset", "f4"), ("scl_slope", "f4"), ("scl_inter", "f4"), ("slice_end", "i2"), ("slice_code", "u1"),
    ("xyzt_units", "u1"), ("cal_max", "f4"), ("cal_min", "f4"), ("slice_duration", "f4"), ("toffset", "f4"),
    ("gl", "i4", 2), ("descrip", "S80"), ("aux_file", "S24"), ("qform_code", "i2"), ("sform_code", "i2"),
    ("quatern", "f4", 3), ("qoffset", "f4", 3), ("srow", "f4", (3, 4)), ("intent_name", "S16"), ("magic", "S4"),
])  # fmt: skip
_SECOND = np.dtype([
    ("sizeof_hdr", "i4"), ("magic", "S8"), ("datatype", "i2"), ("bitpix", "i2"), ("dim", "i8", 8),
    ("intent_p", "f8", 3), ("pixdim", "f8", 8), ("vox_offset", "i8"), ("scl_slope", "f8"), ("scl_inter", "f8"),
    ("cal_max", "f8"), ("cal_min", "f8"), ("slice_duration", "f8"), ("toffset", "f8"), ("slice_start", "i8"),
    ("slice_end", "i8"), ("descrip", "S80"), ("aux_file", "S24"), ("qform_code", "i4"), ("sform_code", "i4"),
    ("quatern", "f8", 3), ("qoffset", "f8", 3), ("srow", "f8", (3, 4)), ("slice_code", "i4"), ("xyzt_units", "i4"),
    ("intent_code", "i4"), ("intent_name", "S16"), ("dim_info", "u1"), ("unused", "S15"),
])  # fmt: skip

Order = Literal["<", ">"]
_ORDERS: tuple[Order, Order] = ("<", ">")

HEAD_BYTES = 544
MAX_FIRST_AXIS = 32767

CODES = {
    "uint8": 2, "int16": 4, "int32": 8, "float32": 16, "float64": 64, "int8": 256, "uint16": 512, "uint32": 768,
    "int64": 1024, "uint64": 1280,
}  # fmt: skip
_DTYPES = {code: name for name, code in CODES.items()}
_COMPLEX = {32: "complex64, NIfTI code 32", 1792: "complex128, NIfTI code 1792", 2048: "complex256, NIfTI code 2048"}
_RGB = {128: 3, 2304: 4}
_UNITS = {1: "m", 2: "mm", 3: "um"}


@dataclass(frozen=True)
class NiftiHeader:
    """What the header says of the volume. fields: all of it, in native byte order."""

    path: Path
    fields: Any
    order: Order

    @property
    def is_pair(self) -> bool:
        """Whether the voxels are in an .img file beside the header."""
        return bytes(self.fields["magic"])[:2] == b"ni"

    @property
    def spacing(self) -> Spacing:
        # By way of text: the shortest number that is this float32, 0.3 and not 0.30000001192092896.
        x, y, z = (abs(float(str(step))) for step in self.fields["pixdim"][1:4])
        return (z, y, x)

    @property
    def orientation(self) -> Orientation | None:
        """The sform, else the qform, else nothing: codes of 0 say that a form is not meant."""
        found = None
        if int(self.fields["sform_code"]) > 0:
            found = Orientation.from_affine(self.fields["srow"], is_anatomical=True)
        if found is None and int(self.fields["qform_code"]) > 0:
            found = Orientation.from_affine(_quaternion_affine(self.fields), is_anatomical=True)
        return found

    @property
    def unit(self) -> str:
        return _UNITS.get(int(self.fields["xyzt_units"]) & 7, "")

    @property
    def slope(self) -> float:
        return float(self.fields["scl_slope"])

    @property
    def intercept(self) -> float:
        return float(self.fields["scl_inter"])

    @property
    def is_scaled(self) -> bool:
        """Whether the numbers stored are not the values meant. A slope of 0 says that they are."""
        is_usable = math.isfinite(self.slope) and math.isfinite(self.intercept) and self.slope != 0
        return is_usable and (self.slope, self.intercept) != (1.0, 0.0)

    def placement(self) -> tuple[Placement, int, int]:
        count = int(self.fields["dim"][0])
        sizes = [int(size) for size in self.fields["dim"][1 : count + 1]]
        if count < 3 or any(size > 1 for size in sizes[5:]):
            raise WrongDimensions(str(self.path), sizes[::-1])
        refuse_empty_axes(str(self.path), sizes[::-1])
        code = int(self.fields["datatype"])
        offset = float(self.fields["vox_offset"])
        if not 0 <= offset < 2**62:
            raise Corrupted(str(self.path), f"its voxel offset {offset} is invalid")
        axes, lengths = "ctzyx"[-min(count, 5) :], sizes[:5][::-1]
        if code in _RGB and "c" not in axes:
            return place(f"{axes}c", [*lengths, _RGB[code]], np.dtype(np.uint8), int(offset))
        if code not in _DTYPES:
            raise UnsupportedType(str(self.path), _COMPLEX.get(code, f"NIfTI code {code}"), CODES)
        return place(axes, lengths, np.dtype(_DTYPES[code]).newbyteorder(self.order), int(offset))


def _quaternion_affine(fields: Any) -> Any:
    """(3, 4) of the qform: a rotation by a quaternion whose first number is left out, with the last axis reversed where
    pixdim[0] is negative."""
    b, c, d = (float(number) for number in fields["quatern"])
    square = 1.0 - b * b - c * c - d * d
    a = math.sqrt(max(0.0, square))
    if square < 3 * np.finfo(fields["quatern"].dtype).eps:  # Rounding alone: half a turn.
        length = math.sqrt(1.0 - square)
        a, b, c, d = 0.0, b / length, c / length, d / length
    turned = np.array([
        [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - c * c - b * b],
    ])  # fmt: skip
    turned[:, 2] *= -1.0 if float(fields["pixdim"][0]) < 0 else 1.0
    return np.concatenate([turned, np.asarray(fields["qoffset"], float)[:, None]], axis=1)


def parse_header(path: Path, head: bytes) -> NiftiHeader:
    """Read the header at the beginning of a file; its size, in either byte order, determines version and order."""
    for layout in (_FIRST, _SECOND):
        for order in _ORDERS:
            if head[:4] == np.array(layout.itemsize, f"{order}i4").tobytes():
                if len(head) < layout.itemsize:
                    raise Truncated(str(path), layout.itemsize, len(head))
                fields = np.frombuffer(head, layout.newbyteorder(order), 1)[0]
                return _checked(NiftiHeader(path, fields, order))
    raise Corrupted(str(path), "it does not begin with the size of a NIfTI header")


def _checked(header: NiftiHeader) -> NiftiHeader:
    if not bytes(header.fields["magic"]).startswith((b"n+", b"ni")):
        raise Corrupted(str(header.path), "its header lacks the magic n+1, n+2 or ni1")
    return header


def print_header(level: Level, layout: Layout) -> bytes:
    """The header of a volume, with the four bytes that say "no extensions"; version 2 for axes beyond 32767."""
    kind = _SECOND if max(level.shape) > MAX_FIRST_AXIS else _FIRST
    fields = np.zeros((), kind.newbyteorder("<"))
    length = -(-(kind.itemsize + 4) // 16) * 16
    steps, unit_code, factor = _spacing_in_known_unit(level.spacing, layout.unit)
    fields["sizeof_hdr"] = kind.itemsize
    fields["magic"] = b"n+2\0\r\n\x1a\n" if kind is _SECOND else b"n+1\0"
    fields["dim"] = (3, *reversed(level.shape), 1, 1, 1, 1)
    fields["pixdim"] = (1.0, *reversed(steps), 1.0, 1.0, 1.0, 1.0)
    dtype = layout.dtype.newbyteorder("=")
    fields["datatype"], fields["bitpix"] = CODES[dtype.name], dtype.itemsize * 8
    fields["vox_offset"], fields["scl_slope"] = length, 1.0
    fields["xyzt_units"] = unit_code
    # What is assumed anyway is left out: the format's space is a patient's, and a sample in a laboratory is none.
    if layout.orientation not in (None, Orientation()):
        fields["sform_code"] = 1
        fields["srow"] = layout.orientation.scaled(factor).affine(steps)
    return fields.tobytes().ljust(length, b"\0")


def _spacing_in_known_unit(spacing: Spacing, unit: str) -> tuple[Spacing, int, float]:
    """NIfTI knows m, mm and um: other lengths are given in um; what is no length is left without a unit.

    With the unit's code, and the factor from the unit that was.
    """
    codes = {name: code for code, name in _UNITS.items()}
    if unit in codes or unit not in METRES:
        return spacing, codes.get(unit, 0), 1.0
    factor = METRES[unit] / METRES["um"]
    z, y, x = (step * factor for step in spacing)
    return (z, y, x), codes["um"], factor
