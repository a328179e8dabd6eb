"""The difference between a neural field and its volume, coded so that every voxel is within a bound.

Here: coding and reading residuals brick by brick, each by itself.
Not here: the field's own values (neural_volume), nor the choice of bounds.

Bricks are coded by SPERR, a wavelet coder with a point-wise bound, through HDF5's filter of that name. A brick whose
values the field already gives within the bound takes no bytes. Where most of a brick is noise, its voxels themselves
take fewer bytes than their difference to the field: such a brick replaces the field's values.
"""

import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import count
from math import floor, prod
from typing import Any

import h5py
import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.errors import Corrupted
from pellucid.formats.damage import naming_damage
from pellucid.formats.neural_field.container import FileSections
from pellucid.formats.neural_field.field import Floats
from pellucid.formats.neural_field.stored_volume import StoredResidual, step_prefix

PREFIX = "residual/"
# A stream of SPERR: what it begins with, sizes along x, y and z, the length of the rest; how the values are stored, how
# many there are where all are equal, and a number.
_STREAM = struct.Struct("<3s4IBQ8x")
_LENGTH_END = 19
_START, _VARYING, _CONSTANT = b"\0\0\x60", 0x80, 0x81
_PLAIN, _WAVELETS, _REPLACING = b"\0", b"\1", b"\2"
"""What a brick begins with: residuals as they are, residuals as wavelets, voxels as wavelets."""
_PART = struct.Struct("<BQ")  # bit planes, bits
MAX_CODED = 2.0**60
"""The wavelet coder crashes on values, or multiples of the bound, that do not fit into 64 bits."""

MAX_KEPT_BYTES = 256 << 20
"""Of decoded bricks."""

_file_numbers = count()


def brick_boxes(shape: Shape, brick: int) -> list[Box]:
    """The bricks of a volume."""
    return list(Box.whole(shape).tiles((brick, brick, brick)))


def section_name(box: Box, t: int = 0) -> str:
    """t: the step of a series."""
    return step_prefix(t) + PREFIX + ",".join(str(n) for n in box.start)


def coding_bound(bound: float, dtype: np.dtype[Any]) -> float:
    """The bound for values before they become voxels: whole numbers are rounded, which may add to an error.

    >>> coding_bound(2.0, np.dtype("uint8"))
    2.49
    """
    return bound if dtype.kind == "f" else floor(bound) + 0.49


def coded_brick(values: Floats, bound: float, voxels: Floats | None = None) -> bytes:
    """A brick of finite residuals within ``bound``; no bytes where zeros already are. voxels: what the field and the
    residuals are together; they are coded instead where they take fewer bytes."""
    data = _coded_values(values, bound)
    if voxels is None or not data:
        return data
    instead = _coded_values(voxels, bound) or _plain_brick(voxels)
    is_shorter = instead[:1] == _WAVELETS and len(instead) < len(data)
    return _REPLACING + instead[1:] if is_shorter else data


def replaces_field(data: bytes) -> bool:
    """Whether a coded brick has voxels, rather than their difference to the field."""
    return data[:1] == _REPLACING


def _coded_values(values: Floats, bound: float) -> bytes:
    largest = float(np.abs(values).max())
    if largest <= bound:
        return b""
    if not largest < MAX_CODED * min(1.0, bound):
        return _plain_brick(values)
    # Rounding inside the coder may pass its bound by a little: ask for less until the result holds.
    for tighter in (bound * 0.999, bound * 0.99, bound * 0.9, bound * 0.5):
        data = _encode(values, tighter)
        if data and float(np.abs(_decode(data, values.shape) - values).max()) <= bound:
            return data
    return _plain_brick(values)


def _plain_brick(values: Floats) -> bytes:
    return _PLAIN + values.astype("<f4").tobytes()


def decoded_brick(data: bytes, shape: tuple[int, ...]) -> Floats:
    """The residuals, or voxels, of a brick. ValueError or OSError where the bytes are damaged."""
    if not data:
        return np.zeros(shape, np.float32)
    if data[:1] == _PLAIN:
        return np.frombuffer(data, "<f4", offset=1).reshape(shape).astype(np.float32)
    return _decode(data, shape)


ResidualValues = Callable[[Box], Floats]
"""What is added to the voxels of a box."""


