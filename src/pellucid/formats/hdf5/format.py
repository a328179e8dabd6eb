"""HDF5: any dataset of a file, read on all cores; volumes and their levels written so that a kill loses nothing.

Here: the Reader, and the two functions every format has.
Not here: names and links (lookup), attributes (header), stored bytes (arrays, chunks), the writers
(writer), reading by several processes (parallel).

A file written here has its volume in ``/data`` (or the name given) with the attributes ``spacing`` (z, y, x) and
``unit``. Coarser levels are ``/levels/1``, ``/levels/2`` and so on, listed in its attribute ``levels``.
"""

from typing import Any

from pellucid.box import Box
from pellucid.errors import Corrupted
from pellucid.formats.byte_sources import local_path
from pellucid.formats.flat.reader_writer import with_values
from pellucid.formats.hdf5.links import LinkedFile
from pellucid.formats.hdf5.lookup import find_dataset
from pellucid.formats.hdf5.metadata import (
    axes_of,
    level_datasets,
    level_of,
    missing_of,
    native_type,
    pipeline_of,
    scaling_of,
    spacing_of,
)
from pellucid.formats.hdf5.read.arrays import Hdf5Array, stored_array
from pellucid.formats.hdf5.read.chunk_grid import Hdf5Axes
from pellucid.formats.hdf5.references import require_references
from pellucid.formats.hdf5.write.writer import create_or_resume
from pellucid.formats.location import Location
from pellucid.formats.orientation import from_attributes
from pellucid.formats.protocol import Header, Layout, Reader, Voxels, Writer, check_selection
from pellucid.formats.thread_pool import ThreadPool

# What h5py makes of broken metadata.
_BROKEN = (LookupError, OSError, RuntimeError, ValueError, TypeError, AttributeError, ArithmeticError, MemoryError)


class Hdf5Reader:
    """One dataset and its coarser levels, as they are stored.

    scaling: slope and intercept that turn the stored numbers into values; missing: numbers that stand for no value.
    """

    def __init__(self, location: Location, threads: int | None = None) -> None:
        self._path = str(local_path(location))
        self._threads = ThreadPool(threads)
        self._file = LinkedFile(local_path(location))
        try:
            dataset = find_dataset(self._file, self._path, location.dataset)
            self.dataset_name: str = dataset.name
            self.arrays: tuple[Hdf5Array, ...] = ()
            self._open_levels(dataset)
            self.scaling, self.missing = scaling_of(dataset), missing_of(dataset)
        except _BROKEN as error:
            self.close()
            raise Corrupted(self._path, f"its structure is invalid ({error})") from error
        except BaseException:
            self.close()
            raise

    def _open_levels(self, dataset: Any) -> None:
        require_references(dataset, self._path)
        axes = axes_of(dataset, self._path)
        dtype = native_type(dataset, self._path)
        spacing, unit = spacing_of(dataset)
        levels = []
        for each in level_datasets(self._file, dataset, self._path):
            own = axes_of(each, self._path)
            self.arrays += (stored_array(each, self._path, own, self._threads),)
            levels.append(level_of(each, own, axes, spacing or (1.0, 1.0, 1.0)))
        codec = pipeline_of(dataset, self._path).title if dataset.chunks else "none"
        self.axes: Hdf5Axes = axes
        orientation = from_attributes(dataset.attrs)
        self.header = Header(tuple(levels), dtype, unit, axes.length("t"), axes.length("c"), codec, orientation)

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        check_selection(self._path, self.header, level=level, t=t, c=c)
        if not box.is_empty:
            self.arrays[level].read(box, out, t, c)

    def close(self) -> None:
        for array in getattr(self, "arrays", ()):
            array.close()
        self._threads.close()
        self._file.close()


def open_reader(location: Location) -> Reader:
    """The dataset that the location names, or the only volume of the file."""
    reader = Hdf5Reader(location)
    return with_values(reader, *reader.scaling, reader.missing)


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    """A new file, or one begun before with the same layout."""
    return create_or_resume(location, layout, resume=resume)
