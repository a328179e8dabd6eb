"""A neural volume as the header and sections of a file.

Here: to_sections and coded_step, and StoredSeries, which checks every size before memory is taken.
Not here: the bytes of the file (container), of arrays (coding), of residuals (residual).

A field is one section: the transforms of its grids and its frequencies as float32, then its coded parameters. A later
step of a series has sections of its own. Their parameters may be differences to those of the step before, rounded to
the same steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite, prod
from typing import Any

import numpy as np

from pellucid.box import Box, triple
from pellucid.dataclass_json import from_json
from pellucid.errors import Corrupted
from pellucid.formats.damage import naming_damage
from pellucid.formats.neural_field.coding import array_steps, coded_arrays, decoded_arrays
from pellucid.formats.neural_field.container import FileSections
from pellucid.formats.neural_field.field import (
    ACTIVATIONS,
    Decoder,
    FeatureGrid,
    Floats,
    FourierFeatures,
    HashLevel,
    NeuralField,
)
from pellucid.formats.neural_field.neural_volume import NeuralVolume, PlacedField
from pellucid.formats.neural_field.spline import SUPPORT, SplineGrid
from pellucid.formats.orientation import from_attributes, to_attributes
from pellucid.formats.protocol import VOXEL_TYPES

MAX_PARAMETERS = 1 << 28
MAX_FIELDS = 4096
MAX_WIDTH = 4096
MAX_RESOLUTION = 1 << 20
MAX_NUMBER = 1e6
"""Of transforms and frequencies, beyond which positions would overflow."""
MAX_VALUE = 1e38
MAX_RESIDUAL_BRICK = 256
MAX_TIMES = 1 << 16
MAX_ITEMS = 1 << 19
"""Numbers, texts and names in a header: each takes far longer to check than to send."""
MAX_CHAIN = 64
"""Steps of a series that are stored as differences one after the other: all are decoded to read the last."""

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Steps:
    """Steps to which parameters are rounded: for each grid, for each hash level, for each layer's weights, and for the
    spline, if there is one."""

    grids: tuple[float, ...]
    hash_levels: tuple[float, ...]
    weights: tuple[float, ...]
    spline: tuple[float, ...] = ()


@dataclass(frozen=True)
class StoredHash:
    """One level of a hash grid in the header of a file."""

    resolution: int
    rows: int
    features: int


@dataclass(frozen=True)
class StoredField:
    """One field in the header of a file. grids: shapes (features, z, y, x). fourier: how many frequencies. spline: the
    shape (z, y, x) of its coefficients, if there is one."""

    kind: str
    start: Triple
    stop: Triple
    value_range: tuple[float, float]
    layers: tuple[tuple[int, int], ...]
    activation: str = "relu"
    grids: tuple[tuple[int, int, int, int], ...] = ()
    hash_levels: tuple[StoredHash, ...] = ()
    fourier: int = 0
    spline: tuple[Triple, ...] = ()

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of everything that is coded, in the order of the file."""
        tables = ((level.rows, level.features) for level in self.hash_levels)
        return [*self.layers, *self.grids, *tables, *self.spline]

    @property
    def parameter_count(self) -> int:
        return sum(prod(shape) for shape in self.shapes)

    @property
    def width(self) -> int:
        """How many features a point has."""
        return sum(grid[0] for grid in self.grids) + sum(one.features for one in self.hash_levels) + 2 * self.fourier

    @property
    def plain_bytes(self) -> int:
        """Of transforms and frequencies."""
        return 48 * len(self.grids) + 12 * self.fourier


@dataclass(frozen=True)
class StoredResidual:
    """How the residual was coded. bound: largest error of any voxel. tolerance: how far evaluations may differ."""

    bound: float
    tolerance: float
    brick: int


@dataclass(frozen=True)
class StoredHeader:
    """The header of a file. differences: for every step of a series but the first, which fields are stored so."""

    shape: Triple
    dtype: str
    spacing: tuple[float, float, float]
    unit: str
    fields: tuple[StoredField, ...]
    residual: StoredResidual | None = None
    differences: tuple[tuple[bool, ...], ...] = ()

    @property
    def times(self) -> int:
        return 1 + len(self.differences)


