"""The kinds of fields, and which of them a volume becomes on a device.

Here: FieldKind, the table of them, those of other packages (entry point group ``pellucid.fields``), make_field.
Not here: the fields themselves (dense, bricks, neural), which of them are kept (store).

A FieldKind of another package is an object with ``accepts`` and ``make``. It is asked before the ones here.
"""

import logging
from functools import cache
from importlib.metadata import entry_points
from typing import NamedTuple, Protocol

from pellucid.box import Box, Shape
from pellucid.device import Device
from pellucid.fields.bricks.brick_field import BrickField
from pellucid.fields.dense import DenseField, dense_bytes
from pellucid.fields.device_field import DeviceField
from pellucid.fields.neural import device_ensemble, device_model
from pellucid.fields.neural.neural_bricks import BrickDecoder, NeuralBrickField
from pellucid.formats.neural_field.field import NeuralField
from pellucid.formats.neural_field.neural_volume import NeuralVolume
from pellucid.formats.neural_field.residual import ResidualValues
from pellucid.volume.volume import Volume

GROUP = "pellucid.fields"

_log = logging.getLogger(__name__)


class FieldRoom(NamedTuple):
    """Where a field goes. budget_bytes: what it may take there; in_bricks: whether only a part of it is wanted."""

    device: Device
    budget_bytes: int
    in_bricks: bool = False


class FieldKind(Protocol):
    """One way to have a volume on a device."""

    def accepts(self, volume: Volume, room: FieldRoom) -> bool:
        """Whether it can have this volume."""

    def make(self, volume: Volume, room: FieldRoom) -> DeviceField: ...


class NeuralKind:
    """A volume that is neural fields: their parameters, and bricks decoded from them.

    On the CPU one field of feature grids alone: all others are evaluated faster by the reader, row by row.
    """

    def accepts(self, volume: Volume, room: FieldRoom) -> bool:
        if volume.neural is None:
            return False
        is_gpu = room.device.is_cuda and device_ensemble.is_supported(volume.neural[0])
        return is_gpu or _only_field(volume.shape, *volume.neural) is not None

    def make(self, volume: Volume, room: FieldRoom) -> DeviceField:
        if volume.neural is None:
            raise ValueError(f"{volume.location} is not a neural field.")
        stored, residual = volume.neural
        model: BrickDecoder
        if field := _only_field(volume.shape, stored, residual):
            model = device_model.DeviceModel(field, volume.shape, room.device)
        else:
            model = device_ensemble.DeviceEnsemble(stored, room.device, residual)
        return NeuralBrickField(volume, room.device, room.budget_bytes - model.nbytes, model)


def _only_field(shape: Shape, stored: NeuralVolume, residual: ResidualValues | None) -> NeuralField | None:
    """The one field that describes a volume, if it is one of those that the fastest kernels evaluate."""
    placed, *others = stored.fields
    is_alone = not others and residual is None and placed.box == Box.whole(shape)
    return placed.field if is_alone and device_model.is_supported(placed.field) else None


class WholeKind:
    """All voxels of a volume that fits."""

    def accepts(self, volume: Volume, room: FieldRoom) -> bool:
        return dense_bytes(volume) <= room.budget_bytes and not room.in_bricks

    def make(self, volume: Volume, room: FieldRoom) -> DeviceField:
        return DenseField(volume, room.device)


class BrickKind:
    """A volume of any size."""

    def accepts(self, volume: Volume, room: FieldRoom) -> bool:
        return True

    def make(self, volume: Volume, room: FieldRoom) -> DeviceField:
        return BrickField(volume, room.device, room.budget_bytes)


FIELD_KINDS: tuple[FieldKind, ...] = (NeuralKind(), WholeKind(), BrickKind())
"""The first that accepts a volume makes its field."""


def make_field(volume: Volume, room: FieldRoom) -> DeviceField:
    """A volume on a device."""
    kinds = (*_plugged_kinds(), *FIELD_KINDS)
    return next(kind for kind in kinds if kind.accepts(volume, room)).make(volume, room)


@cache
def _plugged_kinds() -> tuple[FieldKind, ...]:
    found: list[FieldKind] = []
    for point in entry_points(group=GROUP):
        try:
            found.append(point.load())
        except Exception as error:  # noqa: BLE001  importing another package's module may raise anything
            _log.warning("Could not load the kind of field %s; it is skipped: %r.", point.name, error)
    return tuple(found)
