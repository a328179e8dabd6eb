"""NetCDF 3, against netCDF4 and SciPy."""

from pathlib import Path
from typing import Literal

import h5py
import netCDF4
import numpy as np
import pytest
from scipy.io import netcdf_file

import pellucid
from pellucid.box import Box
from pellucid.errors import (
    Corrupted,
    DatasetAmbiguous,
    DatasetMissing,
    Truncated,
    UnsupportedType,
    WrongDimensions,
)
from pellucid.formats import registry
from pellucid.formats.flat.netcdf import LIMITS, open_reader
from pellucid.formats.location import Location
from tests.contracts.formats import SPACING, Case, numbers, read, read_all, same_bits, write

SHAPE = (3, 5, 7)
Kind = Literal["NETCDF4", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]
CLASSIC: tuple[Kind, ...] = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA")


@pytest.mark.parametrize("dtype", LIMITS.dtypes)
def test_netcdf4_reads_what_is_written(dtype: str, tmp_path: Path) -> None:
    voxels = numbers(SHAPE, dtype)
    with netCDF4.Dataset(write(Case("a.nc"), tmp_path, voxels).path) as file:
        file.set_auto_mask(False)
        found = file["volume"][:]
        assert same_bits(found.astype(found.dtype.newbyteorder("=")), voxels)
        np.testing.assert_allclose(file["z"][:], np.arange(3) * SPACING[0])
        np.testing.assert_allclose(file["x"][:], np.arange(7) * SPACING[2])
        assert file["y"].units == "um"


def test_scipy_reads_the_types_of_the_classic_kind(tmp_path: Path) -> None:
    voxels = numbers(SHAPE, "int16")
    location = write(Case("a.nc:/density"), tmp_path, voxels)
    assert location.dataset == "/density"
    with netcdf_file(location.path, mmap=False) as file:
        np.testing.assert_array_equal(file.variables["density"][:], voxels)


def save(
    path: Path, kind: Kind, shape: tuple[int | None, ...], names: tuple[str, ...], dtype: str = "i2"
) -> netCDF4.Dataset:
    file = netCDF4.Dataset(path, "w", format=kind)
    for name, length in zip(names, shape, strict=True):
        file.createDimension(name, length)
    file.createVariable("density", dtype, names)
    return file


@pytest.mark.parametrize("kind", CLASSIC)
@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize("others", [0, 1, 2])
def test_what_netcdf4_writes_is_read(kind: Kind, records: bool, others: int, tmp_path: Path) -> None:
    voxels = numbers(SHAPE, "int16")
    with save(tmp_path / "a.nc", kind, (None if records else 3, 5, 7), ("z", "y", "x")) as file:
        for number in range(others):  # records of several variables alternate, each padded to four bytes
            file.createVariable(f"other{number}", "i1", ("z", "x"))[:] = np.full((3, 7), number)
        file["density"][:] = voxels
        for name, step in (("z", 2.0), ("y", 0.5), ("x", 0.25)):
            coordinate = file.createVariable(name, "f4", (name,))
            coordinate[:] = 10 + step * np.arange(len(file.dimensions[name]) or 3)
            coordinate.units = "millimeter"
    reader = registry.open_reader(Location(str(tmp_path / "a.nc")))
    assert same_bits(read(reader), voxels)
    assert reader.header.levels[0].spacing == (2.0, 0.5, 0.25)
    assert reader.header.unit == "mm"
    reader.close()


@pytest.mark.parametrize(("name", "times", "channels"), [("time", 2, 1), ("band", 1, 2)])
def test_fourth_axis_by_its_name(name: str, times: int, channels: int, tmp_path: Path) -> None:
    voxels = np.random.default_rng(0).integers(0, 99, (2, *SHAPE)).astype(np.int16)
    with save(tmp_path / "a.nc", CLASSIC[1], (None, *SHAPE), (name, "z", "y", "x")) as file:
        file["density"][:] = voxels
    reader = open_reader(Location(str(tmp_path / "a.nc")))
    assert (reader.header.times, reader.header.channels) == (times, channels)
    out = np.empty(SHAPE, np.int16)
    reader.read(Box.whole(SHAPE), out, t=times - 1, c=channels - 1)
    np.testing.assert_array_equal(out, voxels[1])
    reader.close()


