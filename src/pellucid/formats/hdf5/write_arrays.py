"""HDF5 files of a few named arrays, written at once.

Here: write_arrays.
Not here: volumes with chunks and levels (writer), reading (tree, format).
"""

from collections.abc import Mapping
from pathlib import Path

import h5py

from pellucid.formats.local_files import written_whole
from pellucid.formats.protocol import Voxels


def write_arrays(path: Path, arrays: Mapping[str, Voxels], attributes: Mapping[tuple[str, str], str]) -> None:
    """A file with arrays at their names; attributes by the name of an array or a group, and their own."""
    with written_whole(path) as whole, h5py.File(whole, "w") as file:
        for name, array in arrays.items():
            file[name] = array
        for (name, key), text in attributes.items():
            file[name].attrs[key] = text
