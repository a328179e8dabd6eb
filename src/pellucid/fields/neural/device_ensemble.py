"""Any neural volume on a device: one field or several that overlap, every encoding, and a residual.

Here: is_supported, DeviceEnsemble: its parameters there, and values of bricks.
Not here: the kernel (blended_kernels), one field of feature grids (device_model), the definition
(formats.neural_field.neural_volume).
"""

from typing import Any

import numpy as np

from pellucid.box import Box, triple
from pellucid.device import Device, launch, runtime
from pellucid.fields.neural.device_model import places_on_device, spline_coefficients
from pellucid.fields.sizes import APRON, BRICK, HIDDEN, MAX_WIDTH, PADDED
from pellucid.formats.neural_field.field import Decoder, NeuralField
from pellucid.formats.neural_field.neural_volume import NeuralVolume
from pellucid.formats.neural_field.residual import ResidualValues
from pellucid.formats.protocol import Voxels

MAX_ENTRIES = 2**31 - 1


def is_supported(volume: NeuralVolume) -> bool:
    """Whether the kernel has room for all of its fields."""
    return all(_is_small(placed.field) for placed in volume.fields)


def _is_small(field: NeuralField) -> bool:
    widths = [weights.shape[1] for weights in field.decoder.weights[:-1]]
    entries = sum(grid.features.size for grid in field.grids) + sum(level.table.size for level in field.hash_levels)
    return 0 < field.width <= MAX_WIDTH and max(widths, default=HIDDEN + 1) <= HIDDEN and entries < MAX_ENTRIES


class DeviceEnsemble:
    """A neural volume on a device. residual: gives what is added to voxels of the full resolution."""

    def __init__(self, volume: NeuralVolume, device: Device, residual: ResidualValues | None = None) -> None:
        from pellucid.fields.neural.blended_kernels import AnyFieldStruct

        self._volume, self.device, self._residual = volume, device, residual
        self._arrays: list[Any] = []
        structs = [self._struct(number) for number in range(len(volume.fields))]
        self._models = runtime.start().array(structs, dtype=AnyFieldStruct, device=device.name)
        self.nbytes = sum(array.size * 4 for array in self._arrays)

    def decode(self, places: Voxels, output: Any, level: int) -> None:
        """Fill an output (kernels.BrickOutput) with the voxels of bricks of a level, places (z, y, x)."""
        from pellucid.fields.neural.blended_kernels import decode_blended

        warp, name = runtime.start(), self.device.name
        members = self._members(places, output)
        starts = np.cumsum([0, *(len(found) for found in members)])
        residual = self._residual_of(places) if level == 0 else np.zeros(0, np.float32)
        inputs = [
            self._models,
            warp.array(starts, dtype=warp.int32, device=name),
            warp.array(np.concatenate(members), dtype=warp.int32, device=name),
            places_on_device(places, self.device),
            warp.vec3(*(float(n - 1) for n in self._volume.shape[::-1])),
            warp.array(residual, dtype=warp.float32, device=name),
        ]
        launch(decode_blended, (len(places), PADDED**3), inputs, [output], self.device)

    def _members(self, places: Voxels, output: Any) -> list[Voxels]:
        """The fields that count somewhere in each brick."""
        scale = np.array([output.scale[axis] for axis in (2, 1, 0)])
        first = (places * BRICK - APRON + 0.5) * scale - 0.5
        last = first + (PADDED - 1) * scale
        end = np.array(self._volume.shape) - 1
        first, last = np.clip(first, 0, end), np.clip(last, 0, end)
        boxes = np.array([(placed.box.start, placed.box.stop) for placed in self._volume.fields])
        near = (boxes[None, :, 0] - 1 < last[:, None]) & (boxes[None, :, 1] > first[:, None])
        return [np.flatnonzero(one) for one in near.all(axis=2)]

    def _residual_of(self, places: Voxels) -> Voxels:
        """(bricks · 36³): what is added to their voxels, nothing where there is no residual."""
        if self._residual is None:
            return np.zeros(0, np.float32)
        found: Voxels = np.empty((len(places), PADDED, PADDED, PADDED), np.float32)
        whole = Box.whole(self._volume.shape)
        for brick, place in zip(found, places, strict=True):
            start = triple(int(n) * BRICK - APRON for n in place)
            inside = Box(start, triple(n + PADDED for n in start)).intersect(whole)
            sides = [(a - s, s + PADDED - b) for a, b, s in zip(inside.start, inside.stop, start, strict=True)]
            brick[...] = np.pad(self._residual(inside), sides, mode="edge")
        return found.ravel()

    def _struct(self, number: int) -> Any:
        from pellucid.fields.neural.blended_kernels import AnyFieldStruct

        warp, placed, whole = runtime.start(), self._volume.fields[number], self._volume.shape
        field, packed, model = placed.field, placed.packed, AnyFieldStruct()
        model.table, model.waves = self._floats(packed.features), self._floats(packed.waves)
        model.transforms = self._floats(packed.transforms)
        model.grids, model.levels = self._integers(packed.grids), self._integers(packed.levels)
        model.weights = self._floats(_padded(field.decoder))
        model.width, model.layers = field.width, len(field.decoder.weights) - 1
        model.is_snake = int(field.decoder.activation == "snake")
        low, high = field.value_range
        model.low, model.scale = low, high - low
        model.spline = self._floats(spline_coefficients(field))
        model.spline_cells = warp.vec3i(*(field.spline.cells[::-1] if field.spline else (0, 0, 0)))
        start, stop = placed.box.start, placed.box.stop
        model.start = warp.vec3(*map(float, start[::-1]))
        model.last = warp.vec3(*(float(n - 1) for n in stop[::-1]))
        model.overlap = warp.vec3(*(float(n) for n in self._volume.overlaps[number][::-1]))
        model.is_first = warp.vec3i(*(int(n == 0) for n in start[::-1]))
        model.is_last = warp.vec3i(*(int(n == end) for n, end in zip(stop[::-1], whole[::-1], strict=True)))
        return model

    def _floats(self, numbers: Voxels) -> Any:
        return self._array(numbers.astype(np.float32), runtime.start().float32)

    def _integers(self, numbers: Voxels) -> Any:
        return self._array(numbers.astype(np.int32), runtime.start().int32)

    def _array(self, numbers: Voxels, dtype: Any) -> Any:
        # A struct holds addresses only: the arrays stay with the ensemble.
        self._arrays.append(runtime.start().array(np.ascontiguousarray(numbers), dtype=dtype, device=self.device.name))
        return self._arrays[-1]


def _padded(decoder: Decoder) -> Voxels:
    """Weights of the hidden layers in rows of HIDDEN, from the second on for HIDDEN inputs; then the last layer's."""
    parts = []
    for number, weights in enumerate(decoder.weights):
        rows = weights.shape[0] if number == 0 else HIDDEN
        columns = 1 if number == len(decoder.weights) - 1 else HIDDEN
        wide = np.zeros((rows, columns), np.float32)
        wide[: weights.shape[0], : weights.shape[1]] = weights
        parts.append(wide.ravel())
    return np.concatenate(parts)