class Residual:
    """The residual of an open file; threads may share it. times: steps of a series."""

    def __init__(self, file: FileSections, stored: StoredResidual, shape: Shape, times: int = 1) -> None:
        self._file, self.stored, self._shape, self._times = file, stored, shape, times
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[bool, Floats]] = OrderedDict()

    @property
    def byte_count(self) -> int:
        return sum(self._file.size_of(step_prefix(t) + PREFIX) for t in range(self._times))

    def read(self, box: Box, field_values: Callable[[Box], Floats], t: int = 0) -> Floats:
        """Residuals of a box; only bricks that it touches are decoded. field_values: asked for where there are voxels
        instead of residuals."""
        values = np.zeros(box.shape, np.float32)
        for shared, is_whole, found in self._parts(box, t):
            values[shared.relative_to(box.start).slices] = found - field_values(shared) if is_whole else found
        return values

    def add_to(self, values: Floats, box: Box, t: int = 0) -> None:
        """Turn the field's values of a box into voxels."""
        for shared, is_whole, found in self._parts(box, t):
            inside = shared.relative_to(box.start).slices
            values[inside] = found if is_whole else values[inside] + found

    def _parts(self, box: Box, t: int) -> Iterator[tuple[Box, bool, Floats]]:
        """The parts of a box in each brick, whether they replace the field, and what is stored of them."""
        for brick in self._bricks(box):
            shared = brick.intersect(box)
            is_whole, decoded = self._decoded(brick, section_name(brick, t))
            yield shared, is_whole, decoded[shared.relative_to(brick.start).slices]

    def _decoded(self, brick: Box, name: str) -> tuple[bool, Floats]:
        """A brick; the last ones are kept, because boxes are often smaller than one."""
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
        with naming_damage(str(self._file.path), "its residual could not be decoded"):
            data = self._file.read(name)
            found = decoded_brick(data, brick.shape)
        if not np.isfinite(found).all():
            raise Corrupted(str(self._file.path), "its residual has values that are not finite")
        with self._lock:
            self._kept[name] = replaces_field(data), found
            while len(self._kept) * self.stored.brick**3 * 4 > MAX_KEPT_BYTES and len(self._kept) > 1:
                self._kept.popitem(last=False)
        return replaces_field(data), found

    def _bricks(self, box: Box) -> Iterator[Box]:
        """Those that a box touches."""
        side, whole = self.stored.brick, Box.whole(self._shape)
        for cell in box.cells((side, side, side)):
            start = triple(n * side for n in cell)
            yield Box(start, triple(n + side for n in start)).intersect(whole)


def _encode(values: Floats, bound: float) -> bytes:
    """One marker byte, then the bytes of the only chunk of a dataset; nothing where the coder refuses the brick."""
    values = np.pad(np.asarray(values, np.float32), [(0, max(0, 2 - n)) for n in values.shape], mode="edge")
    with _memory_file() as file:
        try:
            dataset = file.create_dataset("r", data=values, chunks=values.shape, **_filter(bound))
            _, data = dataset.id.read_direct_chunk((0, 0, 0))
        except (RuntimeError, OSError):
            return b""
    return _WAVELETS + bytes(data)


def _decode(data: bytes, shape: tuple[int, ...]) -> Floats:
    z, y, x = shape
    wide = triple(max(2, n) for n in shape)
    _check_stream(data[1:], wide)
    with _memory_file() as file:
        dataset = file.create_dataset("r", shape=wide, dtype=np.float32, chunks=wide, **_filter(1.0))
        dataset.id.write_direct_chunk((0, 0, 0), data[1:])
        return np.asarray(dataset[:z, :y, :x], np.float32)


def _check_stream(data: bytes, shape: Shape) -> None:
    """Refuse lengths that do not fit: the wavelet coder trusts them, and would read beyond the end of its bytes."""
    start, *sizes, length, kind, count = _STREAM.unpack_from(data)
    if start != _START or tuple(sizes) != shape[::-1] or len(data) != _LENGTH_END + length:
        raise ValueError("the header of a brick does not fit it")
    rest = memoryview(data)[_STREAM.size :]
    is_constant = kind == _CONSTANT
    if (is_constant and (count != prod(shape) or rest)) or kind not in (_CONSTANT, _VARYING):
        raise ValueError("the values of a brick are stored in an unknown way")
    while rest:  # The wavelet coefficients, then the voxels that they leave outside the bound.
        planes, bits = _PART.unpack_from(rest)
        size = _PART.size + -(-bits // 8)
        if planes > 64 or size > len(rest):
            raise ValueError("a brick is too short for what it states")
        rest = rest[size:]


def _filter(bound: float) -> dict[str, Any]:
    import hdf5plugin  # Only fields with a residual need it, and it takes a moment.

    # swap: our arrays are C-ordered; without it SPERR codes along the wrong axes.
    return dict(hdf5plugin.Sperr(absolute=bound, swap=True))


def _memory_file() -> Any:
    # HDF5 refuses a second file of the same name, and several threads decode at once.
    return h5py.File(f"residual {next(_file_numbers)}", "w", driver="core", backing_store=False)
