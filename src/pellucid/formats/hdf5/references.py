"""Voxels of an HDF5 dataset that are stored elsewhere: virtual datasets and external storage.

Here: require_references, which checks every file that reading a dataset would touch; follow_references, which does so
for all that a file holds; external_files.
Not here: links (links), reading (arrays).

The library opens what a dataset names when it reads. It gives zeros for what is missing and says nothing, follows a
virtual dataset that refers to itself until the process crashes, and knows nothing of allowed folders.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import h5py

from pellucid.errors import Corrupted, InvalidInput, LinkBroken, PellucidError
from pellucid.formats.byte_sources import existing_file
from pellucid.formats.hdf5.links import LinkedFile
from pellucid.formats.hdf5.search import existing_candidates, find_file
from pellucid.formats.hdf5.structure_check import check_chunk_index
from pellucid.formats.local_files import allowed_folders

SOURCE_PREFIX = "HDF5_VDS_PREFIX"
RAW_PREFIX = "HDF5_EXTFILE_PREFIX"
MAX_DEPTH = 8
MAX_BLOCKS = 100_000
_BLOCK = "%b"

Identity = tuple[int, int, int]


def require_references(dataset: Any, path: str) -> None:
    """Raise where a dataset's voxels lie in a file that is missing, may not be read, or in the dataset itself."""
    _require(dataset, path, ())


def follow_references(path: Path) -> None:
    """Check every file that anything in a file leads to; what leads nowhere is passed over."""
    with LinkedFile(path) as file:
        for _, found in file.walk(file.root):
            if isinstance(found, h5py.Dataset):
                with suppress(PellucidError, OSError, RuntimeError, ValueError):
                    require_references(found, str(path))


def has_known_shape(dataset: Any, path: str) -> bool:
    """Whether a dataset may be asked for its shape: for a growing virtual one, that opens its sources."""
    if not dataset.is_virtual or not any(map(_is_growing, dataset.virtual_sources())):
        return True
    try:
        require_references(dataset, path)
    except (PellucidError, OSError, RuntimeError, ValueError):
        return False
    return True


def _is_growing(source: Any) -> bool:
    if _BLOCK in source.file_name or _BLOCK in source.dset_name:
        return True
    space = source.vspace
    is_slab = space.get_select_type() == h5py.h5s.SEL_HYPERSLABS and space.is_regular_hyperslab()
    return is_slab and h5py.h5s.UNLIMITED in [number for part in space.get_regular_hyperslab() for number in part]


def external_files(dataset: Any, path: str) -> list[tuple[Path, int, int]]:
    """The raw files that hold a dataset's voxels: where each is, the position in it, and how many bytes of it."""
    owner, found = Path(dataset.file.filename), []
    for name, offset, size in dataset.external:
        file = find_file(owner, name, RAW_PREFIX)
        if not file.exists():
            raise LinkBroken(path, dataset.name, str(file))
        found.append((existing_file(file, owner), offset, size))
    return found


def _require(dataset: Any, path: str, chain: tuple[Identity, ...]) -> None:
    if dataset.external:
        _require_raw(dataset, path)
    if not dataset.is_virtual:
        if chain:  # The library will look its chunks up.
            check_chunk_index(dataset)
        return
    here = _identity(dataset)
    if here in chain or len(chain) >= MAX_DEPTH:
        raise Corrupted(
            path, f"the virtual dataset {dataset.name} refers to itself, or to a chain of datasets that is too long"
        )
    owner = Path(dataset.file.filename)
    named = dict.fromkeys((source.file_name, source.dset_name) for source in dataset.virtual_sources())
    by_file: dict[str, list[str]] = {}
    for file_name, source_name in named:
        by_file.setdefault(file_name, []).append(source_name)
    for file_name, names in by_file.items():
        for file, wanted in _expanded(owner, file_name, names):
            with LinkedFile(_existing(file, owner, dataset, path)) as source_file:
                for name in wanted:
                    _require_source(source_file, name, (dataset, path, (*chain, here)))


def _require_source(file: LinkedFile, name: str, request: tuple[Any, str, tuple[Identity, ...]]) -> None:
    """One source dataset; of a pattern of names, all blocks there are."""
    dataset, path, chain = request
    if _BLOCK in name:
        for block in range(MAX_BLOCKS):
            source = file.get(name.replace(_BLOCK, str(block)))
            if source is None:
                return
            _require(source, path, chain)
        raise InvalidInput(
            f"{name} in {path} has more than {MAX_BLOCKS:,} blocks.", remedy="Open the files that it refers to."
        )
    try:
        source = file.follow(name)
    except KeyError as error:
        raise LinkBroken(path, dataset.name, f"{file.path}:{name}") from error
    if isinstance(source, h5py.Dataset):
        _require(source, path, chain)


def _expanded(owner: Path, file_name: str, names: list[str]) -> Iterator[tuple[Path, list[str]]]:
    """The files that a name stands for, with the datasets wanted in each; a pattern goes on until one is missing."""
    if file_name == ".":
        yield owner, names
        return
    if _BLOCK not in file_name:
        yield find_file(owner, file_name, SOURCE_PREFIX), names
        return
    for block in count():
        one = next(existing_candidates(owner, file_name.replace(_BLOCK, str(block)), SOURCE_PREFIX), None)
        if one is None:
            return
        if block >= MAX_BLOCKS:
            raise InvalidInput(
                f"{owner} refers to more than {MAX_BLOCKS:,} files.", remedy="Open the files that it refers to."
            )
        yield one, [name.replace(_BLOCK, str(block)) for name in names]


def _existing(file: Path, owner: Path, dataset: Any, path: str) -> Path:
    if not file.exists():
        raise LinkBroken(path, dataset.name, str(file))
    return existing_file(file, owner)


def _require_raw(dataset: Any, path: str) -> None:
    """Of raw files the library may choose another than we do: every one that it might choose is checked."""
    owner = Path(dataset.file.filename)
    for name, _, _ in dataset.external:
        found = list(existing_candidates(owner, name, RAW_PREFIX))
        if not found:
            raise LinkBroken(path, dataset.name, str(find_file(owner, name)))
        for candidate in found if allowed_folders() is not None else found[:1]:
            existing_file(candidate, owner)


def _identity(dataset: Any) -> Identity:
    status = Path(dataset.file.filename).stat()
    return status.st_dev, status.st_ino, int(h5py.h5o.get_info(dataset.id).addr)
