"""Points in files: ``.npy``, ``.npz`` and ``.csv`` with columns x, y, z and value.

Here: load_points.
Not here: points in memory (geometry), drawing them (spheres).
"""

import zlib
from io import BytesIO, TextIOWrapper
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import numpy as np

from pellucid import settings
from pellucid.errors import Corrupted, InvalidInput, NotEnoughMemory
from pellucid.formats.byte_sources import existing_file, open_bytes, read_npy
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.shapes import MEMORY, Points, in_memory

# What NumPy and zipfile are seen to raise on bytes that make no sense.
_BROKEN = (ValueError, EOFError, BadZipFile, OSError, LookupError, TypeError, RuntimeError, MemoryError, zlib.error)
COLUMNS = ("x", "y", "z", "value")
POINT_FILES = (".npy", ".npz", ".csv")
REMEDY = "Use the columns x, y, z and value."


def load_points(source: str) -> Points:
    """Points by name: a file, or ``memory:...`` for Points of this process."""
    if source.startswith(MEMORY):
        return in_memory(source, Points)
    path = checked_file(source)
    if path.suffix.lower() not in POINT_FILES:
        remedy = f"Use a file that ends in {', '.join(POINT_FILES)}, with columns x, y, z and value."
        raise InvalidInput(f"{path} is not a point file.", remedy=remedy)
    try:
        columns = _read_csv(path) if path.suffix.lower() == ".csv" else _read_numpy(path)
    except _BROKEN as error:
        raise Corrupted(str(path), f"it cannot be read as points ({error})") from error
    return Points(columns[:, :3], columns[:, 3])


def checked_file(source: str) -> Path:
    """A local file that exists, is not empty, and fits into memory."""
    path = Location.parse(source).local
    size, has = existing_file(path).stat().st_size, settings.available_memory_bytes()
    if 4 * size > has:  # Read, parsed, and ordered once more.
        raise NotEnoughMemory(4 * size, has, remedy="Use a machine with more memory, or a smaller file.")
    return path


def _read_numpy(path: Path) -> Voxels:
    if path.suffix.lower() == ".npy":
        return _from_array(path, read_npy(path))
    with open_bytes(path) as file, ZipFile(file) as archive:
        needs, has = sum(member.file_size for member in archive.infolist()), settings.available_memory_bytes()
        if 4 * needs > has:
            raise NotEnoughMemory(4 * needs, has, remedy="Use a machine with more memory, or a smaller file.")
        return _from_names(path, {name.removesuffix(".npy"): _member(archive, name) for name in archive.namelist()})


def _member(archive: ZipFile, name: str) -> Voxels:
    array: Voxels = np.load(BytesIO(archive.read(name)), allow_pickle=False)
    return array


def _from_array(path: Path, array: Voxels) -> Voxels:
    if array.dtype.names:
        return _from_names(path, {name: array[name] for name in array.dtype.names})
    if array.ndim != 2 or array.shape[1] != len(COLUMNS):
        raise InvalidInput(f"{path} has shape {array.shape}.", remedy=f"{REMEDY} That is (n, 4).")
    return array


def _from_names(path: Path, arrays: dict[str, Voxels]) -> Voxels:
    if "positions" in arrays and "values" in arrays:
        return np.concatenate([arrays["positions"], np.asarray(arrays["values"])[:, None]], axis=1)
    if missing := [name for name in COLUMNS if name not in arrays]:
        raise InvalidInput(f"{path} has no {missing[0]!r}; it has {', '.join(sorted(arrays))}.", remedy=REMEDY)
    return np.stack([np.asarray(arrays[name]).ravel() for name in COLUMNS], axis=1)


def _read_csv(path: Path) -> Voxels:
    """With a line of names in front, or without one: then the four columns in order."""
    with TextIOWrapper(open_bytes(path), "utf-8-sig") as file:
        names = [name.strip().strip('"').lower() for name in file.readline().split(",")]
        is_empty = not file.readline().strip()
    has_names = not _is_number(names[0])
    if has_names and (missing := [name for name in COLUMNS if name not in names]):
        raise InvalidInput(f"{path} has no column {missing[0]!r}; it has {', '.join(names)}.", remedy=REMEDY)
    wanted = [names.index(name) for name in COLUMNS] if has_names else range(len(COLUMNS))
    if has_names and is_empty:
        return np.empty((0, len(COLUMNS)))
    read: Voxels = np.loadtxt(
        path, np.float64, delimiter=",", skiprows=int(has_names), usecols=list(wanted), ndmin=2, encoding="utf-8-sig"
    )
    return read


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
