"""A folder of TIFF slices, one file for each plane.

Here: which files are the slices and their order, reading them, writing them one by one.
Not here: stacks in one file (tiff), pieces of pages (pages), numbers in names (file_numbers).
"""

import fnmatch
import logging
import os
import re
import threading
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import tifffile

from pellucid.box import Box, Shape
from pellucid.errors import (
    MAX_LISTED,
    ChunkConflict,
    DatasetAmbiguous,
    DatasetMissing,
    EmptyFile,
    Incomplete,
    InvalidInput,
    OutputExists,
    PellucidError,
)
from pellucid.formats.byte_sources import FileBytes, disk_full_errors, local_path, new_file, read_errors
from pellucid.formats.limits import FormatLimits
from pellucid.formats.local_files import check_regular
from pellucid.formats.location import Location
from pellucid.formats.protocol import Header, Layout, Level, Reader, Voxels, Writer, check_selection
from pellucid.formats.tiff.file_numbers import missing_numbers, natural_key
from pellucid.formats.tiff.header import TiffVoxelInfo, describe, print_head, read_voxel_info
from pellucid.formats.tiff.pages import PageLayout, Plane, geometry_of, opened, plane_of, read_window

_log = logging.getLogger(__name__)

LIMITS = FormatLimits("A folder of TIFF slices", codecs=("none", "gzip", "zstd"))
_COMPRESSIONS = {"gzip": "zlib", "zstd": "zstd"}
_SUFFIXES = (".tif", ".tiff")
# In the folder while slices are still missing.
_MARKER = ".unfinished"


def open_folder_reader(location: Location) -> "Reader | Path":
    """A reader of the slices, or the only file where it is a stack of its own."""
    folder = local_path(location)
    if (folder / _MARKER).exists():
        raise Incomplete(str(folder))
    files = slices_in(location)
    with opened(files[0]) as tif:
        if len(files) == 1 and len(tif.pages) > 1:
            return files[0]
        text = read_voxel_info(tif)
    _warn_of_gaps(folder, files)
    return FolderReader(folder, files, text)


def _warn_of_gaps(folder: Path, files: list[Path]) -> None:
    """Log which numbers are missing: without them every later slice lies closer than it was."""
    missing = list(islice(missing_numbers(path.name for path in files), MAX_LISTED + 1))
    if missing:
        listed = ", ".join(map(str, missing[:MAX_LISTED]))
        rest = " and more" if len(missing) > MAX_LISTED else ""
        _log.warning(
            "The slices numbered %s%s are missing in %s; the volume is read without them.", listed, rest, folder
        )


def slices_in(location: Location) -> list[Path]:
    """The slices of a folder in natural order; of several kinds of names, those asked for (``folder:/raw_*``)."""
    folder = local_path(location)
    with read_errors(folder):
        names = [entry.name for entry in folder.iterdir() if _is_slice(entry.name)]
    if not names:
        raise EmptyFile(str(folder), "TIFF files")
    kinds = Counter(re.sub(r"\d+", "*", name) for name in names)
    if location.dataset:
        names = [name for name in names if fnmatch.fnmatch(name, location.dataset[1:])]
        if not names:
            raise DatasetMissing(str(folder), location.dataset, [f"/{kind}" for kind in sorted(kinds)])
    elif len(kinds) > 1 and max(kinds.values()) > 1:
        raise DatasetAmbiguous(str(folder), [f"/{kind}" for kind in sorted(kinds)])
    return [folder / name for name in sorted(names, key=natural_key)]


def is_stack_folder(folder: Path) -> bool:
    """Whether the files of a folder are slices: of one kind, and several."""
    try:
        return len(slices_in(Location.parse(str(folder)))) > 1
    except PellucidError:
        return False


def _is_slice(name: str) -> bool:
    return name.lower().endswith(_SUFFIXES) and not name.startswith(".")


