"""A volume that is stored as neural fields: one field, or one for each of several overlapping boxes.

Here: PlacedField, NeuralVolume, and values of boxes of voxels at every level, and at any points.
Not here: one field's values (evaluation), bytes (stored_volume), residuals (residual).

Where fields overlap, each one counts with a weight that falls smoothly to 0 at the border of its box, and all weights
add up to 1. Neither values nor gradients jump where one field takes over from the next.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pellucid.box import Box, Shape
from pellucid.formats.neural_field.evaluation import values_at
from pellucid.formats.neural_field.field import Floats, NeuralField
from pellucid.formats.neural_field.lattice_evaluation import lattice_values
from pellucid.formats.neural_field.packed_field import PackedField
from pellucid.formats.orientation import Orientation
from pellucid.formats.protocol import Header, Level, Spacing

MIN_LEVEL_EDGE = 64
CHUNK = 32


@dataclass(frozen=True)
class PlacedField:
    """A field, and the voxels that it describes. Where fields overlap, their values fade into each other."""

    box: Box
    field: NeuralField

    @cached_property
    def packed(self) -> PackedField:
        """The field as a kernel reads it."""
        return PackedField(self.field)


FieldValues = Callable[[PlacedField, list[Any]], Floats]
"""Values of a field on a lattice with these voxel positions along (z, y, x)."""


@dataclass(frozen=True)
class NeuralVolume:
    """A volume as neural fields.

    dtype: of the volume that was compressed. quality: what was measured when it was made, such as {"psnr": 41.2}.
    """

    shape: Shape
    dtype: np.dtype[Any]
    fields: tuple[PlacedField, ...]
    spacing: Spacing = (1.0, 1.0, 1.0)
    unit: str = ""
    orientation: Orientation | None = None
    quality: Mapping[str, float] = field(default_factory=dict)

    @property
    def parameter_count(self) -> int:
        return sum(placed.field.parameter_count for placed in self.fields)

    @property
    def header(self) -> Header:
        levels = []
        for shape, factor in level_shapes(self.shape):
            z, y, x = (min(CHUNK, n) for n in shape)
            steps = self.spacing[0] * factor, self.spacing[1] * factor, self.spacing[2] * factor
            levels.append(Level(shape, (z, y, x), steps))
        return Header(tuple(levels), self.dtype, self.unit, orientation=self.orientation, is_computed=True)

    def values(
        self, box: Box, level: int = 0, *, is_blended: bool = True, evaluate: FieldValues | None = None
    ) -> Floats:
        """Values of a box of voxels of a level, as float32. Where no field is, 0.

        is_blended: False takes every voxel from the one field that it lies deepest in, for comparison. evaluate: how
        one field is evaluated, if not as defined.
        """
        factor, evaluate = 1 << level, evaluate or field_values
        axes = [
            np.clip((np.arange(low, high) + 0.5) * factor - 0.5, 0, length - 1)
            for low, high, length in zip(box.start, box.stop, self.shape, strict=True)
        ]
        if len(self.fields) == 1 and self.fields[0].box == Box.whole(self.shape):
            return evaluate(self.fields[0], axes)
        return self._blended(axes, evaluate) if is_blended else self._switched(axes, evaluate)

    def values_at(self, points: Floats) -> Floats:
        """Values at (n, 3) points (x, y, z) in [-1, 1], the centres of the volume's first and last voxels."""
        last = np.array(self.shape) - 1
        positions = (np.asarray(points, np.float64)[:, ::-1] + 1) * 0.5 * last
        values, total = np.zeros(len(points), np.float32), np.zeros(len(points), np.float32)
        for number, placed in enumerate(self.fields):
            weights = [self._weight(number, axis, positions[:, axis]) for axis in range(3)]
            weight = weights[0] * weights[1] * weights[2]
            chosen = np.flatnonzero(weight > 0)
            sides = zip(placed.box.start, placed.box.stop, strict=True)
            local = [_relative(positions[chosen, axis], *ends) for axis, ends in enumerate(sides)]
            values[chosen] += weight[chosen] * values_at(placed.field, np.stack(local[::-1], axis=1))
            total[chosen] += weight[chosen]
        return np.divide(values, total, out=values, where=total > 0)

    @cached_property
    def _boxes(self) -> Any:
        """(fields, start or stop, axis)."""
        return np.array([(placed.box.start, placed.box.stop) for placed in self.fields])

    @cached_property
    def overlaps(self) -> Any:
        """(fields, axis): voxels that a field's box shares with its next neighbour along an axis."""
        starts, stops = self._boxes[:, 0], self._boxes[:, 1]
        overlaps = np.zeros_like(starts)
        for number in range(len(starts)):
            shared = np.minimum(stops[number], stops) - np.maximum(starts[number], starts)
            shared[starts == starts[number]] = 0
            overlaps[number] = np.maximum(shared.max(axis=0), 0)
        return overlaps

    def _blended(self, axes: list[Any], evaluate: FieldValues) -> Floats:
        values = np.zeros([len(axis) for axis in axes], np.float32)
        total = np.zeros_like(values)
        for placed, part, weight in self._weights(axes):
            values[part] += weight * evaluate(placed, _at(axes, part))
            total[part] += weight
        return np.divide(values, total, out=values, where=total > 0)

    def _switched(self, axes: list[Any], evaluate: FieldValues) -> Floats:
        values = np.zeros([len(axis) for axis in axes], np.float32)
        largest = np.zeros_like(values)
        for placed, part, weight in self._weights(axes):
            is_deeper = weight > largest[part]
            values[part] = np.where(is_deeper, evaluate(placed, _at(axes, part)), values[part])
            largest[part] = np.maximum(weight, largest[part])
        return values

    def _weights(self, axes: list[Any]) -> Iterator[tuple[PlacedField, tuple[slice, ...], Floats]]:
        """Fields that count on a lattice, the part of it where they do, and how much there."""
        first, last = ([float(axis[end]) for axis in axes] for end in (0, -1))
        is_near = np.all((self._boxes[:, 0] - 1 < last) & (self._boxes[:, 1] > first), axis=1)
        for number in np.flatnonzero(is_near):
            weights = [self._weight(int(number), axis, axes[axis]) for axis in range(3)]
            inside = [np.flatnonzero(weight > 0) for weight in weights]
            if all(len(found) for found in inside):
                part = tuple(slice(found[0], found[-1] + 1) for found in inside)
                z, y, x = (weight[piece] for weight, piece in zip(weights, part, strict=True))
                yield self.fields[number], part, z[:, None, None] * y[:, None] * x

    def _weight(self, number: int, axis: int, positions: Any) -> Floats:
        """How much a field counts at positions along an axis: it fades over its overlap with others.

        Boxes without an overlap count up to one voxel outside, or nothing would be between them at coarser levels.
        """
        low, stop = self._boxes[number, :, axis]
        overlap = self.overlaps[number, axis]
        below = (positions - low + 1) / (overlap + 1) if low > 0 else np.ones(len(positions))
        above = (stop - positions) / (overlap + 1) if stop < self.shape[axis] else np.ones(len(positions))
        depth = np.asarray(np.clip(np.minimum(below, above), 0, 1), np.float32)
        # Flat at both ends, and with that of the neighbour it is 1 everywhere.
        weight = depth * depth * (3 - 2 * depth)
        is_outside = (positions < low) | (positions > stop - 1)
        return np.where(is_outside & (overlap > 0), np.float32(0), weight)


