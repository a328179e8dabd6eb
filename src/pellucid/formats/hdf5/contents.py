"""What an HDF5 file contains, whatever wrote it.

Here: the names of all its datasets.
Not here: which of them are volumes, and opening one (lookup).
"""

from pathlib import Path

import h5py

from pellucid.errors import PellucidError
from pellucid.formats.hdf5.opening import open_file
from pellucid.formats.hdf5.structure_check import check_all


def dataset_names(path: Path) -> list[str]:
    """Names of all datasets, without the first slash; none where the file is not HDF5 or is damaged."""
    names: list[str] = []

    def add(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            names.append(name)

    try:
        with open_file(path) as file:
            check_all(path)
            file.visititems(add)
    except (OSError, PellucidError):
        return []
    return names