def to_sections(volume: NeuralVolume, steps: tuple[Steps, ...]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header and the sections of a file. steps: one for every field."""
    sections = {}
    for number, (placed, own) in enumerate(zip(volume.fields, steps, strict=True)):
        sections[f"field{number}"] = coded_field(placed.field, own)
    return header_document(volume), sections


def header_document(volume: NeuralVolume) -> dict[str, Any]:
    """The header of a file, as JSON."""
    header = StoredHeader(
        volume.shape, volume.dtype.name, volume.spacing, volume.unit, tuple(_described(one) for one in volume.fields)
    )
    document = asdict(header)
    del document["differences"]
    document["orientation"] = to_attributes(volume.orientation)
    document["quality"] = dict(volume.quality)
    return document


def step_prefix(t: int) -> str:
    """What the names of a step's sections begin with."""
    return f"step{t}/" if t else ""


def coded_step(
    fields: Sequence[NeuralField], steps: Sequence[Steps], before: Sequence[tuple[NeuralField, Steps]] | None
) -> tuple[list[bool], list[bytes]]:
    """The sections of a later step of a series, and which of them are differences: those where it takes fewer bytes.

    before: the fields of the step before and what they were rounded to, or None to store no differences.
    """
    are_differences, sections = [], []
    for number, (one, own) in enumerate(zip(fields, steps, strict=True)):
        whole, difference = coded_field(one, own), None
        if before and before[number][1] == own:
            difference = coded_field(_difference(one, before[number][0]), own)
        is_shorter = difference is not None and len(difference) < len(whole)
        are_differences.append(is_shorter)
        sections.append(difference if difference is not None and is_shorter else whole)
    return are_differences, sections


class StoredSeries:
    """The volumes of a file: one, or one for every step of a series. For one thread at a time."""

    def __init__(self, file: FileSections) -> None:
        self._file, document = file, dict(file.header)
        path = str(file.path)
        orientation, quality = document.pop("orientation", None), document.pop("quality", None)
        with naming_damage(path, "its header is not that of a neural field"):
            if len(document["fields"]) > MAX_FIELDS or len(document.get("differences", ())) >= MAX_TIMES:
                raise ValueError("more fields or steps than a file may have")
            if is_longer_than(document, MAX_ITEMS):
                raise ValueError("more entries than a file may have")
            self.header = from_json(StoredHeader, document, "the header")
            self._orientation = from_attributes(orientation) if isinstance(orientation, dict) else None
        _check(path, self.header)
        self._quality = _numbers(quality)
        self._decoded: dict[int, tuple[int, list[Floats]]] = {}
        """By field: the step that was decoded last, from which the next one follows quickly."""

    def volume(self, t: int = 0) -> NeuralVolume:
        """The volume of a step."""
        header, fields = self.header, []
        for number, stored in enumerate(header.fields):
            with naming_damage(str(self._file.path), "its parameters could not be decoded"):
                fields.append(PlacedField(Box(stored.start, stored.stop), self._field(number, t)))
        dtype = np.dtype(header.dtype)
        return NeuralVolume(
            header.shape, dtype, tuple(fields), header.spacing, header.unit, self._orientation, self._quality
        )

    def _field(self, number: int, t: int) -> NeuralField:
        """A field of a step: from the last one that is stored whole, all differences are added."""
        first = t
        while first and self.header.differences[first - 1][number]:
            first -= 1
            if t - first > MAX_CHAIN:
                raise ValueError("too many steps are differences")
        stored, (last, arrays) = self.header.fields[number], self._decoded.get(number, (-1, []))
        if not first <= last < t:
            last, arrays = first - 1, []
        for step in range(last + 1, t + 1):
            data = self._file.read(f"{step_prefix(step)}field{number}")
            arrays = _arrays(data, stored, arrays)
        if self.header.differences:
            self._decoded[number] = t, arrays
        return _decoded(data, stored, arrays)


def is_longer_than(document: Any, limit: int) -> bool:
    """Whether a JSON document has more entries, at any depth."""
    count, open_parts = 0, [document]
    while open_parts:
        part = open_parts.pop()
        values = list(part.values()) if isinstance(part, dict) else part
        count += len(values)
        if count > limit:
            return True
        open_parts += [one for one in values if isinstance(one, dict | list)]
    return False


def _numbers(quality: Any) -> Mapping[str, float]:
    """Whatever of a document is a name with a finite number."""
    items = quality.items() if isinstance(quality, dict) else ()
    return {name: float(one) for name, one in items if type(one) in (int, float) and -1e300 < one < 1e300}


def _described(placed: PlacedField) -> StoredField:
    one = placed.field
    grids = []
    for grid in one.grids:
        f, z, y, x = (int(n) for n in grid.features.shape)
        grids.append((f, z, y, x))
    return StoredField(
        one.kind,
        placed.box.start,
        placed.box.stop,
        one.value_range,
        tuple((int(w.shape[0]), int(w.shape[1])) for w in one.decoder.weights),
        one.decoder.activation,
        tuple(grids),
        tuple(StoredHash(level.resolution, *map(int, level.table.shape)) for level in one.hash_levels),
        len(one.fourier.frequencies) if one.fourier else 0,
        (triple(one.spline.coefficients.shape),) if one.spline else (),
    )


def coded_field(one: NeuralField, steps: Steps) -> bytes:
    """The section of a field."""
    plain = [grid.transform for grid in one.grids] + ([one.fourier.frequencies] if one.fourier else [])
    arrays = list(one.decoder.weights)
    arrays += [grid.features for grid in one.grids] + [level.table for level in one.hash_levels]
    arrays += [one.spline.coefficients] if one.spline else []
    pairs = zip(arrays, (*steps.weights, *steps.grids, *steps.hash_levels, *steps.spline), strict=True)
    return b"".join([*(array.astype("<f4").tobytes() for array in plain), coded_arrays(list(pairs))])


def _difference(one: NeuralField, before: NeuralField) -> NeuralField:
    """A field whose parameters are the differences of two."""
    grids = zip(one.grids, before.grids, strict=True)
    levels = zip(one.hash_levels, before.hash_levels, strict=True)
    weights = zip(one.decoder.weights, before.decoder.weights, strict=True)
    return replace(
        one,
        grids=tuple(FeatureGrid(new.features - old.features, new.transform) for new, old in grids),
        hash_levels=tuple(HashLevel(new.resolution, new.table - old.table) for new, old in levels),
        decoder=Decoder(tuple(new - old for new, old in weights), one.decoder.activation),
        spline=_spline_difference(one.spline, before.spline),
    )


def _spline_difference(one: SplineGrid | None, before: SplineGrid | None) -> SplineGrid | None:
    return SplineGrid(one.coefficients - before.coefficients) if one and before else one


def _arrays(data: bytes, stored: StoredField, before: list[Floats]) -> list[Floats]:
    """The coded parameters of a section. before: those that they are differences to, or nothing."""
    found = decoded_arrays(data[stored.plain_bytes :], stored.shapes)
    if not before:
        return found
    steps = array_steps(data[stored.plain_bytes :], len(found))
    # Whole numbers of steps again: the same bits as if they were stored whole.
    return [
        (np.rint((old + new) / np.float32(step)) * np.float32(step)).astype(np.float32)
        for old, new, step in zip(before, found, steps, strict=True)
    ]


def _decoded(data: bytes, stored: StoredField, arrays: list[Floats]) -> NeuralField:
    plain = np.frombuffer(data[: stored.plain_bytes], "<f4").astype(np.float32)
    if 4 * len(plain) != stored.plain_bytes or not np.all(np.abs(plain) <= MAX_NUMBER):
        raise ValueError("a transform or a frequency is invalid")
    weights, arrays = tuple(arrays[: len(stored.layers)]), arrays[len(stored.layers) :]
    transforms = plain[: 12 * len(stored.grids)].reshape(-1, 3, 4)
    grids = tuple(FeatureGrid(*pair) for pair in zip(arrays, transforms, strict=False))
    tables = zip(stored.hash_levels, arrays[len(grids) :], strict=False)
    levels = tuple(HashLevel(level.resolution, table) for level, table in tables)
    return NeuralField(
        stored.kind,
        Decoder(weights, stored.activation),
        grids,
        levels,
        _fourier(plain[12 * len(grids) :]),
        stored.value_range,
        SplineGrid(arrays[-1]) if stored.spline else None,
    )


def _fourier(numbers: Floats) -> FourierFeatures | None:
    return FourierFeatures(numbers.reshape(-1, 3)) if numbers.size else None


def _check(path: str, header: StoredHeader) -> None:
    """Refuse sizes and numbers that no file of ours has, before memory is taken for them."""
    if header.dtype not in VOXEL_TYPES:
        raise Corrupted(path, f"its voxel type {header.dtype!r} is unknown")
    if not header.fields:
        raise Corrupted(path, "it has no fields")
    for stored in header.fields:
        if fault := _fault(stored, header.shape):
            raise Corrupted(path, fault)
    if sum(stored.parameter_count for stored in header.fields) > MAX_PARAMETERS:
        raise Corrupted(path, "it claims more parameters than a file may have")
    if any(len(step) != len(header.fields) for step in header.differences):
        raise Corrupted(path, "a step of its series has another number of fields")
    if (residual := header.residual) and not _is_valid(residual):
        raise Corrupted(path, "the description of its residual is invalid")


def _is_valid(residual: StoredResidual) -> bool:
    is_bounded = isfinite(residual.bound) and residual.bound > 0
    return is_bounded and residual.tolerance >= 0 and 8 <= residual.brick <= MAX_RESIDUAL_BRICK


def _fault(stored: StoredField, shape: Triple) -> str:
    """What is wrong with a field's description; nothing where it is fine."""
    box = zip(stored.start, stored.stop, shape, strict=True)
    sizes = [n for one in stored.shapes for n in one]
    if not all(0 <= low < high <= length for low, high, length in box):
        return "one of its fields lies outside the volume"
    is_spline = len(stored.spline) <= 1 and all(n >= SUPPORT for one in stored.spline for n in one)
    if not (is_spline and all(0 < n <= MAX_PARAMETERS for n in sizes) and 0 <= stored.fourier <= MAX_WIDTH):
        return "a shape in its header is invalid"
    if not all(0 < level.resolution <= MAX_RESOLUTION for level in stored.hash_levels):
        return "the resolution of a hash grid is invalid"
    if not all(abs(value) <= MAX_VALUE for value in stored.value_range):
        return "its value range is invalid"
    ends = [stored.width, *(n for _, n in stored.layers)]
    is_joined = stored.layers and all(low == rows for low, (rows, _) in zip(ends, stored.layers, strict=False))
    if not is_joined or ends[-1] != 1 or max(ends) > MAX_WIDTH or stored.activation not in ACTIVATIONS:
        return "the layers of its decoder do not fit together"
    return ""
