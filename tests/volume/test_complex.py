"""Complex numbers are refused with a message of their own, wherever they come from."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile
import zarr

from pellucid.errors import UnsupportedType
from pellucid.tomo.scan import Frames
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.volume.volume import Volume, open_volume

VALUES = np.ones((4, 5, 6), np.complex64)
MESSAGE = r"the values are complex \(.*c.*\), and voxels must be real numbers\. Save the magnitude"


def write(path: Path) -> None:
    if path.suffix == ".npy":
        np.save(path, VALUES)
    elif path.suffix == ".tif":
        tifffile.imwrite(path, VALUES, photometric="minisblack")
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file["exchange/data"] = VALUES
            file["exchange/theta"] = np.arange(4) * 45.0
    else:
        zarr.save_array(str(path), VALUES, zarr_format=2 if path.suffix == ".zarr2" else 3)


@pytest.mark.parametrize("name", ["a.npy", "a.tif", "a.h5", "a.h5:/exchange/data", "a.zarr", "a.zarr2"])
def test_complex_files_are_refused(name: str, tmp_path: Path) -> None:
    write(tmp_path / name.split(":", maxsplit=1)[0])
    with pytest.raises(UnsupportedType, match=MESSAGE):
        open_volume(str(tmp_path / name))


def test_complex_arrays_are_refused() -> None:
    for make in (Volume.from_array, Frames.from_array):
        with pytest.raises(UnsupportedType, match=MESSAGE):
            make(VALUES)


@pytest.mark.parametrize("options", [ScanOptions(), ScanOptions(projections="/exchange/data", angles="0:180")])
def test_complex_scans_are_refused(options: ScanOptions, tmp_path: Path) -> None:
    write(tmp_path / "a.h5")
    with pytest.raises(UnsupportedType, match=MESSAGE):
        open_scan(tmp_path / "a.h5", options)
