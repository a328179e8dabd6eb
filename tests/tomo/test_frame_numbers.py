"""Projections that are missing in a numbered series: the others keep the angles of their numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile

from pellucid.errors import InvalidInput
from pellucid.tomo.scan import Scan
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.frame_numbers import FrameNumbers
from pellucid.tomo.scan_files.registry import open_scan
from tests.hipic_files import write_img

FRAME = np.random.default_rng(0).integers(1000, 4000, (3, 4)).astype(np.uint16)
COUNT = 20
DEGREES = 9.0 * np.arange(COUNT)


def write(folder: Path, numbers: Any, prefix: str = "raw_", step: int = 1, first: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in numbers:
        tifffile.imwrite(folder / f"{prefix}{first + step * number:04}.tif", FRAME)
    return folder


def degrees(folder: Path, angles: str = "0:180", flats: str = "none") -> tuple[list[float], Scan]:
    scan = open_scan(folder, ScanOptions(angles=angles, flats=flats, darks="none"))
    scan.close()
    return np.degrees(scan.angles_rad).round(6).tolist(), scan


@pytest.mark.parametrize("lost", [[7], [1, 12, 13], [18]])
@pytest.mark.parametrize(("step", "first"), [(1, 0), (1, 501), (5, 100)])
def test_a_range_of_angles_follows_the_numbers(lost: list[int], step: int, first: int, tmp_path: Path) -> None:
    kept = np.setdiff1d(np.arange(COUNT), lost)
    found, scan = degrees(write(tmp_path, kept, step=step, first=first))
    assert found == DEGREES[kept].tolist()
    listed = ", ".join(str(first + step * number) for number in lost)
    sentence = (
        f"The projections numbered {listed} are missing in {tmp_path}: the others have the angles of their numbers."
    )
    assert sentence in scan.assumptions


def test_the_end_of_an_inclusive_range_is_the_last_number(tmp_path: Path) -> None:
    kept = np.setdiff1d(np.arange(COUNT), [3])
    assert degrees(write(tmp_path, kept), "0:171:inclusive")[0] == DEGREES[kept].tolist()


def test_a_file_may_hold_the_angles_of_the_missing_ones_too(tmp_path: Path) -> None:
    kept = np.setdiff1d(np.arange(COUNT), [3, 9])
    write(tmp_path / "scan", kept)
    angles = DEGREES + 0.5
    for name, values in (("all.txt", angles), ("kept.txt", angles[kept])):
        (tmp_path / name).write_text("\n".join(map(str, values)))
        assert degrees(tmp_path / "scan", str(tmp_path / name))[0] == angles[kept].tolist()
    (tmp_path / "scan" / "angles.txt").write_text("\n".join(map(str, angles)))
    assert degrees(tmp_path / "scan", "")[0] == angles[kept].tolist()


def test_numbers_of_flats_between_the_projections_are_not_missing(tmp_path: Path) -> None:
    write(write(tmp_path, [*range(5), *range(8, COUNT)]), range(5, 8), "flat_")
    found, scan = degrees(tmp_path, flats="")
    assert found == np.linspace(0, 180, COUNT - 3, endpoint=False).round(6).tolist()
    assert not any("missing" in text for text in scan.assumptions)


def test_flats_with_numbers_of_their_own_do_not_hide_a_gap(tmp_path: Path) -> None:
    kept = np.setdiff1d(np.arange(COUNT), [2])
    write(write(tmp_path, kept), range(5), "flat_")
    assert degrees(tmp_path, flats="")[0] == DEGREES[kept].tolist()


def test_flats_among_the_projections_are_not_missing(tmp_path: Path) -> None:
    kept = np.setdiff1d(np.arange(COUNT), [15])
    found = degrees(write(tmp_path, kept), flats="frames:6:10")[0]
    assert found == np.delete(np.linspace(0, 180, COUNT - 4, endpoint=False), 11).round(6).tolist()


def test_a_series_that_lacks_many_is_ambiguous(tmp_path: Path) -> None:
    kept = [*range(8), *range(14, COUNT)]
    write(tmp_path / "scan", kept)
    with pytest.raises(InvalidInput, match=r"numbered 8, 9, 10, 11, 12, 13 are missing in .*--angles 0:180 is ambig"):
        degrees(tmp_path / "scan")
    (tmp_path / "kept.txt").write_text("\n".join(map(str, DEGREES[kept])))
    assert degrees(tmp_path / "scan", str(tmp_path / "kept.txt"))[0] == DEGREES[kept].tolist()


def test_hipic_images_too(tmp_path: Path) -> None:
    kept = np.setdiff1d(np.arange(COUNT), [4])
    for number in kept:
        write_img(tmp_path / f"q{number:03}.img", FRAME)
    assert degrees(tmp_path)[0] == DEGREES[kept].tolist()


@pytest.mark.parametrize("names", [["a1.tif", "a2.tif"], ["a1.tif"], ["a1_2.tif", "a4_9.tif"], ["x.tif", "y.tif"]])
def test_names_without_gaps_or_without_numbers(names: list[str]) -> None:
    assert FrameNumbers.of(names) is None
