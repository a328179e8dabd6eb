"""``.plf`` files: neural fields that open like any volume.

Here: reading them, in NumPy.
Not here: making them (pellucid.neural, ``pellucid compress``), evaluation on devices (pellucid.fields).
"""

from pathlib import Path

from pellucid.box import Box
from pellucid.errors import NotWritable
from pellucid.formats.byte_sources import local_path
from pellucid.formats.location import Location
from pellucid.formats.neural_field.container import FileSections
from pellucid.formats.neural_field.neural_volume import to_voxel_type
from pellucid.formats.neural_field.residual import Residual
from pellucid.formats.neural_field.stored_volume import from_sections
from pellucid.formats.protocol import Layout, Voxels, Writer


class NeuralReader:
    """A neural volume, evaluated when its voxels are read; with a residual, within its bound at the full resolution."""

    def __init__(self, path: Path) -> None:
        self._file = FileSections(path)
        try:
            self.volume, stored = from_sections(self._file)
        except BaseException:
            self._file.close()
            raise
        self.residual = Residual(self._file, stored, self.volume.shape) if stored else None
        self.header = self.volume.header

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        values = self.volume.values(box, level)
        if self.residual and level == 0:
            values += self.residual.read(box)
        out[...] = to_voxel_type(values, self.header.dtype)

    def close(self) -> None:
        self._file.close()


def open_reader(location: Location) -> NeuralReader:
    return NeuralReader(local_path(location))


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    raise NotWritable(location.path, "neural fields are made with pellucid compress")
