"""Damaged heaps, in which the HDF5 library would be caught, are found before the library reads them."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import pellucid
from pellucid.cli.main import main
from pellucid.errors import Corrupted
from pellucid.formats.hdf5.heap_check import CHECKED_BYTES, check_heaps


def write(path: Path, **options: Any) -> Path:
    """A volume, and texts."""
    with h5py.File(path, "w", **options) as file:
        file.create_group("entry").attrs["NX_class"] = "NXentry"
        file["entry/data"] = np.ones((2, 8, 8), np.uint8)
        file["entry/title"] = ["one", "two"]
    return path


def damage(path: Path, position: int) -> Path:
    """The first object of a heap becomes free space of size 0."""
    content = bytearray(path.read_bytes())
    content[position + 16 : position + 32] = bytes(16)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("library", ["earliest", "latest"])
def test_a_heap_in_which_the_library_is_caught_is_refused(library: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.h5", libver=library)
    check_heaps(path)
    with pellucid.open(path) as volume:
        assert volume.value_range == (1, 1)
    damage(path, path.read_bytes().index(b"GCOL"))
    with pytest.raises(Corrupted, match="free space of size 0"):
        pellucid.open(path)
    assert main(["info", str(path)]) == 1


def test_a_heap_at_the_end_of_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["data"] = np.ones((2, 1200, 1200), np.uint8)
        file["title"] = ["one", "two"]
    position = path.read_bytes().rindex(b"GCOL")
    assert position > CHECKED_BYTES
    check_heaps(path)
    with pytest.raises(Corrupted, match="free space of size 0"):
        check_heaps(damage(path, position))


def test_other_files_are_left_to_the_library(tmp_path: Path) -> None:
    for number, content in enumerate((b"", b"\x89HDF", b"GCOL\x01" + bytes(99), b"\x89HDF\r\n\x1a\n" + bytes(99))):
        path = tmp_path / f"{number}.h5"
        path.write_bytes(content)
        check_heaps(path)
