"""The fields that a renderer keeps on its device, within a budget.

Here: FieldStore: opening volumes and steps of series by name, and what is let go when memory is short.
Not here: what a volume becomes on a device (kinds).
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from pellucid.device import Device
from pellucid.fields.dense import DenseField, dense_bytes
from pellucid.fields.device_field import DeviceField
from pellucid.fields.kinds import FieldRoom, make_field
from pellucid.fields.labels import LabelVolume
from pellucid.fields.prefetch import FieldPrefetcher
from pellucid.settings import current
from pellucid.volume.open_files import OpenFiles
from pellucid.volume.series import at_step, time_steps
from pellucid.volume.volume import Volume

SHARE_OF_CARD = 0.8
"""Of the free memory of a CUDA device: images and scratch need some, and so do others."""


class FieldKey(NamedTuple):
    """One field of a volume: of its values, or of its labels, which may both be drawn."""

    source: str
    is_labels: bool = False


class FieldStore:
    """Fields by the name of their volume. budget_bytes: for all of them together; by default what the settings allow,
    or most of a CUDA device's free memory. in_bricks: even where they fit, because only a part of them is wanted.
    files: what opens files, where others read the same ones."""

    def __init__(
        self,
        device: Device,
        budget_bytes: int | None = None,
        *,
        in_bricks: bool = False,
        files: OpenFiles | None = None,
    ) -> None:
        self._device = device
        self._in_bricks = in_bricks
        self._budget_bytes = budget_bytes
        self._files = files or OpenFiles()
        self._volumes: dict[str, Volume] = {}
        self._opened: dict[FieldKey, Volume] = {}
        self._fields: dict[FieldKey, DeviceField] = {}
        self._ahead = FieldPrefetcher()
        self._steps: dict[str, int] = {}

    def name_at(self, source: str, time: float) -> str:
        """The name of what a source is at a time: of a series the nearest step, of anything else the source itself."""
        if source in self._volumes or any(key in self._fields for key in _keys(source)):
            return source
        if source not in self._steps:
            self._steps[source] = time_steps(source, self._files.open_series)
        return str(at_step(source, self._steps[source], time)) if self._steps[source] > 1 else source

    def add(self, volume: Volume) -> None:
        """Take this volume where its name is asked for: one that has no file, or that announces changes."""
        for key in _keys(str(volume.location)):
            self.release(key)
        self._volumes[str(volume.location)] = volume

    def put(self, source: str, field: DeviceField) -> None:
        """Take this field where the name is asked for."""
        key = FieldKey(source, is_labels=field.labels is not None)
        self.release(key)
        self._fields[key] = field

    def get(self, keys: Sequence[FieldKey]) -> list[DeviceField]:
        """These fields; where memory is short, others are let go, the least recently used first."""
        self._fields |= self._ahead.take_ready()
        self._fields |= {key: self._ahead.take(key) for key in keys if key in self._ahead}
        missing = [key for key in dict.fromkeys(keys) if key not in self._fields]
        for number, key in enumerate(missing):
            volume = self._open(key)
            self._make_room(dense_bytes(volume), keys)
            self._fields[key] = self._make(volume, self._left() // (len(missing) - number))
        for key in dict.fromkeys(keys):
            self._fields[key] = self._fields.pop(key)  # to the end: it was just used
        return [self._fields[key] for key in keys]

    def loaded(self, key: FieldKey) -> DeviceField | None:
        """The field of a volume, if there is one by now."""
        return self._fields.get(key)

    def read_ahead(self, keys: Sequence[FieldKey]) -> None:
        """Load what will be wanted next in the background, as far as there is room beside what is there."""
        for key in keys:
            if key in self._fields or key in self._ahead or self._in_bricks:
                continue
            volume = self._open(key)
            if dense_bytes(volume) <= self._left() and volume.neural is None:
                self._ahead.start(key, dense_bytes(volume), partial(DenseField, volume, self._device))

    def release(self, key: FieldKey) -> None:
        """Give the memory of a field back."""
        if key in self._fields:
            self._fields.pop(key).close()
        if key in self._opened:
            self._opened.pop(key).close()

    def forget(self, source: str) -> None:
        """Give up a volume, all of its steps, and what was made of them; a file is opened again when it is wanted."""
        self._fields |= self._ahead.take_ready(wait=True)
        steps = self._steps.pop(source, 1)
        for name in {source, *(str(at_step(source, steps, step)) for step in range(steps) if steps > 1)}:
            for key in _keys(name):
                self.release(key)
        self._volumes.pop(source, None)
        self._files.forget(source)

    def close(self) -> None:
        """Give all of it back."""
        self._fields |= self._ahead.take_ready(wait=True)
        for key in list(self._fields):
            self.release(key)

    def _open(self, key: FieldKey) -> Volume:
        if key.source in self._volumes and not key.is_labels:
            return self._volumes[key.source]
        if key not in self._opened:
            self._opened[key] = self._open_file(key)
        return self._opened[key]

    def _open_file(self, key: FieldKey) -> Volume:
        if not key.is_labels:
            return self._files.open_volume(key.source)
        given = self._volumes.get(key.source)
        return LabelVolume(given or self._files.open_volume(key.source), is_owner=given is None)

    def _make_room(self, needs: int, kept: Sequence[FieldKey]) -> None:
        if self._left() < needs:
            self._fields |= self._ahead.take_ready(wait=True)
        for other in [other for other in self._fields if other not in kept]:
            if self._left() < needs:
                self.release(other)

    def _make(self, volume: Volume, budget_bytes: int) -> DeviceField:
        return make_field(volume, FieldRoom(self._device, budget_bytes, in_bricks=self._in_bricks))

    def _left(self) -> int:
        if self._device.is_cuda and self._budget_bytes is None:
            return int(SHARE_OF_CARD * self._device.free_bytes())
        budget = current().memory_bytes if self._budget_bytes is None else self._budget_bytes
        return budget - sum(field.nbytes for field in self._fields.values()) - self._ahead.nbytes


def _keys(source: str) -> tuple[FieldKey, FieldKey]:
    """All fields that there may be of a volume."""
    return FieldKey(source), FieldKey(source, is_labels=True)
