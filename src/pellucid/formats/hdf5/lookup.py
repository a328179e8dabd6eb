"""Finding a volume inside an HDF5 file.

Here: choosing the dataset by name or because it is the only one.
Not here: opening the file (opening), following links (links), what the dataset says of itself (header).
"""

from collections.abc import Iterator
from typing import Any

import h5py

from pellucid.errors import DatasetAmbiguous, DatasetMissing, LinkBroken, NotAllowed, UnsupportedType
from pellucid.formats.hdf5.links import LinkedFile, link_of
from pellucid.formats.hdf5.references import has_known_shape
from pellucid.formats.protocol import VOXEL_TYPES

LEVELS_ATTRIBUTE = "levels"


def find_dataset(file: LinkedFile, path: str, name: str) -> Any:
    """The dataset of that name; without one, or where it names a group, the only volume there is."""
    if not name:
        return _only_volume(file, file.root, path, "")
    try:
        found = file.follow(name)
    except KeyError:
        found = None
    if isinstance(found, h5py.Dataset):
        return found
    if isinstance(found, h5py.Group):
        return _only_volume(file, found, path, "/" + name.strip("/"))
    raise DatasetMissing(path, name, _listed(_volumes(file, file.root, "")))


def _only_volume(file: LinkedFile, group: Any, path: str, prefix: str) -> Any:
    volumes = list(_volumes(file, group, prefix))
    coarser = {level for _, dataset in volumes for level in level_names(dataset)}
    wanted = [(name, dataset) for name, dataset in volumes if dataset.name not in coarser]
    three = [(name, dataset) for name, dataset in wanted if dataset.ndim == 3]
    for choices in (three, wanted):
        if len(choices) == 1:
            return choices[0][1]
    if not wanted:
        _refuse_complex(file, group, path, prefix)
        _refuse_broken(file, group, prefix)
    raise DatasetAmbiguous(path, _listed(wanted))


def level_names(dataset: Any) -> list[str]:
    """Names of the coarser levels that a dataset refers to."""
    names = dataset.attrs.get(LEVELS_ATTRIBUTE, ())
    return [name for name in names if isinstance(name, str)] if getattr(names, "ndim", 0) == 1 else []


def _volumes(file: LinkedFile, group: Any, prefix: str, kinds: str = "biuf") -> Iterator[tuple[str, Any]]:
    """Numeric datasets of three to five axes, each under the first name that leads to it."""
    seen: set[int] = set()
    for name, found in file.walk(group, prefix):
        if not isinstance(found, h5py.Dataset) or hash(found.id) in seen:
            continue
        seen.add(hash(found.id))
        if has_known_shape(found, str(file.path)) and 3 <= found.ndim <= 5 and found.dtype.kind in kinds:
            yield name, found


def _refuse_complex(file: LinkedFile, group: Any, path: str, prefix: str) -> None:
    """Where the only arrays are complex, say so."""
    for name, found in _volumes(file, group, prefix, "c"):
        raise UnsupportedType(f"{path}:{name}", found.dtype, VOXEL_TYPES)


def _listed(volumes: Any) -> dict[str, str]:
    return {name: f"{tuple(dataset.shape)} {dataset.dtype}" for name, dataset in volumes}


def _refuse_broken(file: LinkedFile, start: Any, prefix: str) -> None:
    """Where there is no volume at all, a link that leads nowhere, or where it may not, is the likely reason."""
    groups = [start, *(found for _, found in file.walk(start, prefix) if isinstance(found, h5py.Group))]
    for group in groups:
        for key in group:
            if isinstance(link_of(group, key), h5py.ExternalLink):
                try:
                    file.follow(key, group)
                except (LinkBroken, NotAllowed):
                    raise
                except (KeyError, OSError):
                    continue
