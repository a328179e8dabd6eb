"""Folders of TIFF files: many names are understood, flats before and after are both used, angles are read from logs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.cli.main import main
from pellucid.errors import InvalidInput
from pellucid.tomo.scan_files.angle_tables import read_table
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.frame_names import read_name
from pellucid.tomo.scan_files.registry import is_scan, open_scan

FRAMES = np.random.default_rng(0).integers(1000, 4000, (8, 3, 4)).astype(np.uint16)
BEFORE, AFTER, DARKS = FRAMES[:2] + 900, FRAMES[:3] + 700, FRAMES[:2] // 50
DEGREES = np.arange(8) * 22.5


def write_folder(folder: Path, frames: Any, prefix: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for index, frame in enumerate(frames):
        tifffile.imwrite(folder / f"{prefix}{index:04}.tif", frame)


def imat(folder: Path) -> Path:
    """As the neutron imaging beamline IMAT writes it."""
    for name, frames in (
        ("Tomo", FRAMES), ("Flat_Before", BEFORE), ("Flat_After", AFTER), ("Dark_Before", DARKS), ("180deg", FRAMES[:1])
    ):  # fmt: skip
        write_folder(folder / name, frames, f"IMAT_Flower_{name}_")
    lines = [
        f"Sun Feb 10 00:22:{n:02} 2019   Projection:  {n}  angle: {angle}   counts before: 45{n}   counts after: 99"
        for n, angle in enumerate(DEGREES)
    ]
    header = " TIME STAMP  IMAGE TYPE   IMAGE COUNTER   COUNTS BM3 before image   COUNTS BM3 after image"
    (folder / "Tomo_log.txt").write_text("\n".join([header, *lines]))
    (folder / "Flat_Before_log.txt").write_text("\n".join([header, *lines[:2]]))
    return folder


def test_a_folder_with_flats_before_and_after(tmp_path: Path) -> None:
    scan = open_scan(imat(tmp_path / "scan"))
    assert scan.flats is not None and scan.darks is not None
    np.testing.assert_array_equal(scan.projections.read(), FRAMES)
    np.testing.assert_array_equal(scan.flats.read(), np.concatenate([BEFORE, AFTER]))
    np.testing.assert_array_equal(scan.flats.read((1, 4), (1, 3)), np.concatenate([BEFORE, AFTER])[1:4, 1:3])
    assert scan.flats.times.tolist() == [-2, -1, 8, 9, 10]
    assert scan.groups(scan.flats) == [("before", 2), ("after", 3)]
    np.testing.assert_allclose(np.rad2deg(scan.angles_rad), DEGREES)
    assert "The angles are from Tomo_log.txt." in scan.assumptions
    assert any("not used: 180deg" in text for text in scan.assumptions)
    scan.close()


def test_flats_are_named_one_after_the_other(tmp_path: Path) -> None:
    """In the order of time; a name that says before or after is where it says."""
    folder = imat(tmp_path / "scan")
    write_folder(tmp_path / "others", BEFORE[:1])
    for names, wanted in (
        ("Flat_Before;Flat_After", [-2, -1, 8, 9, 10]),
        ("Flat_After; Flat_Before", [8, 9, 10, -2, -1]),
        (f"{tmp_path / 'others'};180deg;Flat_After", [-1, 3.5, 8, 9, 10]),
        ("Flat_After/*.tif", [8, 9, 10]),
    ):
        scan = open_scan(folder, ScanOptions(flats=names))
        assert scan.flats is not None and scan.flats.times.tolist() == wanted
        scan.close()


def test_groups_whose_order_is_not_known_are_refused(tmp_path: Path) -> None:
    write_folder(tmp_path / "proj", FRAMES)
    write_folder(tmp_path / "flats_a", BEFORE)
    write_folder(tmp_path / "flats_b", AFTER)
    with pytest.raises(InvalidInput, match=r"several kinds of flats: flats_a/.*--flats 'flats_a/.*' --flats 'flats_b/"):
        open_scan(tmp_path, ScanOptions(darks="none", angles="0:180"))
    scan = open_scan(tmp_path, ScanOptions(flats="flats_b;flats_a", darks="none", angles="0:180"))
    assert scan.groups(scan.flats) == [("before", 3), ("after", 2)]


@pytest.mark.parametrize(
    ("path", "kind", "when"),
    [
        ("Tomo/a_001.tif", "projections", ""),
        ("tomo/ref_sample_001.tif", "projections", ""),
        ("Projections/0001.tif", "projections", ""),
        ("proj_0001.tif", "projections", ""),
        ("Flat_Before/x_0.tif", "flats", "before"),
        ("FlatAfter/x_0.tif", "flats", "after"),
        ("FLAT_AFTER/x_0.tif", "flats", "after"),
        ("flat/pre_0.tif", "flats", "before"),
        ("flats-post/0.tif", "flats", "after"),
        ("FF/0.tif", "flats", ""),
        ("white_fields/0.tif", "flats", ""),
        ("OpenBeam/0.tif", "flats", ""),
        ("open_beam_0.tif", "flats", ""),
        ("OB/0.tif", "flats", ""),
        ("ref_0001.tif", "flats", ""),
        ("I0_0001.tif", "flats", ""),
        ("scan_flat_0001.tif", "flats", ""),
        ("Dark_Before/0.tif", "darks", "before"),
        ("DF/0.tif", "darks", ""),
        ("DarkField_after/0.tif", "darks", "after"),
        ("180deg/a.tif", "opposite", ""),
        ("180_deg/a.tif", "opposite", ""),
        ("refined_1.tif", "", ""),
        ("darkness_1.tif", "", ""),
        ("slice_0180.tif", "", ""),
    ],
)
def test_what_names_say(path: str, kind: str, when: str) -> None:
    name = read_name(path)
    assert (name.kind, name.when) == (kind, when)


TABLES = {
    "plain": "\n".join(map(str, DEGREES)),
    "still at the ends": "\n".join(map(str, [0, 0, *DEGREES, 157.5])),
    "numbered": "\n".join(f"{n} {angle}" for n, angle in enumerate(DEGREES)),
    "numbered from 1, comma": "\n".join(f"{n + 1}, {angle}" for n, angle in enumerate(DEGREES)),
    "header": "file,angle (deg),current\n"
    + "\n".join(f"a{n}.tif,{angle},{300 - n}" for n, angle in enumerate(DEGREES)),
    "comment": "# Number Theta Exposure\n" + "\n".join(f"{n} {angle} 0.5" for n, angle in enumerate(DEGREES)),
    "radians": "time;rotation [rad]\n" + "\n".join(f"{5 * n};{np.deg2rad(a)}" for n, a in enumerate(DEGREES)),
    "labelled": "start\n" + "\n".join(f"12:00:{n:02} frame {n} angle = {a} ok" for n, a in enumerate(DEGREES)),
    "dates": "\n".join(f"2024-01-02 12:00:{n:02} {angle}" for n, angle in enumerate(DEGREES)),
}


@pytest.mark.parametrize("layout", TABLES)
def test_a_file_of_angles_in_many_layouts(layout: str, tmp_path: Path) -> None:
    write_folder(tmp_path / "Tomo", FRAMES)
    write_folder(tmp_path / "Flat", BEFORE)
    (tmp_path / "angles.txt").write_text(TABLES[layout])
    scan = open_scan(tmp_path, ScanOptions(darks="none"))
    np.testing.assert_allclose(np.rad2deg(scan.angles_rad), DEGREES)


@settings(max_examples=40)
@given(st.lists(st.floats(-400, 400, width=32), min_size=2, max_size=30), st.integers(0, 3), st.sampled_from(" ,;\t"))
def test_a_named_column_is_found_wherever_it_is(
    tmp_path_factory: pytest.TempPathFactory, angles: list[float], column: int, separator: str
) -> None:
    cells = [["number", "time", "current"], *([str(n), str(n * 0.5), "300"] for n in range(len(angles)))]
    for row, value in zip(cells, ["Theta", *map(repr, angles)], strict=True):
        row.insert(column, value)
    path = tmp_path_factory.mktemp("angles") / "log.csv"
    path.write_text("\n".join(separator.join(row) for row in cells))
    table = read_table(path)
    assert table.is_named
    np.testing.assert_array_equal(table.angles_deg, angles)


@pytest.mark.parametrize("name", ["scan.log", "Tomo/log.csv", "Tomo_0001.dat"])
def test_a_log_with_a_column_of_angles_is_found(name: str, tmp_path: Path) -> None:
    write_folder(tmp_path / "Tomo", FRAMES)
    write_folder(tmp_path / "Flat", BEFORE)
    (tmp_path / "readme.txt").write_text("Measured in 2024.\n1 2 3\n")
    (tmp_path / "temperatures.csv").write_text("time,temperature\n" + "\n".join(f"{n},{20 + n}" for n in range(8)))
    (tmp_path / name).write_text(TABLES["header"])
    scan = open_scan(tmp_path, ScanOptions(darks="none"))
    np.testing.assert_allclose(np.rad2deg(scan.angles_rad), DEGREES)


def test_a_log_beside_the_folder_is_found(tmp_path: Path) -> None:
    write_folder(tmp_path / "fly", FRAMES, "raw_")
    write_folder(tmp_path / "fly", BEFORE, "flat_")
    (tmp_path / "fly.log").write_text(TABLES["labelled"])
    scan = open_scan(tmp_path / "fly", ScanOptions(darks="none"))
    np.testing.assert_allclose(np.rad2deg(scan.angles_rad), DEGREES)


def test_angles_that_are_not_clear_are_an_error(tmp_path: Path) -> None:
    write_folder(tmp_path / "Tomo", FRAMES)
    write_folder(tmp_path / "Flat", BEFORE)
    for name, factor in (("a.log", 1), ("b.log", 2)):
        lines = [f"angle: {factor * angle}" for angle in DEGREES]
        (tmp_path / name).write_text("\n".join(lines))
    with pytest.raises(InvalidInput, match=r"different angles: .*a\.log, .*b\.log.*--angles"):
        open_scan(tmp_path, ScanOptions(darks="none"))
    scan = open_scan(tmp_path, ScanOptions(darks="none", angles=str(tmp_path / "b.log")))
    np.testing.assert_allclose(np.rad2deg(scan.angles_rad), 2 * DEGREES)
    (tmp_path / "angles.txt").write_text("\n".join(f"{a} {300 + n} {n % 3}" for n, a in enumerate(DEGREES)))
    with pytest.raises(InvalidInput, match="3 columns, and the column of the angles is ambiguous"):
        open_scan(tmp_path, ScanOptions(darks="none"))


def test_counts_beside_whole_degrees_are_not_angles(tmp_path: Path) -> None:
    path = tmp_path / "angles.txt"
    path.write_text("\n".join(f"{n} {1000 + n * 7 % 5}" for n in range(8)))
    with pytest.raises(InvalidInput, match="is ambiguous"):
        read_table(path)


def test_info_says_what_reconstruct_would_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = imat(tmp_path / "scan")
    assert is_scan(folder)
    assert main(["info", str(folder)]) == 0
    text = capsys.readouterr().out
    assert "8 of 4 x 3 pixels" in text and "0 to 157.5 degrees" in text
    assert "flats       2 before and 3 after the projections" in text and "darks       2\n" in text
    assert "The angles are from Tomo_log.txt" in text and "not stated; found when reconstructing" in text
    for name in ("Flat_Before", "Flat_After", "180deg"):
        for file in (folder / name).iterdir():
            file.unlink()
    assert main(["info", str(folder)]) == 0
    assert "has no flats" in capsys.readouterr().out


def test_two_sets_of_projections_are_not_one(tmp_path: Path) -> None:
    """One part would be lost: the user says which is meant."""
    write_folder(tmp_path, FRAMES[:5], "proj_a_")
    write_folder(tmp_path, FRAMES[5:], "proj_b_")
    write_folder(tmp_path, BEFORE, "flat_")
    with pytest.raises(InvalidInput, match=r"proj_a_\[0-9\]\*\.tif \(5 files\) and proj_b_.*--projections"):
        open_scan(tmp_path, ScanOptions(angles="0:180", darks="none"))
    scan = open_scan(tmp_path, ScanOptions(angles="0:180", darks="none", projections="proj_b_[0-9]*.tif"))
    np.testing.assert_array_equal(scan.projections.read(), FRAMES[5:])
    scan.close()
