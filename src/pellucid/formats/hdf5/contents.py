"""What an HDF5 file contains, whatever wrote it.

Here: the names of all its datasets.
Not here: which of them are volumes (search), opening one (lookup).
"""

from pathlib import Path

import h5py


def dataset_names(path: Path) -> list[str]:
    """Names of all datasets, without the first slash; none where the file is not HDF5 or is damaged."""
    names: list[str] = []

    def add(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            names.append(name)

    try:
        with h5py.File(path) as file:
            file.visititems(add)
    except OSError:
        return []
    return names
