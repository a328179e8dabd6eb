"""``.plf`` files: neural fields that open like any volume.

Here: reading them, and what there is to say about one.
Not here: evaluation (neural_volume, lattice_evaluation), making fields.
"""

import threading
from collections import OrderedDict
from dataclasses import replace
from functools import partial
from math import isfinite, prod
from pathlib import Path
from typing import Any

from pellucid.box import Box
from pellucid.errors import NotWritable
from pellucid.formats.byte_sources import local_path
from pellucid.formats.location import Location
from pellucid.formats.neural_field.container import FileSections
from pellucid.formats.neural_field.decoded_bricks import DecodedBricks
from pellucid.formats.neural_field.neural_volume import NeuralVolume, to_voxel_type
from pellucid.formats.neural_field.residual import Residual, ResidualValues
from pellucid.formats.neural_field.stored_volume import StoredSeries
from pellucid.formats.protocol import Layout, Voxels, Writer

MAX_STEPS_KEPT = 4
"""Steps of a series whose parameters stay decoded, beside the first."""


class NeuralReader:
    """A neural volume, evaluated when its voxels are read; with a residual, within its bound at the full resolution.

    volume: the first step of a series, or the only one.
    """

    def __init__(self, path: Path) -> None:
        self._file = FileSections(path)
        try:
            self._series = StoredSeries(self._file)
            self.volume = self._series.volume()
        except BaseException:
            self._file.close()
            raise
        stored, times = self._series.header.residual, self._series.header.times
        self.residual = Residual(self._file, stored, self.volume.shape, times) if stored else None
        self.header = replace(self.volume.header, times=times, compression=self._compression(times))
        self._levels = len(self.header.levels)
        self._steps: OrderedDict[int, NeuralVolume] = OrderedDict()
        self._lock = threading.Lock()
        self._bricks = DecodedBricks(self._decoded, [level.shape for level in self.header.levels] * times)

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        self._bricks.read(box, out, t * self._levels + level)

    def volume_at(self, t: int) -> NeuralVolume:
        """The volume of a step of a series."""
        if t == 0:
            return self.volume
        with self._lock:
            if t not in self._steps:
                self._steps[t] = self._series.volume(t)
            self._steps.move_to_end(t)
            while len(self._steps) > MAX_STEPS_KEPT:
                self._steps.popitem(last=False)
            return self._steps[t]

    def _decoded(self, box: Box, number: int) -> Voxels:
        """number: of the level, counted over the levels of all steps."""
        t, level = divmod(number, self._levels)
        values = self.volume_at(t).values(box, level)
        if self.residual and level == 0:
            self.residual.add_to(values, box, t)
        voxels: Voxels = to_voxel_type(values, self.header.dtype)
        return voxels

    def neural_at(self, t: int) -> tuple[NeuralVolume, ResidualValues | None]:
        """The fields of a step, and what is added to their voxels at the full resolution."""
        volume = self.volume_at(t)
        return volume, partial(self.residual.read, field_values=volume.values, t=t) if self.residual else None

    def _compression(self, times: int) -> str:
        """Such as "neural field, 131 kB, 128 : 1, 41.2 dB"."""
        bound = f", every voxel within {self.residual.stored.bound:g}" if self.residual else ""
        psnr = self.volume.quality.get("psnr")
        quality = f", {psnr:.1f} dB" if psnr is not None and isfinite(psnr) else ""
        ratio = prod(self.volume.shape) * self.volume.dtype.itemsize * times / self.file_bytes
        return f"neural field, {self.file_bytes / 1000:,.0f} kB, {ratio:,.0f} : 1{quality}{bound}"

    @property
    def file_bytes(self) -> int:
        return self._file.file_bytes

    def close(self) -> None:
        self._file.close()


def open_reader(location: Location) -> NeuralReader:
    return NeuralReader(local_path(location))


def neural_facts(location: Location) -> dict[str, Any]:
    """What a neural field has beside any volume's facts, as plain values. residual_bytes: of ``file_bytes``."""
    reader = open_reader(location)
    try:
        volume, residual = reader.volume, reader.residual
        voxel_bytes = prod(volume.shape) * volume.dtype.itemsize * reader.header.times
        return {
            "model": volume.fields[0].field.kind,
            "fields": len(volume.fields),
            "parameters": volume.parameter_count,
            "file_bytes": reader.file_bytes,
            "residual_bytes": residual.byte_count if residual else 0,
            "max_error": residual.stored.bound if residual else None,
            "compression_ratio": voxel_bytes / reader.file_bytes,
            "quality": dict(volume.quality),
        }
    finally:
        reader.close()


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    raise NotWritable(location.path, "neural is read-only")
