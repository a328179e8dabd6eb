"""What the datasets of a file might be to a scan."""

from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile

from pellucid.errors import InvalidInput
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.dataset_guess import Dataset, may_be_scan, suggest
from tests.tomo.small_scan import write_scan


def write(path: Path, **shapes: tuple[int, ...]) -> Path:
    with h5py.File(path, "w") as file:
        for name, shape in shapes.items():
            file[f"entry/{name}"] = np.zeros(shape, np.uint16)
    return path


@pytest.mark.parametrize(
    ("shapes", "wanted"),
    [
        (
            {"images": (8, 4, 6), "flatfield": (2, 4, 6), "darks": (2, 4, 6), "theta": (8,), "seconds": (8,)},
            ScanOptions("/entry/images", "/entry/flatfield", "/entry/darks", "/entry/theta"),
        ),
        (
            {"a": (3, 4, 6), "b": (8, 4, 6), "white": (2, 4, 5), "place": (8,)},
            ScanOptions("/entry/b", "", "", "/entry/place"),
        ),
        ({"images": (8, 4, 6), "one": (8,), "two": (8,), "angle": (4,)}, ScanOptions("/entry/images")),
        ({"flat": (8, 4, 6), "theta": (8,)}, ScanOptions()),
        (
            {"images": (8, 4, 6), "flats_post": (2, 4, 6), "flats_pre": (3, 4, 6), "dark": (2, 4, 6), "theta": (8,)},
            ScanOptions("/entry/images", "/entry/flats_pre;/entry/flats_post", "/entry/dark", "/entry/theta"),
        ),
    ],
    ids=["by name", "by what fits", "what is not clear is not said", "no projections", "before and after"],
)
def test_what_is_probably_what(tmp_path: Path, shapes: dict[str, tuple[int, ...]], wanted: ScanOptions) -> None:
    assert suggest(str(write(tmp_path / "a.h5", **shapes))).options == wanted


def test_what_there_is_to_choose_from(tmp_path: Path) -> None:
    path = write(tmp_path / "a.h5", images=(8, 4, 6), theta=(8,), image=(4, 6), one=(1,), nothing=(0, 4, 6))
    found = suggest(str(path))
    assert found.frames == (Dataset("/entry/images", (8, 4, 6)),)
    assert found.lists == (Dataset("/entry/theta", (8,)),)
    assert (found.is_recognised, suggest(str(write_scan(tmp_path / "b.h5", rows=2))).is_recognised) == (False, True)


def test_files_that_may_be_scans(tmp_path: Path) -> None:
    path = write(tmp_path / "a.h5", images=(8, 4, 6))
    np.save(tmp_path / "a.npy", np.zeros((2, 2, 2)))
    assert may_be_scan(str(path))
    assert not may_be_scan(f"{path}:/entry/images")
    assert not may_be_scan(str(write(tmp_path / "b.h5", theta=(8,))))
    assert not may_be_scan(str(tmp_path / "a.npy"))
    with pytest.raises(InvalidInput, match="no datasets"):
        suggest(str(tmp_path / "a.npy"))


def test_the_files_and_logs_of_a_folder(tmp_path: Path) -> None:
    for name, count in (("Tomo/proj_{}.tif", 4), ("Flat_Before/flat_{}.tif", 2), ("Flat_After/flat_{}.tif", 2)):
        (tmp_path / name).parent.mkdir()
        for number in range(count):
            tifffile.imwrite(tmp_path / name.format(number), np.zeros((3, 5), np.uint16))
    (tmp_path / "stage.log").write_text("0\n60\n120\n")
    (tmp_path / "notes.txt").write_text("a fine day\nand a fine sample\n")
    found = suggest(str(tmp_path))
    flats = "Flat_Before/flat_[0-9]*.tif", "Flat_After/flat_[0-9]*.tif"
    frames = {one.name: one.shape for one in found.frames}
    assert frames == {"Tomo/proj_[0-9]*.tif": (4, 3, 5), flats[0]: (2, 3, 5), flats[1]: (2, 3, 5)}
    assert found.options == ScanOptions("Tomo/proj_[0-9]*.tif", ";".join(flats))
    assert found.lists == (Dataset(str(tmp_path / "stage.log"), (3,)),)