def level_shapes(shape: Shape) -> list[tuple[Shape, int]]:
    """Shapes of a volume's levels and how many voxels of the full one they join, until the longest axis is short."""
    shapes, factor = [(shape, 1)], 1
    while max(shapes[-1][0]) > MIN_LEVEL_EDGE:
        factor *= 2
        z, y, x = (-(-n // factor) for n in shape)
        shapes.append(((z, y, x), factor))
    return shapes


def to_voxel_type(values: Floats, dtype: np.dtype[Any]) -> Any:
    """Values as voxels: integers are rounded, and clipped to what the type can hold."""
    if dtype.kind == "f":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    wide = np.nan_to_num(np.rint(values.astype(np.float64)))
    # The largest 64-bit integers are no float64: clip below the next one.
    top = np.nextafter(float(limits.max), 0.0) if limits.max > 2**53 else float(limits.max)
    return np.clip(wide, float(limits.min), top).astype(dtype)


def field_values(placed: PlacedField, axes: list[Any]) -> Floats:
    """Values of a field on a lattice with these voxel positions along (z, y, x)."""
    z, y, x = field_axes(placed, axes)
    # A damaged file may hold parameters whose products are too large.
    with np.errstate(over="ignore", invalid="ignore"):
        return lattice_values(placed.field, placed.packed, (z, y, x))


def field_axes(placed: PlacedField, axes: list[Any]) -> list[Floats]:
    """Voxel positions along (z, y, x) as positions in a field, -1 to 1."""
    return [_relative(axis, low, high) for axis, low, high in zip(axes, placed.box.start, placed.box.stop, strict=True)]


def _at(axes: list[Any], part: tuple[slice, ...]) -> list[Any]:
    return [axis[piece] for axis, piece in zip(axes, part, strict=True)]


def _relative(positions: Any, low: int, high: int) -> Floats:
    """Voxel positions as positions of a field: -1 and 1 are the centres of the box's first and last voxel."""
    if high - low == 1:
        return np.zeros(len(positions), np.float32)
    return np.asarray(np.clip((positions - low) * (2.0 / (high - low - 1)) - 1.0, -1, 1), np.float32)
