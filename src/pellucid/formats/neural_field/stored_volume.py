"""A neural volume as the header and sections of a file.

Here: to_sections and from_sections, with every size checked before memory is taken.
Not here: the bytes of the file (container), of arrays (coding), of residuals (residual).
"""

from dataclasses import asdict, dataclass, field
from math import prod
from typing import Any

import numpy as np

from pellucid.box import Box
from pellucid.dataclass_json import from_json
from pellucid.errors import Corrupted
from pellucid.formats.damage import naming_damage
from pellucid.formats.neural_field.coding import coded_array, decoded_array
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
from pellucid.formats.orientation import from_attributes, to_attributes
from pellucid.formats.protocol import VOXEL_TYPES

MAX_PARAMETERS = 1 << 28
MAX_WIDTH = 4096
MAX_RESOLUTION = 1 << 20

Three = tuple[int, int, int]


@dataclass(frozen=True)
class Steps:
    """Steps to which parameters are rounded: features of each grid, tables of each hash level, weights of each layer."""

    grids: tuple[float, ...]
    hash_levels: tuple[float, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class StoredGrid:
    shape: tuple[int, int, int, int]
    transform: tuple[float, ...]


@dataclass(frozen=True)
class StoredHash:
    resolution: int
    rows: int
    features: int


@dataclass(frozen=True)
class StoredField:
    """One field in the header of a file."""

    kind: str
    start: Three
    stop: Three
    value_range: tuple[float, float]
    layers: tuple[tuple[int, int], ...]
    activation: str = "relu"
    grids: tuple[StoredGrid, ...] = ()
    hash_levels: tuple[StoredHash, ...] = ()
    fourier: tuple[tuple[float, float, float], ...] = ()

    @property
    def parameter_count(self) -> int:
        grids = sum(prod(grid.shape) for grid in self.grids)
        tables = sum(level.rows * level.features for level in self.hash_levels)
        return grids + tables + sum(prod(layer) for layer in self.layers)


@dataclass(frozen=True)
class StoredResidual:
    """How the residual was coded. bound: largest error of any voxel. tolerance: how far evaluations may differ."""

    bound: float
    tolerance: float
    brick: int


@dataclass(frozen=True)
class StoredHeader:
    """The header of a file."""

    shape: Three
    dtype: str
    spacing: tuple[float, float, float]
    unit: str
    fields: tuple[StoredField, ...]
    residual: StoredResidual | None = None


def to_sections(volume: NeuralVolume, steps: tuple[Steps, ...]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header and the sections of a file. steps: one for every field."""
    sections: dict[str, bytes] = {}
    for number, (placed, own) in enumerate(zip(volume.fields, steps, strict=True)):
        parts = _arrays(placed.field)
        for (name, array), step in zip(parts, (*own.weights, *own.grids, *own.hash_levels), strict=True):
            sections[f"field{number}/{name}"] = coded_array(array, step)
    header = StoredHeader(
        volume.shape, volume.dtype.name, volume.spacing, volume.unit, tuple(_described(one) for one in volume.fields)
    )
    document = asdict(header)
    document["orientation"] = to_attributes(volume.orientation)
    document["quality"] = dict(volume.quality)
    return document, sections


def from_sections(file: FileSections) -> tuple[NeuralVolume, StoredResidual | None]:
    """What a file holds."""
    path, document = str(file.path), dict(file.header)
    orientation, quality = document.pop("orientation", None) or {}, document.pop("quality", None) or {}
    with naming_damage(path, "its header is not that of a neural field"):
        header = from_json(StoredHeader, document, "the header")
        placed_at = from_attributes(orientation) if isinstance(orientation, dict) else None
        numbers = {str(name): float(value) for name, value in quality.items()}
    _check(path, header)
    fields = []
    for number, stored in enumerate(header.fields):
        with naming_damage(path, "its parameters could not be decoded"):
            fields.append(PlacedField(Box(stored.start, stored.stop), _decoded(file, stored, f"field{number}")))
    dtype = np.dtype(header.dtype)
    volume = NeuralVolume(header.shape, dtype, tuple(fields), header.spacing, header.unit, placed_at, numbers)
    return volume, header.residual


def _arrays(one: NeuralField) -> list[tuple[str, Floats]]:
    """Everything that is coded, by the name of its section."""
    weights = [(f"weights{i}", array) for i, array in enumerate(one.decoder.weights)]
    grids = [(f"grid{i}", grid.features) for i, grid in enumerate(one.grids)]
    return weights + grids + [(f"hash{i}", level.table) for i, level in enumerate(one.hash_levels)]


def _described(placed: PlacedField) -> StoredField:
    one = placed.field
    grids = tuple(_described_grid(grid) for grid in one.grids)
    tables = tuple(StoredHash(level.resolution, *map(int, level.table.shape)) for level in one.hash_levels)
    layers = tuple((int(w.shape[0]), int(w.shape[1])) for w in one.decoder.weights)
    waves = tuple((float(x), float(y), float(z)) for x, y, z in one.fourier.frequencies) if one.fourier else ()
    return StoredField(
        one.kind,
        placed.box.start,
        placed.box.stop,
        one.value_range,
        layers,
        one.decoder.activation,
        grids,
        tables,
        waves,
    )


def _described_grid(grid: FeatureGrid) -> StoredGrid:
    f, z, y, x = (int(n) for n in grid.features.shape)
    return StoredGrid((f, z, y, x), tuple(float(value) for value in grid.transform.reshape(-1)))


def _check(path: str, header: StoredHeader) -> None:
    """Refuse sizes and numbers that no file of ours has, before memory is taken for them."""
    if header.dtype not in VOXEL_TYPES:
        raise Corrupted(path, f"its voxel type {header.dtype!r} is unknown")
    if not header.fields or sum(stored.parameter_count for stored in header.fields) > MAX_PARAMETERS:
        raise Corrupted(path, "it claims more parameters than a file may have, or none")
    if header.residual and not (
        header.residual.bound > 0 and header.residual.tolerance >= 0 and 8 <= header.residual.brick <= 1 << 12
    ):
        raise Corrupted(path, "the description of its residual is invalid")
    for stored in header.fields:
        if fault := _fault(stored, header.shape):
            raise Corrupted(path, fault)


def _fault(stored: StoredField, shape: Three) -> str:
    """What is wrong with a field's description; nothing where it is fine."""
    box = zip(stored.start, stored.stop, shape, strict=True)
    sizes = [n for grid in stored.grids for n in grid.shape]
    sizes += [n for level in stored.hash_levels for n in (level.rows, level.features)]
    sizes += [n for layer in stored.layers for n in layer]
    numbers = [*stored.value_range, *(value for grid in stored.grids for value in grid.transform)]
    numbers += [value for wave in stored.fourier for value in wave]
    width = sum(grid.shape[0] for grid in stored.grids) + sum(level.features for level in stored.hash_levels)
    width += 2 * len(stored.fourier)
    if not all(0 <= low < high <= length for low, high, length in box):
        return "one of its fields lies outside the volume"
    if not all(n > 0 for n in sizes) or not all(0 < level.resolution < MAX_RESOLUTION for level in stored.hash_levels):
        return "a shape in its header is invalid"
    if not np.all(np.isfinite(numbers)) or any(len(grid.transform) != 12 for grid in stored.grids):
        return "a number in its header is invalid"
    ends = [width, *(n for _, n in stored.layers)]
    is_joined = stored.layers and all(low == rows for low, (rows, _) in zip(ends, stored.layers, strict=False))
    if not is_joined or ends[-1] != 1 or max(ends) > MAX_WIDTH or stored.activation not in ACTIVATIONS:
        return "the layers of its decoder do not fit together"
    return ""


def _decoded(file: FileSections, stored: StoredField, prefix: str) -> NeuralField:
    def array(name: str, shape: tuple[int, ...]) -> Floats:
        return decoded_array(file.read(f"{prefix}/{name}"), shape)

    weights = tuple(array(f"weights{i}", layer) for i, layer in enumerate(stored.layers))
    grids = tuple(
        FeatureGrid(array(f"grid{i}", grid.shape), np.array(grid.transform, np.float32).reshape(3, 4))
        for i, grid in enumerate(stored.grids)
    )
    tables = tuple(
        HashLevel(level.resolution, array(f"hash{i}", (level.rows, level.features)))
        for i, level in enumerate(stored.hash_levels)
    )
    fourier = FourierFeatures(np.array(stored.fourier, np.float32)) if stored.fourier else None
    return NeuralField(stored.kind, Decoder(weights, stored.activation), grids, tables, fourier, stored.value_range)
