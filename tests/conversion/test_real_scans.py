"""Real scans go to every writable format and back without a changed voxel: one whole, a box of the others."""

from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid.box import Box
from pellucid.formats.registry import writable_formats
from tests.shared_data import shared

SCANS = {
    "bonsai": ("volumes/bonsai.nrrd", "", (256, 256, 256), "uint8"),
    "engine": ("volumes/engine.nii.gz", "", (128, 256, 256), "uint8"),
    "spm152": ("volumes/spm152.nii.gz", "", (215, 256, 207), "float32"),
    "fibsem_1": ("em/fibsem_1.h5", "", (250, 250, 250), "uint8"),
    "fibsem_2": ("em/fibsem_2.h5", ":/raw", (250, 250, 250), "uint8"),
    "labels": ("em/fibsem_2.h5", ":/labels", (250, 250, 250), "int32"),
}
WHOLE = "engine"
PART = Box((60, 100, 70), (190, 201, 177))
TARGETS = {
    "hdf5": ["a.h5"],
    "metaimage": ["a.mha", "a.mhd"],
    "n5": ["a.n5"],
    "netcdf": ["a.nc"],
    "nifti": ["a.nii", "a.nii.gz"],
    "npy": ["a.npy"],
    "nrrd": ["a.nrrd", "a.nhdr"],
    "raw": ["a_{2}x{1}x{0}_{3}.raw"],
    "tiff": ["a.tif", "slices/"],
    "zarr": ["a.zarr", "a.zarr2"],
}


def test_every_writable_format_is_tried() -> None:
    assert set(TARGETS) == set(writable_formats())


@pytest.mark.parametrize("target", [name for names in TARGETS.values() for name in names])
@pytest.mark.parametrize("scan", SCANS)
def test_there_and_back(scan: str, target: str, tmp_path: Path) -> None:
    file, dataset, shape, dtype = SCANS[scan]
    with pellucid.open(f"{shared(file)}{dataset}") as source:
        assert (source.shape, source.dtype.name) == (shape, dtype)
        box = source.box if scan == WHOLE else PART
        expected = source.read(box)
        there = f"{tmp_path}/{target.format(*box.shape, dtype)}"
        pellucid.convert(source, there, box=box).close()
    with pellucid.convert(there, tmp_path / "back.npy") as back:
        assert np.array_equal(back.read(), expected)
        assert back.dtype == expected.dtype
