"""Tables of angles: decimal commas, rows in another order, and columns that only sound like angles."""

from pathlib import Path

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.errors import InvalidInput
from pellucid.tomo.scan_files.angle_tables import read_table
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.tomo.scan_files.text_tables import AnglesUnclear

DEGREES = np.arange(8) * 22.5


def table(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@settings(max_examples=60)
@given(
    st.lists(st.integers(-400_000, 400_000), min_size=2, max_size=30),
    st.sampled_from(["frame;angle", "frame\tangle", "# frame angle", "angle", ""]),
    st.integers(1, 4),
)
def test_decimal_commas_are_decimals(
    tmp_path_factory: pytest.TempPathFactory, thousandths: list[int], header: str, digits: int
) -> None:
    """Every number is read as it was written, or the table is refused."""
    written = [f"{value / 1000:.{digits}f}" for value in thousandths]
    separator = "\t" if "\t" in header else ";" if ";" in header else " " if "#" in header else None
    rows = [f"{n}{separator}{text}" if separator else text for n, text in enumerate(written)]
    path = tmp_path_factory.mktemp("angles") / "angles.txt"
    path.write_text("\n".join([header, *(row.replace(".", ",") for row in rows)]))
    try:
        found = read_table(path).angles_deg
    except AnglesUnclear:
        assert separator is None
        return
    np.testing.assert_allclose(found, [float(text) for text in written])


@pytest.mark.parametrize(
    "written",
    ["0,000\n1,000\n2,000\n10,500", "0,000\n1,000\n2,000", "0,5\n1\n1,5", "scan_1.tif 0,5\nscan_2.tif 1,25"],
)
def test_one_column_of_decimal_commas(written: str, tmp_path: Path) -> None:
    wanted = [float(line.split()[-1].replace(",", ".")) for line in written.splitlines()]
    assert read_table(table(tmp_path / "angles.txt", written)).angles_deg.tolist() == wanted


def test_commas_that_may_be_either_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AnglesUnclear, match="may separate columns, or be decimal commas: '0,10'"):
        read_table(table(tmp_path / "angles.txt", "0,10\n1,20\n2,30"))
    with pytest.raises(AnglesUnclear, match="decimal commas"):
        read_table(table(tmp_path / "scan.log", "angle: 0,5\nangle: 1,0"))
    assert read_table(table(tmp_path / "angles.csv", "number,angle\n0,10\n1,20")).angles_deg.tolist() == [10, 20]


@pytest.mark.parametrize("key", ["file", "frame", "path", ""])
def test_rows_are_matched_with_files_and_frames(key: str, tmp_path: Path) -> None:
    for index in range(8):
        tifffile.imwrite(tmp_path / f"proj_{index}.tif", np.full((2, 3), index, np.uint16))
    order = np.random.default_rng(1).permutation(8)
    names = {"frame": "{}", "path": "D:\\flat samples\\proj_{}.tif"}.get(key, "proj_{}.tif")
    rows = [f"{names.format(index)},{DEGREES[index]}" for index in order]
    rows += ["flat_0.tif,0.0", "flat_1.tif,99"] if key == "file" else []
    header = [f"{key},angle"] if key else []
    path = table(tmp_path / ("angles.txt" if not key else "log.csv"), "\n".join([*header, *rows]))
    for options in (ScanOptions(flats="none", darks="none"), ScanOptions("", "none", "none", str(path))):
        scan = open_scan(tmp_path, options)
        np.testing.assert_allclose(np.rad2deg(scan.angles_rad), DEGREES)
        assert scan.projections.read()[:, 0, 0].tolist() == list(range(8))
        wanted = f"column 'angle', in the order of column '{key}'." if key else "column 2, in the order of column 1."
        assert any(text.endswith(wanted) for text in scan.assumptions)


@pytest.mark.parametrize(
    ("header", "column"),
    [
        ("angle_error,angle", 1),
        ("theta_time,theta", 1),
        ("Theta (deg),theta_std", 0),
        ("actual_angle,angle_error", 0),
        ("rotation_angle [deg],rotation_speed", 0),
        ("time,omega", 1),
    ],
)
def test_a_column_about_angles_is_not_taken_for_them(header: str, column: int, tmp_path: Path) -> None:
    cells = np.stack([[0.1, 0.4, 0.2], [0.0, 60.0, 120.0]][:: 1 if column else -1], axis=1)
    text = "\n".join([header, *(f"{a},{b}" for a, b in cells)])
    found = read_table(table(tmp_path / "scan.log", text))
    assert found.angles_deg.tolist() == [0.0, 60.0, 120.0]
    assert found.is_named and found.origin == f"column {header.split(',')[column]!r}"


@pytest.mark.parametrize("header", ["requested_angle,actual_angle", "theta,phi", "angle_deg,angle_rad"])
def test_several_columns_of_angles_are_refused(header: str, tmp_path: Path) -> None:
    for index in range(3):
        tifffile.imwrite(tmp_path / f"proj_{index}.tif", np.full((2, 3), index, np.uint16))
    table(tmp_path / "log.csv", f"{header}\n0,1\n60,61\n120,122")
    first, second = header.split(",")
    with pytest.raises(InvalidInput, match=f"several columns of angles: '{first}', '{second}'"):
        open_scan(tmp_path, ScanOptions(flats="none", darks="none"))


@pytest.mark.parametrize(
    ("header", "factor"), [("theta_mrad", 1e-3 * 180 / np.pi), ("angle [mdeg]", 1e-3), ("angle_rad", 180 / np.pi)]
)
def test_units_in_the_name_of_a_column(header: str, factor: float, tmp_path: Path) -> None:
    for text in (f"{header}\n0\n1.5", f"n,{header}\n0,0\n1,1.5"):
        found = read_table(table(tmp_path / "scan.log", text))
        np.testing.assert_allclose(found.angles_deg, [0, 1.5 * factor])
