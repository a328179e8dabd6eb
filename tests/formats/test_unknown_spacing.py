"""Spacings that are not finite and above 0 are taken to be unknown, and logged: geometry is never NaN."""

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile

from pellucid.cli.main import main
from pellucid.formats.damage import known_spacing
from pellucid.formats.flat.nifti_header import parse_header, print_header
from pellucid.formats.location import Location
from pellucid.formats.protocol import Header, Layout, Level, Spacing
from pellucid.formats.registry import open_writer
from pellucid.volume.volume import open_volume

VOXELS = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
BAD = ["nan", "inf", "-inf", "0"]


def nrrd(path: Path, step: str) -> Path:
    head = f"NRRD0004\ntype: uint8\ndimension: 3\nsizes: 4 3 2\nspacings: 0.5 0.75 {step}\nencoding: raw\n\n"
    path = path.with_suffix(".nrrd")
    path.write_bytes(head.encode() + VOXELS.tobytes())
    return path


def nrrd_directions(path: Path, step: str) -> Path:
    directions = f"space: right-anterior-superior\nspace directions: (0.5,0,0) (0,0.75,0) (0,0,{step})\n"
    head = f"NRRD0004\ntype: uint8\ndimension: 3\nsizes: 4 3 2\n{directions}encoding: raw\n\n"
    path = path.with_suffix(".nrrd")
    path.write_bytes(head.encode() + VOXELS.tobytes())
    return path


def metaimage(path: Path, step: str) -> Path:
    path = path.with_suffix(".mha")
    lines = ["NDims = 3", "DimSize = 4 3 2", "ElementType = MET_UCHAR", f"ElementSpacing = 0.5 0.75 {step}"]
    path.write_bytes("\n".join([*lines, "ElementDataFile = LOCAL\n"]).encode() + VOXELS.tobytes())
    return path


def nifti(path: Path, step: str) -> Path:
    level = Level(VOXELS.shape, VOXELS.shape, (1.0, 0.75, 0.5))
    head = bytearray(print_header(level, Layout((level,), VOXELS.dtype)))
    fields = parse_header(path, bytes(head)).fields.copy()
    fields["pixdim"][3] = float(step)
    head[: fields.nbytes] = fields.tobytes()
    path = path.with_suffix(".nii")
    path.write_bytes(bytes(head) + VOXELS.tobytes())
    return path


def ome_tiff(path: Path, step: str) -> Path:
    path = path.with_suffix(".ome.tif")
    metadata = {"axes": "ZYX", "PhysicalSizeX": 0.5, "PhysicalSizeY": 0.75, "PhysicalSizeZ": 77.0}
    tifffile.imwrite(path, VOXELS, ome=True, photometric="minisblack", metadata=metadata)
    path.write_bytes(path.read_bytes().replace(b'"77.0"', f'"{step}"'.ljust(6).encode()))
    return path


def ome_zarr(path: Path, step: str) -> Path:
    path, level = path.with_suffix(".zarr"), Level(VOXELS.shape, VOXELS.shape, (77.0, 0.75, 0.5))
    writer = open_writer(Location(str(path)), Layout((level,), VOXELS.dtype, "um"))
    writer.finish()
    writer.close()
    document = path / "zarr.json"
    text = json.loads(document.read_text())
    for dataset in text["attributes"]["ome"]["multiscales"][0]["datasets"]:
        dataset["coordinateTransformations"][0]["scale"][0] = float(step)
    document.write_text(json.dumps(text))
    return path


def hdf5(path: Path, step: str) -> Path:
    path = path.with_suffix(".h5")
    with h5py.File(path, "w") as file:
        file["data"] = VOXELS
        file["data"].attrs["spacing"] = (float(step), 0.75, 0.5)
    return path


@pytest.mark.parametrize("step", BAD)
@pytest.mark.parametrize("write", [nrrd, nrrd_directions, metaimage, nifti, ome_tiff, ome_zarr, hdf5])
def test_an_axis_without_spacing_has_that_of_the_others(
    write: Callable[[Path, str], Path], step: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(tmp_path / "volume", step)
    with open_volume(path) as volume:
        assert volume.spacing == (0.5, 0.75, 0.5)
        assert volume.orientation is None or np.isfinite(volume.orientation.affine(volume.spacing)).all()
    assert len(caplog.messages) == 1 and "is not finite and above 0; (0.5, 0.75, 0.5) is used" in caplog.messages[0]


@pytest.mark.parametrize("write", [nrrd, metaimage, nifti, ome_tiff, ome_zarr, hdf5])
def test_a_good_spacing_is_not_mentioned(
    write: Callable[[Path, str], Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_volume(write(tmp_path / "volume", "2.5")) as volume:
        assert volume.spacing == (2.5, 0.75, 0.5)
    assert caplog.messages == []


def test_info_and_a_conversion_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = nrrd(tmp_path / "volume", "nan")
    assert main(["info", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["spacing"] == [0.5, 0.75, 0.5]
    assert main(["convert", str(path), str(tmp_path / "out.nii")]) == 0
    with open_volume(tmp_path / "out.nii") as volume:
        assert volume.spacing == (0.5, 0.75, 0.5)


def header(*spacings: Spacing) -> Header:
    levels = tuple(Level((8 >> n, 8 >> n, 8 >> n), (1, 1, 1), spacing) for n, spacing in enumerate(spacings))
    return Header(levels, np.dtype(np.uint8), "mm")


def test_levels_and_unit() -> None:
    nan = float("nan")
    good = header((1.0, 2.0, 3.0), (2.0, 4.0, 6.0))
    assert known_spacing("a", good) is good
    found = known_spacing("a", header((nan, 2.0, 3.0), (nan, 4.0, 6.0)))
    assert [level.spacing for level in found.levels] == [(2.0, 2.0, 3.0), (4.0, 4.0, 6.0)] and found.unit == "mm"
    found = known_spacing("a", header((1.0, 2.0, 3.0), (0.0, 4.0, nan)))
    assert [level.spacing for level in found.levels] == [(1.0, 2.0, 3.0), (2.0, 4.0, 6.0)]
    found = known_spacing("a", header((nan, 0.0, -1.0), (nan, 0.0, -2.0)))
    assert [level.spacing for level in found.levels] == [(1.0, 1.0, 1.0), (2.0, 2.0, 2.0)] and found.unit == ""
