"""Checks that an output does not replace, and is not inside, its own input.

Here: check_output, which every command and function calls before anything is opened for writing.
Not here: which files a volume comes from (formats.fingerprint), outputs that exist (partial_output).
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pellucid.errors import InvalidInput
from pellucid.formats.fingerprint import SourceFiles, source_files
from pellucid.formats.location import Location

SLICE_SUFFIXES = (".tif", ".tiff", ".img")
"""A file of such a name in a folder of slices would become one of them."""
DETACHED = (".mhd", ".nhdr")
"""Headers whose voxels are written beside them, into the same name with .raw behind it."""


def check_output(
    output: str | Path | Location, sources: Iterable[str | Path | Location], *, may_join_slices: bool = False
) -> None:
    """Raise InvalidInput where writing the output would change a source.

    Files are compared by where links lead to and by inode, so that hard links and other spellings of a path count. A
    source is any Location, also of a file that is no volume, such as a mesh or a saved scene.
    may_join_slices: allow an image or a mesh in a folder of slices, where users keep such things.
    """
    target = Location.parse(output)
    for source in map(Location.parse, sources):
        if target.is_remote and source.is_remote:
            _refuse_nested(target, source, _url(target), _url(source))
        elif not (target.is_remote or target.is_memory or source.is_remote or source.is_memory):
            for path in written_paths(target):
                _check_local(path, target, source, may_join_slices=may_join_slices)


def written_paths(output: Location) -> list[Path]:
    """The paths that an output of this name takes."""
    path = output.local
    return [path, path.with_name(f"{path.name}.raw")] if path.suffix.lower() in DETACHED else [path]


def _check_local(path: Path, target: Location, source: Location, *, may_join_slices: bool) -> None:
    real, own = path.resolve(), source.local.resolve()
    if not (may_join_slices and own in real.parents and _can_join(real, source)):
        _refuse_nested(target, source, real.parts, own.parts)
    if not path.exists():
        return
    files = source_files(source)
    _refuse_folder_of_sources(real, files, target, source)
    _refuse_same_file(real, files, target)


def _can_join(real: Path, source: Location) -> bool:
    """Whether a file in the folder of a source is no part of it, neither now nor when the folder is opened again."""
    return real.suffix.lower() not in SLICE_SUFFIXES and not source_files(source).folders


def _refuse_folder_of_sources(real: Path, files: SourceFiles, target: Location, source: Location) -> None:
    """A folder that would be replaced, or filled, must not hold a file of the source."""
    if not real.is_dir():
        return
    for path in (*files.files, *files.folders):
        if real in path.parents:
            raise InvalidInput(
                f"The folder {target.path} contains {path}, which is part of the input {source.path}.",
                remedy="Choose another folder for the output.",
            )


def _refuse_same_file(real: Path, files: SourceFiles, target: Location) -> None:
    """By device and inode: a hard link has another path."""
    if not real.is_file():
        return
    own = real.stat()
    for path in files.walk():
        with suppress(OSError):  # A source that went away is not overwritten.
            status = path.stat()
            if (status.st_dev, status.st_ino) == (own.st_dev, own.st_ino):
                raise InvalidInput(
                    f"Writing to {target.path} would overwrite {path}, which is part of the input.",
                    remedy="Choose another name for the output.",
                )


def _refuse_nested(target: Location, source: Location, one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """Neither may be the other, or lie inside it."""
    if one == other:
        raise InvalidInput(
            f"The output {target.path} and the input {source.path} are the same file or folder.",
            remedy="Choose another name for the output.",
        )
    shorter = min(len(one), len(other))
    if one[:shorter] == other[:shorter]:
        inner, outer = (target, source) if len(one) > len(other) else (source, target)
        raise InvalidInput(
            f"{inner.path} lies inside {outer.path}: one is the input and the other is the output.",
            remedy="Choose another folder for the output.",
        )


def _url(location: Location) -> tuple[str, ...]:
    return tuple(location.path.rstrip("/").split("/"))