class FolderReader:
    """Slices of one size and type. Each file is opened only while it is read."""

    def __init__(self, folder: Path, files: list[Path], text: TiffVoxelInfo) -> None:
        self._folder = folder
        self._files = files
        self._planes: dict[int, Plane] = {}
        self._first = self._plane(0).geometry
        self._check_alike()
        rows, columns = (min(a, b) for a, b in zip(self._first.piece, self._first.shape, strict=True))
        level = Level((len(files), *self._first.shape), (1, rows, columns), text.spacing)
        self.header = Header((level,), self._first.dtype, text.unit, 1, self._first.samples, self._first.codec)

    def read(self, box: Box, out: Voxels, *, level: int = 0, t: int = 0, c: int = 0) -> None:
        check_selection(str(self._folder), self.header, level=level, t=t, c=c)
        (z0, y0, x0), (z1, y1, x1) = box.start, box.stop
        for z in range(z0, z1):
            plane = self._plane(z)
            file = FileBytes(plane.path)
            try:
                read_window(file, plane, (y0, y1), (x0, x1), c, out[z - z0])
            finally:
                file.close()

    def close(self) -> None:
        """Nothing is held open."""

    def _check_alike(self) -> None:
        """Uncompressed files of the first one's length are taken to be like it; every other one is opened."""
        length = self._files[0].stat().st_size
        for index, path in enumerate(self._files):
            with read_errors(path):
                is_alike = check_regular(path).st_size == length
            if self._first.codec or not is_alike:
                self._plane(index)

    def _plane(self, index: int) -> Plane:
        known = self._planes.get(index)
        if known is None:
            known = self._planes[index] = _only_plane(self._files[index])
            self._refuse_different(known)
        return known

    def _refuse_different(self, plane: Plane) -> None:
        first: PageLayout = getattr(self, "_first", plane.geometry)
        if not plane.geometry.matches(first):
            raise InvalidInput(
                f"{plane.path} is a slice of {_text(plane.geometry)}, and the first, {self._files[0].name}, "
                f"is one of {_text(first)}.",
                remedy="Move the other slices out of the folder, or choose by name: FOLDER:/PATTERN*.tif.",
            )


def _only_plane(path: Path) -> Plane:
    with opened(path) as tif:
        if len(tif.pages) != 1:
            raise InvalidInput(
                f"{path} has {len(tif.pages)} pages, but each slice in a folder must have one.",
                remedy="Open that file instead of its folder.",
            )
        page = tif.pages.first
        plane = plane_of(path, page, geometry_of(path, page))
    plane.require(path.stat().st_size)
    return plane


def _text(geometry: PageLayout) -> str:
    rows, columns = geometry.shape
    colours = f" x {geometry.samples} colours" if geometry.samples > 1 else ""
    return f"{columns} x {rows}{colours} {geometry.dtype}"


def open_folder_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    folder, level = local_path(location), LIMITS.check(location, layout)
    if not resume and folder.exists() and any(folder.iterdir()):
        raise OutputExists(str(folder))
    if not folder.exists():
        new_file(folder / _MARKER, 0)
    return FolderWriter(folder, level, layout, LIMITS.codec(location, layout))


class FolderWriter:
    """Whole slices, each in a file that appears when it is complete."""

    is_shareable = True

    def __init__(self, folder: Path, level: Level, layout: Layout, codec: str) -> None:
        self._folder = folder
        self._level = Level((1, *level.shape[1:]), (1, *level.shape[1:]), level.spacing)
        self._layout = layout
        self._codec = codec
        self._count = level.shape[0]
        self.grains: tuple[Shape, ...] = (self._level.shape,)

    def write(self, box: Box, voxels: Voxels, *, level: int = 0) -> None:
        if box.shape[1:] != self._level.shape[1:]:
            raise ChunkConflict(box.shape, self._level.shape)
        for index in range(box.shape[0]):
            self._write_slice(self._path(box.start[0] + index), voxels[index])

    def read(self, box: Box, out: Voxels, *, level: int = 0) -> None:
        (z0, y0, x0), (z1, y1, x1) = box.start, box.stop
        for z in range(z0, z1):
            plane = _only_plane(self._path(z))
            file = FileBytes(plane.path)
            try:
                read_window(file, plane, (y0, y1), (x0, x1), 0, out[z - z0])
            finally:
                file.close()

    def finish(self) -> None:
        if not all(self._path(index).exists() for index in range(self._count)):
            raise Incomplete(str(self._folder))
        (self._folder / _MARKER).unlink(missing_ok=True)

    def close(self) -> None:
        """Nothing is held open."""

    def _path(self, index: int) -> Path:
        return self._folder / f"slice_{index:0{max(5, len(str(self._count - 1)))}}.tif"

    def _write_slice(self, path: Path, voxels: Voxels) -> None:
        partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
        stored: np.ndarray[Any, Any] = np.ascontiguousarray(voxels, self._layout.dtype.newbyteorder("<"))
        with disk_full_errors(path):
            try:
                self._write_file(partial, stored)
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)

    def _write_file(self, path: Path, stored: Voxels) -> None:
        if self._codec == "none":
            with path.open("wb") as file:
                file.write(print_head(self._level, self._layout))
                file.write(stored.data)
            return
        text, compression = describe(self._level, self._layout), _COMPRESSIONS[self._codec]
        tifffile.imwrite(
            path, stored, compression=compression, description=text, metadata=None, photometric="minisblack"
        )
