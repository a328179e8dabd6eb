"""Which format a file is in: by content first, then by name.

Here: the table of formats, recognition, and opening by Location.
Not here: any format's bytes (one module each), formats of other packages (plugins). Choosing one imports no other.
"""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pellucid.errors import EmptyFile, InvalidInput, NotWritable, UnknownFormat, Unreadable
from pellucid.formats.byte_sources import UNFINISHED, missing_error, open_bytes, read_errors
from pellucid.formats.damage import check_header, known_spacing, naming_damage
from pellucid.formats.local_files import check_allowed
from pellucid.formats.location import OPTIONS, Location
from pellucid.formats.plugins import load_plugin, plugin_by_content, plugin_by_suffix, plugin_names
from pellucid.formats.protocol import Format, Layout, Reader, Writer

HEAD_BYTES = 1024


@dataclass(frozen=True)
class FormatSpec:
    """A format's module below this folder, and how it is recognised: the bytes it starts with, the files its folder
    holds, the ends of its names. is_always_marked: whether a file without those first bytes is surely of another kind.
    """

    module: str
    suffixes: tuple[str, ...]
    magic: tuple[tuple[int, bytes], ...] = ()
    markers: tuple[str, ...] = ()
    is_writable: bool = True
    is_always_marked: bool = False

    @property
    def is_folder(self) -> bool:
        return bool(self.markers)


KINDS: dict[str, FormatSpec] = {
    "zarr": FormatSpec(
        "chunked.zarr",
        (".zarr", ".ome.zarr", ".zarr2"),
        markers=("zarr.json", ".zarray", ".zgroup", ".zattrs"),
    ),
    "n5": FormatSpec("chunked.n5", (".n5",), markers=("attributes.json",)),
    "precomputed": FormatSpec("chunked.precomputed", (".precomputed",), markers=("info",), is_writable=False),
    "hdf5": FormatSpec("hdf5.format", (".h5", ".hdf5", ".hdf", ".nxs", ".nx5"), ((0, b"\x89HDF\r\n\x1a\n"),)),
    "netcdf": FormatSpec(
        "flat.netcdf",
        (".nc", ".nc3", ".nc4", ".cdf"),
        ((0, b"CDF\x01"), (0, b"CDF\x02"), (0, b"CDF\x05")),
        is_always_marked=True,
    ),
    "tiff": FormatSpec(
        "tiff.format",
        (".tif", ".tiff", ".ome.tif"),
        ((0, b"II*\0"), (0, b"MM\0*"), (0, b"II+\0"), (0, b"MM\0+")),
        is_always_marked=True,
    ),
    "nrrd": FormatSpec("flat.nrrd", (".nrrd", ".nhdr"), ((0, b"NRRD"),), is_always_marked=True),
    "nifti": FormatSpec(
        "flat.nifti",
        (".nii", ".nii.gz"),
        ((344, b"n+1\0"), (4, b"n+2\0"), (344, b"ni1\0"), (4, b"ni2\0")),
    ),
    "metaimage": FormatSpec("flat.metaimage", (".mha", ".mhd"), ((0, b"ObjectType"), (0, b"NDims"))),
    "hipic": FormatSpec("hipic", (".his", ".img"), ((0, b"IM"),), is_writable=False),
    "npy": FormatSpec("flat.npy", (".npy",), ((0, b"\x93NUMPY"),), is_always_marked=True),
    "neural": FormatSpec(
        "neural_field.format", (".plf",), ((0, b"\x89PLF\r\n\x1a\n"),), is_writable=False, is_always_marked=True
    ),
    "memory": FormatSpec("in_memory", (), is_writable=False),
    "raw": FormatSpec("flat.raw", (".raw", ".bin", ".dat", ".vol")),
}


def open_reader(location: Location) -> Reader:
    """Open what is there, whatever its format."""
    name = recognise(location)
    opening = _load(name).open_reader
    with naming_damage(location.path, f"it could not be read as {name}"):
        reader = opening(location)
    try:
        check_header(location.path, reader.header)
        reader.header = known_spacing(location.path, reader.header)
    except BaseException:
        reader.close()
        raise
    return reader


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    """Create an output in the format that its name asks for."""
    name = format_for_writing(location)
    return _load(name).open_writer(location, layout, resume=resume)


def recognise(location: Location) -> str:
    """The name of the format at a location."""
    _refuse_other_schemes(location)
    request = location.option("format")
    if request:
        return _checked(request)
    if location.is_memory:
        return "memory"
    if location.is_remote:
        return _by_name(location.path) or plugin_by_suffix(location.path) or _by_objects(location)
    path = location.local
    check_allowed(path)
    with read_errors(path):
        is_there = path.exists()
    if not is_there:
        _refuse_bad_colon(location)
        raise missing_error(path)
    return _by_folder(path) if path.is_dir() else _by_file(path, has_shape=location.option("shape") is not None)


