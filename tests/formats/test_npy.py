"""NumPy files, against NumPy."""

from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid.box import Box
from pellucid.errors import Corrupted, SelectionInvalid, UnsupportedType, WrongDimensions
from pellucid.formats.flat.npy import open_reader
from pellucid.formats.location import Location
from tests.contracts.formats import Case, numbers, random_boxes, read, same_bits, write


def test_numpy_reads_what_is_written(tmp_path: Path) -> None:
    voxels = numbers((3, 5, 7), "float16")
    location = write(Case("scan.npy"), tmp_path, voxels)
    assert same_bits(np.load(location.path), voxels)


@pytest.mark.parametrize("dtype", ["<u2", ">u2", ">f8"])
@pytest.mark.parametrize("is_fortran", [False, True])
def test_either_order_of_axes_and_bytes(dtype: str, is_fortran: bool, tmp_path: Path) -> None:
    voxels = numbers((4, 5, 6), np.dtype(dtype).name)
    np.save(tmp_path / "a.npy", np.asarray(voxels.astype(dtype), order="F" if is_fortran else "C"))
    reader = open_reader(Location(str(tmp_path / "a.npy")))
    for box in random_boxes((4, 5, 6), 10):
        assert same_bits(read(reader, box), voxels[box.slices])
    reader.close()


@pytest.mark.parametrize("is_fortran", [False, True])
def test_five_axes_are_time_and_channel_first(is_fortran: bool, tmp_path: Path) -> None:
    voxels = np.asarray(np.arange(2 * 3 * 4 * 5 * 6).reshape(2, 3, 4, 5, 6), order="F" if is_fortran else "C")
    np.save(tmp_path / "a.npy", voxels)
    reader = open_reader(Location(str(tmp_path / "a.npy")))
    assert (reader.header.times, reader.header.channels) == (2, 3)
    out = np.empty((4, 5, 6), np.int64)
    reader.read(Box.whole((4, 5, 6)), out, t=1, c=2)
    np.testing.assert_array_equal(out, voxels[1, 2])
    with pytest.raises(SelectionInvalid, match=r"has no channel 3. Choose a channel from 0 to 2"):
        reader.read(Box.whole((4, 5, 6)), out, c=3)
    reader.close()


def test_spacing_comes_with_the_name(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 3, 4)))
    header = open_reader(Location.parse(f"{tmp_path / 'a.npy'}:spacing=2,0.5,0.25,unit=micron")).header
    assert header.levels[0].spacing == (2.0, 0.5, 0.25)
    assert header.unit == "um"


def test_what_is_no_volume_is_refused(tmp_path: Path) -> None:
    location = Location(str(tmp_path / "a.npy"))
    np.save(location.path, np.zeros((2, 3)))
    with pytest.raises(WrongDimensions, match=r"shape \(2, 3\), which is not a volume"):
        open_reader(location)
    np.save(location.path, np.zeros((2, 3, 4), complex))
    with pytest.raises(UnsupportedType, match="complex128"):
        open_reader(location)
    location.local.write_bytes(b"\x93NUMPY\x01\x00\x10\x00{'descr': nonsen")
    with pytest.raises(Corrupted, match=r"not a \.npy header"):
        open_reader(location)


@pytest.mark.parametrize(
    "shape", ["(True, 2, 2)", "(2, 2.0, 2)", "[2, 2, 2]", "-" * 9000 + "1", "(2, 2, 2)" + " " * 20_000]
)
def test_a_hostile_shape_is_refused_as_damage(shape: str, tmp_path: Path) -> None:
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8))
    with pytest.raises(Corrupted):
        pellucid.open(path)