def test_packed_and_unsigned_values(tmp_path: Path) -> None:
    with save(tmp_path / "a.nc", CLASSIC[1], SHAPE, ("z", "y", "x"), "i1") as file:
        file.set_auto_maskandscale(False)
        file["density"]._Unsigned = "true"
        file["density"][:] = np.full(SHAPE, -1, np.int8)
    np.testing.assert_array_equal(read_all(Location(str(tmp_path / "a.nc"))), np.full(SHAPE, 255, np.uint8))
    with netCDF4.Dataset(tmp_path / "a.nc", "a") as file:
        file["density"].scale_factor = 0.5
        file["density"].add_offset = 10.0
    np.testing.assert_array_equal(read_all(Location(str(tmp_path / "a.nc"))), np.full(SHAPE, 137.5, np.float32))


def test_variable_is_chosen_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with save(path, CLASSIC[0], SHAPE, ("z", "y", "x")) as file:
        file["density"][:] = 1
        file.createVariable("labels", "i4", ("z", "y", "x"))[:] = 2
        file.createVariable("flat", "i4", ("y", "x"))[:] = 3
    assert (read_all(Location(str(path), "/labels")) == 2).all()
    with pytest.raises(DatasetAmbiguous, match=r"contains 2 volumes.*/density, /labels"):
        open_reader(Location(str(path)))
    with pytest.raises(DatasetMissing, match=r"no dataset '/gone'.*/density, /labels"):
        open_reader(Location(str(path), "/gone"))
    with pytest.raises(WrongDimensions, match=r"shape \(5, 7\)"):
        open_reader(Location(str(path), "/flat"))


def test_no_records_and_text_are_refused(tmp_path: Path) -> None:
    with save(tmp_path / "a.nc", CLASSIC[0], (None, 5, 7), ("z", "y", "x")):
        pass
    with pytest.raises(WrongDimensions, match=r"/density has an empty axis: it has shape \(0, 5, 7\)"):
        open_reader(Location(str(tmp_path / "a.nc")))
    with save(tmp_path / "b.nc", CLASSIC[0], SHAPE, ("z", "y", "x"), "S1"):
        pass
    with pytest.raises(UnsupportedType, match="does not support"):
        open_reader(Location(str(tmp_path / "b.nc")))


def test_netcdf4_is_read_as_hdf5(tmp_path: Path) -> None:
    voxels = numbers(SHAPE, "int16")
    with save(tmp_path / "a.nc", "NETCDF4", SHAPE, ("z", "y", "x")) as file:
        file["density"][:] = voxels
        for name, step in (("z", 2.0), ("y", 0.5), ("x", 0.25)):
            coordinate = file.createVariable(name, "f8", (name,))
            coordinate[:] = step * np.arange(len(file.dimensions[name]))
            coordinate.units = "mm"
    for reader in (
        registry.open_reader(Location(str(tmp_path / "a.nc"))),
        open_reader(Location(str(tmp_path / "a.nc"))),
    ):
        assert same_bits(read(reader), voxels)
        assert reader.header.levels[0].spacing == (2.0, 0.5, 0.25)
        assert reader.header.unit == "mm"
        reader.close()


@pytest.mark.parametrize("chunk", [None, (2, 3, 4)])
def test_packed_values_of_netcdf4(chunk: tuple[int, int, int] | None, tmp_path: Path) -> None:
    voxels = numbers(SHAPE, "int16")
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        for name, length in zip("zyx", SHAPE, strict=True):
            file.createDimension(name, length)
        density = file.createVariable("density", "i2", ("z", "y", "x"), chunksizes=chunk)
        density.scale_factor, density.add_offset = 0.5, -3.0
        density.set_auto_maskandscale(False)
        density[:] = voxels
    for name in ("a.nc", "a.h5"):
        path = (tmp_path / "a.nc").rename(tmp_path / name)
        with pellucid.open(path) as volume:
            assert volume.dtype == np.float32
            np.testing.assert_array_equal(volume.read(), voxels.astype(np.float32) * 0.5 - 3)
            np.testing.assert_array_equal(volume[1:, 2:4, 3], voxels[1:, 2:4, 3].astype(np.float32) * 0.5 - 3)
        path.rename(tmp_path / "a.nc")


