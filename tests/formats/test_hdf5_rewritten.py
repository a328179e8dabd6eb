"""HDF5 files that change while this process has them open."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

import h5py
import numpy as np
import pytest

from pellucid.box import Box
from pellucid.formats.hdf5.format import open_reader
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels


def _rewritten(path: Path, voxels: Voxels, *, is_chunked: bool, names: int) -> None:
    """By another process, in place: the same inode."""
    with NamedTemporaryFile(suffix=".h5") as other:
        with h5py.File(other.name, "w") as file:
            for name in range(names):  # Moves what follows.
                file.create_group(f"group{name}")
            file.create_dataset("volume", data=voxels, chunks=(2, 3, 4) if is_chunked else None)
        with path.open("r+b") as target:
            target.truncate(0)
            target.write(Path(other.name).read_bytes())
    os.utime(path, (names, names))  # Clocks of file systems are coarse.


@pytest.mark.parametrize("is_chunked", [True, False])
def test_a_file_rewritten_in_place_is_opened_as_it_is_now(tmp_path: Path, is_chunked: bool) -> None:
    path = tmp_path / "a.h5"
    path.touch()
    held = []
    for generation, depth in enumerate((4, 7, 5, 9)):
        voxels = np.random.default_rng(generation).random((depth, 5, 6), np.float32)
        _rewritten(path, voxels, is_chunked=is_chunked, names=generation)
        for _ in range(2):
            held.append(open_reader(Location.parse(str(path))))
            assert held[-1].header.levels[0].shape == voxels.shape
            got = np.empty(voxels.shape, np.float32)
            held[-1].read(Box((0, 0, 0), voxels.shape), got)
            assert np.array_equal(got, voxels)
    for reader in held:
        reader.close()
    assert str(path) not in [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
