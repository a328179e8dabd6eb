"""Unnamed and empty axes: every format says the same."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import nibabel
import nrrd
import numpy as np
import pytest
import tensorstore as ts
import tifffile
from scipy.io import netcdf_file

from pellucid.box import Box
from pellucid.errors import WrongDimensions
from pellucid.formats import registry
from pellucid.formats.in_memory import ArrayReader
from pellucid.formats.location import Location
from pellucid.formats.tiff.file_numbers import missing_numbers

SHAPE = (4, 3, 5, 7)


def _hdf5(path: Path, voxels: Any) -> None:
    with h5py.File(path, "w") as file:
        file["data"] = voxels


def _netcdf(path: Path, voxels: Any) -> None:
    # Not netCDF4: imported before hdf5plugin, it makes blosc in h5py fail for the rest of the process.
    with netcdf_file(path, "w") as file:
        names = [f"axis{index}" for index in range(voxels.ndim)]
        for name, length in zip(names, voxels.shape, strict=True):
            file.createDimension(name, length)
        file.createVariable("volume", voxels.dtype, names)[:] = voxels


def _chunked(driver: str) -> Callable[[Path, Any], None]:
    def put(path: Path, voxels: Any) -> None:
        stored = voxels.T if driver == "n5" else voxels
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": f"{path}/"}}
        ts.open(spec, create=True, dtype=stored.dtype, shape=stored.shape).result().write(stored).result()
        if driver == "n5":
            document = json.loads((path / "attributes.json").read_text())
            (path / "attributes.json").write_text(json.dumps({"n5": "2.5.1", **document}))

    return put


UNNAMED: dict[str, Callable[[Path, Any], None]] = {
    "a.npy": np.save,
    "a.h5": _hdf5,
    "a.nc": _netcdf,
    "a.nrrd": lambda path, voxels: nrrd.write(str(path), voxels, index_order="C"),
    "a.nii": lambda path, voxels: nibabel.save(nibabel.Nifti1Image(voxels.T, np.eye(4)), path),
    "a.tif": lambda path, voxels: tifffile.imwrite(path, voxels, photometric="minisblack"),
    "a.zarr": _chunked("zarr3"),
    "a.zarr2": _chunked("zarr"),
    "a.n5": _chunked("n5"),
}


@pytest.mark.parametrize("name", UNNAMED)
def test_a_fourth_axis_without_a_name_is_time(name: str, tmp_path: Path) -> None:
    voxels = np.arange(np.prod(SHAPE), dtype=np.int16).reshape(SHAPE)
    UNNAMED[name](tmp_path / name, voxels)
    reader = registry.open_reader(Location(str(tmp_path / name)))
    assert (reader.header.times, reader.header.channels) == (4, 1)
    out = np.empty(SHAPE[1:], np.int16)
    reader.read(Box.whole((3, 5, 7)), out, t=2)
    np.testing.assert_array_equal(out, voxels[2])
    reader.close()


@pytest.mark.parametrize("name", ["a.npy", "a.h5", "a.zarr", "a.zarr2", "a.n5"])
def test_an_empty_axis_is_refused(name: str, tmp_path: Path) -> None:
    UNNAMED[name](tmp_path / name, np.zeros((0, 3, 3), np.uint8))
    with pytest.raises(WrongDimensions, match=r"a\.\w+.* has an empty axis: it has shape \(0, 3, 3\), which is not a"):
        registry.open_reader(Location(str(tmp_path / name)))


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.nrrd", b"NRRD0004\ntype: uint8\ndimension: 3\nsizes: 3 3 0\nencoding: raw\n\n"),
        (
            "a.mha",
            b"ObjectType = Image\nNDims = 3\nDimSize = 3 3 0\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n",
        ),
    ],
)
def test_an_empty_axis_in_a_header_is_refused(name: str, head: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(head)
    with pytest.raises(WrongDimensions, match=r"has an empty axis: it has shape \(0, 3, 3\)"):
        registry.open_reader(Location(str(tmp_path / name)))


def test_an_array_with_an_empty_axis_is_refused() -> None:
    with pytest.raises(WrongDimensions, match=r"The array has an empty axis: it has shape \(3, 0, 3\)"):
        ArrayReader(np.zeros((3, 0, 3)))


@pytest.mark.parametrize("is_fortran", [False, True])
def test_truth_values_are_read_as_numbers(is_fortran: bool, tmp_path: Path) -> None:
    truths = np.asarray(np.arange(60).reshape(3, 4, 5) % 3 == 0, order="F" if is_fortran else "C")
    np.save(tmp_path / "a.npy", truths)
    for reader in (registry.open_reader(Location(str(tmp_path / "a.npy"))), ArrayReader(truths)):
        assert reader.header.dtype == np.uint8
        out = np.empty((3, 4, 5), np.uint8)
        reader.read(Box.whole((3, 4, 5)), out)
        np.testing.assert_array_equal(out, truths.astype(np.uint8))
        reader.close()


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        ([f"s_{n}.tif" for n in range(20) if n != 7], [7]),
        ([f"s_{n}.tif" for n in range(5, 95, 10)], []),
        ([f"s_{n}.tif" for n in (0, 10, 40, 50)], [20, 30]),
        (["a1_b1.tif", "a2_b3.tif", "a3_b9.tif"], []),
        (["run2_001.tif", "run2_002.tif", "run2_004.tif"], [3]),
        (["s_1.tif", "s_01.tif", "s_3.tif"], []),
        (["only_7.tif"], []),
        (["first.tif", "last.tif"], []),
    ],
)
def test_gaps_in_a_numbering(names: list[str], missing: list[int]) -> None:
    assert list(missing_numbers(names)) == missing


def test_a_folder_with_a_gap_is_read_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number in (0, 1, 2, 5, 6):
        tifffile.imwrite(tmp_path / f"s_{number}.tif", np.full((4, 5), number, np.uint8))
    with caplog.at_level(logging.WARNING):
        reader = registry.open_reader(Location(str(tmp_path)))
    assert reader.header.levels[0].shape == (5, 4, 5)
    assert caplog.messages == [f"The slices numbered 3, 4 are missing in {tmp_path}; the volume is read without them."]
