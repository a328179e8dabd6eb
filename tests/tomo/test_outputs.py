"""A reconstruction never writes over, into or around what it is made from."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile

from pellucid.cli.main import main
from pellucid.errors import InvalidInput
from pellucid.tomo.pipeline.reconstruct import RunOptions, reconstruct
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan_files.assembly import ScanOptions
from tests.tomo.small_scan import AXIS, write_scan

RECIPE = Recipe(center=AXIS, tilt=0.0)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(folder: Path, source: Path, target: str, options: ScanOptions | None = None) -> None:
    """With and without overwriting; no file is changed, added or gone."""
    before = contents(folder)
    for overwrite in (True, False):
        with pytest.raises(InvalidInput, match="input"):
            reconstruct(source, target, RECIPE, options=options, running=RunOptions(overwrite=overwrite))
        assert contents(folder) == before


def linked_scan(folder: Path) -> Path:
    """The projections in another file, flats in a third as TIFF, and the angles as text."""
    write_scan(folder / "raw.h5", rows=2)
    (folder / "flats").mkdir()
    with h5py.File(folder / "raw.h5") as raw, h5py.File(folder / "scan.h5", "w") as file:
        file["exchange/data"] = h5py.ExternalLink("raw.h5", "/exchange/data")
        file["exchange/data_dark"] = raw["exchange/data_dark"][()]
        for index, flat in enumerate(raw["exchange/data_white"][()]):
            tifffile.imwrite(folder / "flats" / f"flat_{index}.tif", flat)
        np.savetxt(folder / "angles.txt", raw["exchange/theta"][()])
    return folder / "scan.h5"


@pytest.mark.parametrize(
    "target", ["scan.h5", "raw.h5", "flats/", "flats/new.tif", "flats/flat_1.tif", "link.h5", "hard.h5", "."]
)
def test_no_input_is_replaced(target: str, tmp_path: Path) -> None:
    source = linked_scan(tmp_path)
    (tmp_path / "link.h5").symlink_to("raw.h5")
    (tmp_path / "hard.h5").hardlink_to(tmp_path / "raw.h5")
    options = ScanOptions(flats="flats", angles=str(tmp_path / "angles.txt"))
    place = str(tmp_path) if target == "." else f"{tmp_path}/{target}"
    refused(tmp_path, source, place, options)


def test_the_file_of_angles_is_not_replaced(tmp_path: Path) -> None:
    source = linked_scan(tmp_path)
    (tmp_path / "angles.txt").rename(tmp_path / "angles.h5")  # A name that a volume may have.
    refused(tmp_path, source, f"{tmp_path}/angles.h5", ScanOptions(flats="flats", angles=str(tmp_path / "angles.h5")))


def test_a_folder_of_tiffs_is_not_replaced_or_filled(tmp_path: Path) -> None:
    folder = tmp_path / "scan"
    folder.mkdir()
    write_scan(tmp_path / "raw.h5", rows=2)
    with h5py.File(tmp_path / "raw.h5") as raw:
        for name, stored in (("proj", "data"), ("flat", "data_white"), ("dark", "data_dark")):
            for index, frame in enumerate(raw[f"exchange/{stored}"][()]):
                tifffile.imwrite(folder / f"{name}_{index:03}.tif", frame)
    options = ScanOptions(angles="0:180")
    for target in (f"{folder}/", f"{folder}/volume.tif", f"{folder}/proj_000.tif", f"{folder}/volume.zarr"):
        refused(tmp_path, folder, target, options)


def test_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_scan(tmp_path / "scan.h5", rows=2)
    before = source.read_bytes()
    assert main(["reconstruct", str(source), "-o", str(source), "--overwrite", "--center", "22.7"]) != 0
    assert "are the same file" in capsys.readouterr().err
    assert source.read_bytes() == before


def test_beside_the_input_it_is_written(tmp_path: Path) -> None:
    options = ScanOptions(flats="flats", angles=str(tmp_path / "angles.txt"))
    reconstruct(linked_scan(tmp_path), tmp_path / "volume.zarr", RECIPE, options=options).close()
    assert (tmp_path / "volume.zarr").is_dir()