def format_for_writing(location: Location) -> str:
    """The name of the writable format that the output's name asks for."""
    _refuse_other_schemes(location)
    request = location.option("format")
    by_name = _by_name(location.path) or plugin_by_suffix(location.path)
    name = _checked(request) if request else by_name or _folder_of_slices(location)
    if name in KINDS and not KINDS[name].is_writable:
        raise NotWritable(location.path, f"{name} is read-only", writable_formats())
    return name


def has_shards(location: Location) -> bool:
    """Whether an output of this name can be written in shards: Zarr v3, but not Zarr v2 (``.zarr2``)."""
    return format_for_writing(location) == "zarr" and not location.path.rstrip("/").lower().endswith(".zarr2")


def writable_formats() -> list[str]:
    return [name for name, kind in KINDS.items() if kind.is_writable]


def known_formats() -> list[str]:
    """Names that ``format=`` takes."""
    return [*(name for name in KINDS if name != "memory"), *plugin_names()]


def _refuse_other_schemes(location: Location) -> None:
    scheme, colon, _ = location.path.partition("://")
    if colon and not location.is_remote:
        raise InvalidInput(
            f"Addresses with {scheme}:// are not supported ({location.path}).",
            remedy="Use a local path or an s3:// address, or mount it as a folder.",
        )


def _refuse_bad_colon(location: Location) -> None:
    """Where the part before a colon is there, say how what comes after it is written."""
    file, colon, rest = location.path.rpartition(":")
    if not colon or not file or not Location(file).local.exists():
        return
    if "=" in rest:
        remedy = f"Valid options: {', '.join(OPTIONS)}, written {file}:t=0,c=1."
    else:
        remedy = f"Write {file}:/{rest or 'NAME'} for a dataset in it{'' if rest else ', or leave out the colon'}."
    raise InvalidInput(f"{location.path} does not exist, but {file} does.", remedy=remedy)


def _folder_of_slices(location: Location) -> str:
    """A name ending in a slash asks for a folder of TIFF slices."""
    if location.path.endswith("/"):
        return "tiff"
    raise NotWritable(
        location.path, "its name does not match a known format", [*writable_formats(), "a folder/ of TIFF"]
    )


def _by_file(path: Path, *, has_shape: bool) -> str:
    head = _head(path)
    if not head:
        raise EmptyFile(str(path))
    if _is_voxels_of_pair(path):
        return "nifti"
    found = _by_content(head) or plugin_by_content(str(path), head)
    if found:
        return found
    _refuse_voxels_of_pair(path)
    named = _by_name(path.name)
    if named and not _is_false_name(named, head):
        return named
    if has_shape:
        return "raw"
    return _refuse_false_name(path, named) if named else plugin_by_suffix(path.name) or _refuse(str(path))


def _is_voxels_of_pair(path: Path) -> bool:
    """Whether it is the .img of a NIfTI pair, which may begin with any bytes: its .hdr says so."""
    header = path.with_suffix(".hdr")
    return path.suffix.lower() == ".img" and header.is_file() and _by_content(_head(header)) == "nifti"


def _refuse_voxels_of_pair(path: Path) -> None:
    header = path.with_suffix(".hdr")
    if path.suffix.lower() == ".img" and header.is_file():
        raise InvalidInput(
            f"The header of {path}, {header.name}, is not a NIfTI header.",
            remedy=f"Convert the pair to NIfTI, or open its voxels with {path}:format=raw,shape=Z,Y,X,dtype=int16.",
        )


def _is_false_name(named: str, head: bytes) -> bool:
    """Whether the content cannot be what the name says. Our own outputs lack their first bytes until the end."""
    kind = KINDS[named]
    return (kind.is_folder or kind.is_always_marked) and not head.startswith(UNFINISHED)


def _refuse_false_name(path: Path, named: str) -> str:
    what = "it has another format" if KINDS[named].is_folder else "its content does not match"
    raise InvalidInput(
        f"{path} is named like {named}, but {what}.",
        remedy="Check the program that wrote it. If you know the format, rename the file or add :format=NAME.",
    )


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
    if any(entry.lower().endswith(".img") for entry in names):
        return "hipic"
    plugged = plugin_by_content(str(path), b"")
    return plugged or _by_name(path.name) or plugin_by_suffix(path.name) or _by_parent(str(path)) or _refuse(str(path))


def _by_objects(location: Location) -> str:
    """A remote folder whose name says nothing: by the metadata objects in it."""
    from pellucid.formats.chunked.tensorstore_backend import present_markers

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
    with open_bytes(path) as file, read_errors(path):
        return file.read(HEAD_BYTES)


def _refuse(path: str) -> str:
    raise UnknownFormat(path, known_formats())


def _checked(name: str) -> str:
    if name not in KINDS and name not in plugin_names():
        raise InvalidInput(f"Unknown format {name!r}.", remedy=f"Use one of: {', '.join(known_formats())}.")
    return name


def _load(name: str) -> Format:
    if name in KINDS:
        return cast(Format, importlib.import_module(f"pellucid.formats.{KINDS[name].module}"))
    return load_plugin(name)
