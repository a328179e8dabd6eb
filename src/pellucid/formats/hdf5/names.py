"""Finding a volume inside an HDF5 file.

Here: opening the file, choosing the dataset by name or because it is the only one, following links.
Not here: what the dataset says of itself (header), its voxels (hdf5, chunks).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py

from pellucid.errors import (
    Damaged,
    DatasetAmbiguous,
    DatasetMissing,
    LinkBroken,
    Truncated,
    Unfinished,
    Unreadable,
    UnsupportedType,
)
from pellucid.formats.protocol import VOXEL_TYPES
from pellucid.formats.sources import existing_file

LEVELS_ATTRIBUTE = "levels"

_BEING_WRITTEN = "already open for"  # for SWMR write, says the library; readers have to say that they know it

_SHORTER = re.compile(r"truncated file: eof = (\d+), sblock->base_addr = (\d+), stored_eof = (\d+)")


def open_file(path: Path) -> Any:
    """The file, open for reading. Its writer's lock is not waited for: scans are looked at while they are written."""
    if not path.exists() and staging_folder(path).exists():
        raise Unfinished(str(path))
    existing_file(path)
    try:
        try:
            return h5py.File(path, "r", locking=False)
        except OSError as error:
            if _BEING_WRITTEN not in str(error):
                raise
            return h5py.File(path, "r", locking=False, swmr=True)
    except OSError as error:
        raise _explained(path, str(error), error) from error


def staging_folder(path: Path) -> Path:
    """Where the chunks of an output wait until it is complete."""
    return path.with_name(f"{path.name}.chunks")


def _explained(path: Path, message: str, error: OSError) -> Truncated | Unreadable | Damaged:
    shorter = _SHORTER.search(message)
    if shorter:
        has, base, stored = map(int, shorter.groups())
        return Truncated(str(path), base + stored, has)
    if isinstance(error, PermissionError) or error.errno is not None:
        return Unreadable(str(path), error.strerror or message)
    return Damaged(str(path), reason(message))


def reason(message: str) -> str:
    """What the HDF5 library found, without the call in which it found it."""
    inner = re.search(r"\((.*)\)\s*$", message, re.DOTALL)
    return (inner.group(1) if inner else message).rstrip(". ")


def find_dataset(file: Any, path: str, name: str) -> Any:
    """The dataset of that name; without one, or where it names a group, the only volume there is."""
    if not name:
        return _only_volume(file, path, "")
    found = file[name] if _leads_somewhere(file, path, name) else None
    if isinstance(found, h5py.Dataset):
        return found
    if isinstance(found, h5py.Group):
        return _only_volume(found, path, "/" + name.strip("/"))
    raise DatasetMissing(path, name, _listed(_volumes(file, "")))


def _only_volume(group: Any, path: str, prefix: str) -> Any:
    volumes = list(_volumes(group, prefix))
    coarser = {level for _, dataset in volumes for level in level_names(dataset)}
    wanted = [(name, dataset) for name, dataset in volumes if dataset.name not in coarser]
    three = [(name, dataset) for name, dataset in wanted if dataset.ndim == 3]
    for choices in (three, wanted):
        if len(choices) == 1:
            return choices[0][1]
    if not wanted:
        _refuse_complex(group, path, prefix)
        _refuse_broken(group, path, prefix)
    raise DatasetAmbiguous(path, _listed(wanted))


def level_names(dataset: Any) -> list[str]:
    """Names of the coarser levels that a dataset refers to."""
    names = dataset.attrs.get(LEVELS_ATTRIBUTE, ())
    return [name for name in names if isinstance(name, str)] if getattr(names, "ndim", 0) == 1 else []


def _volumes(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Numeric datasets of three to five axes, each under the first name that leads to it."""
    seen: set[int] = set()
    for name, found in _walk(group, prefix, seen):
        if isinstance(found, h5py.Dataset) and 3 <= found.ndim <= 5 and found.dtype.kind in "biuf":
            yield name, found


def _refuse_complex(group: Any, path: str, prefix: str) -> None:
    """Where the only arrays are complex, say so."""
    for name, found in _walk(group, prefix, set()):
        if isinstance(found, h5py.Dataset) and 3 <= found.ndim <= 5 and found.dtype.kind == "c":
            raise UnsupportedType(f"{path}:{name}", found.dtype, VOXEL_TYPES)


def _walk(group: Any, prefix: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    for key in group:
        try:
            child = group[key]
        except (KeyError, OSError):
            continue  # a broken link is no choice
        identity = hash(child.id)  # one object, however many links lead to it; links may also form circles
        if identity in seen:
            continue
        seen.add(identity)
        yield f"{prefix}/{key}", child
        if isinstance(child, h5py.Group):
            yield from _walk(child, f"{prefix}/{key}", seen)


def _listed(volumes: Any) -> dict[str, str]:
    return {name: f"{tuple(dataset.shape)} {dataset.dtype}" for name, dataset in volumes}


def _leads_somewhere(file: Any, path: str, name: str) -> bool:
    """Whether every part of a name is there; a link that leads nowhere is an error of its own."""
    parts = [part for part in name.split("/") if part]
    for count in range(1, len(parts) + 1):
        partial = "/" + "/".join(parts[:count])
        try:
            _ = file[partial]
        except (KeyError, OSError):
            _refuse_link(file, path, partial)
            return False
    return True


def _refuse_link(file: Any, path: str, name: str) -> None:
    try:
        link = file.get(name, getlink=True)
    except (KeyError, OSError):
        return
    if isinstance(link, h5py.ExternalLink):
        raise LinkBroken(path, name, f"{link.filename}:{link.path}")
    if isinstance(link, h5py.SoftLink):
        raise LinkBroken(path, name, link.path)


def _refuse_broken(group: Any, path: str, prefix: str) -> None:
    """Where there is no volume at all, a link that leads out of the file to nowhere is the likely reason."""
    stack = [(prefix, group)]
    seen: set[int] = set()
    while stack:
        name, parent = stack.pop()
        for key in parent:
            link = parent.get(key, getlink=True)
            if isinstance(link, h5py.ExternalLink) and key not in _present(parent, key):
                raise LinkBroken(path, f"{name}/{key}", f"{link.filename}:{link.path}")
            if isinstance(link, h5py.HardLink) and isinstance(parent[key], h5py.Group):
                child = parent[key]
                if hash(child.id) not in seen:
                    seen.add(hash(child.id))
                    stack.append((f"{name}/{key}", child))


def _present(parent: Any, key: str) -> tuple[str, ...]:
    try:
        _ = parent[key]
    except (KeyError, OSError):
        return ()
    return (key,)


def beside(path: Path, name: str) -> Path:
    """A file that another one names: absolute, beside it, or in the working folder."""
    named = Path(name)
    if named.is_absolute() and named.exists():
        return named
    near = path.parent / (named.name if named.is_absolute() else named)
    return named if named.exists() and not near.exists() else near
