"""The files that a volume comes from, and a short text that changes when one of them may have changed.

Here: source_files; fingerprints of files, folders and remote volumes.
Not here: what they key (engines.markers, volume.cache), comparing them with an output (engines.output_check).
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pellucid.errors import NotFound, PellucidError
from pellucid.formats.byte_sources import read_errors
from pellucid.formats.local_files import recorded_paths
from pellucid.formats.location import Location
from pellucid.formats.registry import open_reader, recognise

_LISTED = ("tiff", "hipic")
"""Formats of which a folder may hold other files too: only those that the reader names belong to the volume."""

_ALONE = ("neural",)
"""Formats of a single file that names no other: they need not be opened, which takes a while."""


@dataclass(frozen=True)
class SourceFiles:
    """Where voxels and header of a volume are. Links are followed. folders: every file below them counts."""

    files: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()

    def walk(self) -> Iterator[Path]:
        """Every single file, in an order that does not depend on the disk."""
        yield from self.files
        for folder in self.folders:
            yield from _files_below(folder)


def source_files(location: Location) -> SourceFiles:
    """Every local file that a volume's voxels and header come from, in whatever file it is named.

    That is: detached voxels, members of a set, external, virtual and linked HDF5 files. What cannot be opened as a
    volume counts with all that it names as far as it can be followed.
    """
    if location.is_memory or location.is_remote:
        return SourceFiles()
    with recorded_paths() as paths:
        is_open = _format(location) in _ALONE or _is_opened(location)
        _follow_hdf5(location, is_open=is_open)
    real = location.local.resolve()
    is_whole_folder = real.is_dir() and not (is_open and _format(location) in _LISTED)
    found = {Path(path) for path in paths if os.path.isfile(path)}  # noqa: PTH113  # Of every slice.
    if real.is_file():
        found.add(real)
    folders = (real,) if is_whole_folder else ()
    outside = (path for path in found if not is_whole_folder or real not in path.parents)
    return SourceFiles(tuple(sorted(outside)), folders)


def fingerprint(location: Location) -> str:
    """32 hexadecimal digits made from names, sizes, inodes and times of change; contents are not read."""
    if location.is_memory:
        return location.path  # Never given twice, in this process or another.
    if location.is_remote:
        from pellucid.formats.chunked.tensorstore_backend import remote_fingerprint

        return str(remote_fingerprint(location))
    path = location.local.resolve()
    if not path.exists():
        raise NotFound(location.path)
    sources = source_files(location)
    folders = dict.fromkeys([*sources.folders, *([path] if path.is_dir() else [])])
    files = dict.fromkeys(SourceFiles(sources.files, tuple(folders)).walk())
    return _digest(f"{path}\0{location.dataset}", files)


def file_fingerprint(path: Path) -> str:
    """The fingerprint of one file, whatever it names."""
    real = path.resolve()
    return _digest(str(real), [real])


def _digest(name: str, files: "dict[Path, None] | list[Path]") -> str:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=16)
    for path in files:
        with read_errors(path):
            digest.update(_line(path).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _line(path: Path) -> str:
    """Inode and status change time reveal a copy that kept size and time. The device's number changes at a reboot."""
    status = path.stat()
    return f"{path}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ino}\0{status.st_ctime_ns}\n"


def _format(location: Location) -> str:
    try:
        return recognise(location)
    except (PellucidError, OSError):
        return ""


def _is_opened(location: Location) -> bool:
    """Whether a reader opens it; meanwhile, every file that it names is recorded."""
    try:
        open_reader(location).close()
    except (PellucidError, OSError):
        return False
    return True


def _follow_hdf5(location: Location, *, is_open: bool) -> None:
    """A scan, or a file of several volumes: everything in it counts."""
    if _format(location) != "hdf5" or (is_open and location.dataset):
        return
    from pellucid.formats.hdf5.references import follow_references

    with suppress(PellucidError, OSError):
        follow_references(location.local)


def _files_below(folder: Path) -> Iterator[Path]:
    """Links to folders are followed, each folder once: the arrays of a store may be on another disk."""
    seen: set[tuple[int, int]] = set()
    for root, folders, files in os.walk(folder, followlinks=True):
        status = os.stat(root)  # noqa: PTH116
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders.sort()
        yield from (Path(root, name) for name in sorted(files))
