"""Which format a file is in: by content first, then by name.

Here: the table of formats, recognition, and opening by Location.
Not here: any format's bytes (one module each). Choosing one imports none of the others.

Third parties add formats through the entry point group ``pellucid.formats``: an object with ``open_reader``,
``open_writer`` and ``recognises(path, head) -> bool``.
"""

import importlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol, cast

from pellucid.errors import EmptyFile, InvalidInput, NotFound, NotWritable, UnknownFormat, Unreadable
from pellucid.formats.location import Location
from pellucid.formats.protocol import Format, Layout, Reader, Writer

HEAD_BYTES = 1024


@dataclass(frozen=True)
class Kind:
    """A format's module below this folder, and how it is recognised: the bytes it starts with, the files its folder
    holds, the ends of its names."""

    module: str
    suffixes: tuple[str, ...]
    magic: tuple[tuple[int, bytes], ...] = ()
    markers: tuple[str, ...] = ()
    is_writable: bool = True


KINDS: dict[str, Kind] = {
    "zarr": Kind(
        "chunked.zarr",
        (".zarr", ".ome.zarr", ".zarr2"),
        markers=("zarr.json", ".zarray", ".zgroup", ".zattrs"),
    ),
    "n5": Kind("chunked.n5", (".n5",), markers=("attributes.json",)),
    "precomputed": Kind("chunked.precomputed", (".precomputed",), markers=("info",), is_writable=False),
    "hdf5": Kind("hdf5.format", (".h5", ".hdf5", ".hdf", ".nxs", ".nx5"), ((0, b"\x89HDF\r\n\x1a\n"),)),
    "netcdf": Kind(
        "flat.netcdf",
        (".nc", ".nc3", ".nc4", ".cdf"),
        ((0, b"CDF\x01"), (0, b"CDF\x02"), (0, b"CDF\x05")),
    ),
    "tiff": Kind(
        "tiff.format",
        (".tif", ".tiff", ".ome.tif"),
        ((0, b"II*\0"), (0, b"MM\0*"), (0, b"II+\0"), (0, b"MM\0+")),
    ),
    "nrrd": Kind("flat.nrrd", (".nrrd", ".nhdr"), ((0, b"NRRD000"),)),
    "nifti": Kind(
        "flat.nifti",
        (".nii", ".nii.gz"),
        ((344, b"n+1\0"), (4, b"n+2\0"), (344, b"ni1\0"), (4, b"ni2\0")),
    ),
    "metaimage": Kind("flat.metaimage", (".mha", ".mhd"), ((0, b"ObjectType"), (0, b"NDims"))),
    "npy": Kind("flat.npy", (".npy",), ((0, b"\x93NUMPY"),)),
    "memory": Kind("memory", (), is_writable=False),
    "raw": Kind("flat.raw", (".raw", ".bin", ".dat", ".vol")),
}


class PluggedFormat(Format, Protocol):
    """A third party's format."""

    def recognises(self, path: str, head: bytes) -> bool: ...


def open_reader(location: Location) -> Reader:
    """Open what is there, whatever its format."""
    return _load(recognise(location)).open_reader(location)


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    """Create an output in the format that its name asks for."""
    name = format_for_writing(location)
    return _load(name).open_writer(location, layout, resume=resume)


def recognise(location: Location) -> str:
    """The name of the format at a location."""
    asked = location.option("format")
    if asked:
        return _checked(asked)
    if location.is_memory:
        return "memory"
    if location.is_remote:
        return _by_name(location.path) or _by_objects(location)
    path = location.local
    if not path.exists():
        raise NotFound(location.path)
    return _by_folder(path) if path.is_dir() else _by_file(path, has_shape=location.option("shape") is not None)


def format_for_writing(location: Location) -> str:
    """The name of the writable format that the output's name asks for."""
    asked = location.option("format")
    name = _checked(asked) if asked else _by_name(location.path) or _folder_of_slices(location)
    if name in KINDS and not KINDS[name].is_writable:
        raise NotWritable(location.path, f"{name} is only read", writable_formats())
    return name


def writable_formats() -> list[str]:
    return [name for name, kind in KINDS.items() if kind.is_writable]


def _folder_of_slices(location: Location) -> str:
    """A name ending in a slash asks for a folder of TIFF slices."""
    if location.path.endswith("/"):
        return "tiff"
    raise NotWritable(
        location.path, "its name asks for no format known here", [*writable_formats(), "a folder/ of TIFF"]
    )


def _by_file(path: Path, *, has_shape: bool) -> str:
    head = _head(path)
    if not head:
        raise EmptyFile(str(path))
    return _by_content(head) or _plugged(str(path), head) or _by_name(path.name) or _raw(path, has_shape)


def _raw(path: Path, has_shape: bool) -> str:
    return "raw" if has_shape else _refuse(str(path))


def _by_content(head: bytes) -> str | None:
    for name, kind in KINDS.items():
        if any(head[at : at + len(magic)] == magic for at, magic in kind.magic):
            return name
    return None


def _by_folder(path: Path) -> str:
    try:
        names = {entry.name for entry in path.iterdir()}
    except OSError as error:
        raise Unreadable(str(path), error.strerror or str(error)) from error
    if not names:
        raise EmptyFile(str(path))
    for name, kind in KINDS.items():
        if names.intersection(kind.markers):
            return name
    if any(entry.lower().endswith((".tif", ".tiff")) for entry in names):
        return "tiff"
    return _plugged(str(path), b"") or _by_name(path.name) or _by_parent(str(path)) or _refuse(str(path))


def _by_objects(location: Location) -> str:
    """A remote folder whose name says nothing: by the metadata objects in it."""
    from pellucid.formats.chunked.tensor import present_markers

    present = present_markers(location, [marker for kind in KINDS.values() for marker in kind.markers])
    found = next((name for name, kind in KINDS.items() if present.intersection(kind.markers)), None)
    return found or _by_parent(location.path) or _refuse(location.path)


def _by_parent(path: str) -> str | None:
    """A group inside a chunk store (``scan.n5/raw``) needs no metadata of its own."""
    parents = path.rstrip("/").split("/")[:-1]
    stores = [name for name, kind in KINDS.items() if kind.markers]
    return next((found for part in reversed(parents) if (found := _by_name(part)) in stores), None)


def _by_name(name: str) -> str | None:
    lowered = name.rstrip("/").lower()
    for kind_name, kind in KINDS.items():
        if lowered.endswith(kind.suffixes):
            return kind_name
    return None


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise Unreadable(str(path), error.strerror or str(error)) from error


def _refuse(path: str) -> str:
    raise UnknownFormat(path, [*KINDS, *_plugins()])


def _checked(name: str) -> str:
    if name not in KINDS and name not in _plugins():
        raise InvalidInput(f"There is no format {name!r}.", do=f"Known: {', '.join([*KINDS, *_plugins()])}.")
    return name


def _plugged(path: str, head: bytes) -> str | None:
    return next((name for name in _plugins() if _plugin(name).recognises(path, head)), None)


def _load(name: str) -> Format:
    if name in KINDS:
        return cast(Format, importlib.import_module(f"pellucid.formats.{KINDS[name].module}"))
    return _plugin(name)


@cache
def _plugin(name: str) -> PluggedFormat:
    (found,) = entry_points(group="pellucid.formats", name=name)
    return cast(PluggedFormat, found.load())


def _plugins() -> list[str]:
    return [point.name for point in entry_points(group="pellucid.formats")]