@pytest.mark.parametrize("format", [*CLASSIC, "NETCDF4"])
@pytest.mark.parametrize("dtype", ["i2", "f4", "f8"])
@pytest.mark.parametrize("attribute", ["_FillValue", "missing_value"])
def test_missing_values_are_nan(
    format: Literal["NETCDF3_CLASSIC", "NETCDF4"], dtype: Literal["i2", "f4", "f8"], attribute: str, tmp_path: Path
) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w", format=format) as file:
        for name, length in zip("zyx", SHAPE, strict=True):
            file.createDimension(name, length)
        fill_value = -999 if attribute == "_FillValue" else None
        density = file.createVariable("density", dtype, ("z", "y", "x"), fill_value=fill_value)
        if attribute == "missing_value":
            density.missing_value = np.array(-999, dtype)
        if dtype == "i2":
            density.scale_factor, density.add_offset = 0.25, 100.0
        density.set_auto_maskandscale(False)
        stored = numbers(SHAPE, "int16") % 100
        stored[1, 2, 3] = -999
        density[:] = stored
    with netCDF4.Dataset(tmp_path / "a.nc") as file:
        expected = np.ma.filled(file["density"][:].astype(np.float64), np.nan)
    with pellucid.open(tmp_path / "a.nc") as volume:
        assert volume.dtype.name == {"i2": "float32", "f4": "float32", "f8": "float64"}[dtype]
        assert np.isnan(volume[1, 2, 3])
        np.testing.assert_array_equal(volume.read(), expected)
        assert volume.value_range == (np.nanmin(expected), np.nanmax(expected))


def test_whole_numbers_that_are_not_packed_stay_as_they_are(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        for name, length in zip("zyx", SHAPE, strict=True):
            file.createDimension(name, length)
        file.createVariable("density", "i2", ("z", "y", "x"), fill_value=-999)[:] = np.ma.masked_equal(
            np.full(SHAPE, 7, np.int16), 0
        )
    with pellucid.open(tmp_path / "a.nc") as volume:
        assert (volume.dtype.name, volume.value_range) == ("int16", (7, 7))


def test_an_attribute_of_another_program_scales_nothing(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("density", data=np.ones(SHAPE, np.int16)).attrs["scale_factor"] = 0.5
    with pellucid.open(tmp_path / "a.h5") as volume:
        assert (volume.dtype.name, volume.value_range) == ("int16", (1, 1))


def test_unknown_number_of_records_follows_from_the_size(tmp_path: Path) -> None:
    with save(tmp_path / "a.nc", CLASSIC[0], (None, 5, 7), ("z", "y", "x")) as file:
        file["density"][:] = numbers(SHAPE, "int16")
    content = (tmp_path / "a.nc").read_bytes()
    (tmp_path / "a.nc").write_bytes(content[:4] + b"\xff" * 4 + content[8:])
    assert same_bits(read_all(Location(str(tmp_path / "a.nc"))), numbers(SHAPE, "int16"))


def test_broken_header(tmp_path: Path) -> None:
    location = write(Case("a.nc"), tmp_path, numbers(SHAPE, "int16"))
    content = location.local.read_bytes()
    location.local.write_bytes(content[:11] + b"\x0d" + content[12:])
    with pytest.raises(Corrupted, match="contains an invalid list"):
        open_reader(location)
    location.local.write_bytes(content[:60])
    with pytest.raises(Truncated, match="found 60"):
        open_reader(location)
    location.local.write_bytes(b"CDF\x07" + content[4:])
    with pytest.raises(Corrupted, match="begin with CDF and a version"):
        open_reader(location)
