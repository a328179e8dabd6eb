"""A volume of several files, one of them missing or broken, is an error that names the file; it is not zeros."""

from pathlib import Path

import h5py
import numpy as np
import pytest

import pellucid
from pellucid.errors import PellucidError
from pellucid.formats.protocol import Voxels
from tests.engines.test_output_check import write_ome_set

VOXELS: Voxels = np.arange(1, 4 * 5 * 6 + 1, dtype=np.uint16).reshape(4, 5, 6)


def read(path: Path) -> Voxels:
    with pellucid.open(path) as volume:
        voxels: Voxels = volume.read()
        return voxels


@pytest.mark.parametrize(("opened", "missing"), [("a", "b"), ("b", "a")])
def test_ome_set(opened: str, missing: str, tmp_path: Path) -> None:
    write_ome_set(tmp_path, VOXELS)
    path, other = tmp_path / f"{opened}.ome.tif", tmp_path / f"{missing}.ome.tif"
    np.testing.assert_array_equal(read(path), VOXELS)
    content = other.read_bytes()
    other.write_bytes(content[: len(content) // 2])
    with pytest.raises(PellucidError, match=rf"{missing}\.ome\.tif"):
        read(path)
    other.unlink()
    with pytest.raises(PellucidError, match=rf"{missing}\.ome\.tif, which is missing"):
        read(path)


def test_renamed_ome_file(tmp_path: Path) -> None:
    """A file on its own has its old name in its metadata, and is complete."""
    write_ome_set(tmp_path, VOXELS)
    (tmp_path / "a.ome.tif").rename(tmp_path / "renamed.tif")
    np.testing.assert_array_equal(read(tmp_path / "renamed.tif"), VOXELS)


HEADS = {
    "list.nhdr": "NRRD0004\ntype: uint16\ndimension: 3\nsizes: 6 5 4\nendian: little\nencoding: raw\n"
    "data file: LIST\nplane0.raw\nplane1.raw\nplane2.raw\nplane3.raw\n",
    "numbered.nhdr": "NRRD0004\ntype: uint16\ndimension: 3\nsizes: 6 5 4\nendian: little\nencoding: raw\n"
    "data file: plane%d.raw 0 3 1 2\n",
    "list.mhd": "ObjectType = Image\nNDims = 3\nDimSize = 6 5 4\nElementType = MET_USHORT\n"
    "ElementDataFile = LIST\nplane0.raw\nplane1.raw\nplane2.raw\nplane3.raw\n",
    "numbered.mhd": "ObjectType = Image\nNDims = 3\nDimSize = 6 5 4\nElementType = MET_USHORT\n"
    "ElementDataFile = plane%d.raw 0 3 1\n",
}


@pytest.mark.parametrize("name", HEADS)
def test_listed_planes(name: str, tmp_path: Path) -> None:
    for z, plane in enumerate(VOXELS):
        (tmp_path / f"plane{z}.raw").write_bytes(plane.tobytes())
    (tmp_path / name).write_text(HEADS[name])
    np.testing.assert_array_equal(read(tmp_path / name), VOXELS)
    (tmp_path / "plane2.raw").unlink()
    with pytest.raises(PellucidError, match=r"plane2\.raw"):
        read(tmp_path / name)


def test_virtual_dataset(tmp_path: Path) -> None:
    layout = h5py.VirtualLayout(VOXELS.shape, VOXELS.dtype)
    for z, plane in enumerate(VOXELS):
        with h5py.File(tmp_path / f"plane{z}.h5", "w") as file:
            file["data"] = plane
        layout[z] = h5py.VirtualSource(f"plane{z}.h5", "data", plane.shape)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_virtual_dataset("data", layout)
    np.testing.assert_array_equal(read(tmp_path / "a.h5"), VOXELS)
    (tmp_path / "plane2.h5").unlink()
    with pytest.raises(PellucidError, match=r"plane2\.h5"):
        read(tmp_path / "a.h5")
