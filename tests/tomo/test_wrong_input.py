"""Frames, angles and axes that are named or stored wrongly are refused, left out or spoken of; no number is wrong."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tifffile

from pellucid.cli.main import main
from pellucid.errors import InvalidInput
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.pipeline.reconstruct import reconstruct
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.report import AngleReport
from pellucid.tomo.scan import Frames, Scan
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.volume.volume import open_volume
from tests.tomo.analytic import ellipse_sinogram, even_angles
from tests.tomo.small_scan import AXIS, COLUMNS, write_scan

FRAMES = np.random.default_rng(0).integers(1000, 4000, (8, 3, 4)).astype(np.uint16)
FLATS, DARKS = FRAMES[:2] + 900, FRAMES[:3] // 50
TOGETHER = np.concatenate([FLATS, FRAMES, DARKS])
DEGREES = np.arange(8) * 22.5
NUMBERED = ScanOptions(flats="frames:0:2", darks="frames:10:13")


def one_file(path: Path, kind: str) -> tuple[Path, str]:
    """All frames together, and how they are named."""
    if kind == "TIFF folder":
        path.mkdir()
        for index, frame in enumerate(TOGETHER):
            tifffile.imwrite(path / f"im_{index:04}.tif", frame)
        return path, ""
    name = "/all" if kind == "HDF5 by dataset names" else "/exchange/data"
    with h5py.File(path, "w") as file:
        file[name] = TOGETHER
    return path, name if name == "/all" else ""


@pytest.mark.parametrize("kind", ["TIFF folder", "HDF5 by dataset names", "Data Exchange"])
@pytest.mark.parametrize("angles", ["range", "for all frames", "for projections"])
def test_frames_named_as_flats_and_darks_are_no_projections(kind: str, angles: str, tmp_path: Path) -> None:
    path, named = one_file(tmp_path / "scan", kind)
    for_all = np.concatenate([[0, 0], DEGREES, [157.5] * 3])
    given = tmp_path / "given.txt"
    given.write_text("\n".join(map(str, for_all if angles == "for all frames" else DEGREES)))
    options = replace(NUMBERED, projections=named, angles="0:180" if angles == "range" else str(given))
    scan = open_scan(path, options)
    assert scan.kind == kind and scan.flats is not None and scan.darks is not None
    np.testing.assert_array_equal(scan.projections.read(), FRAMES)
    np.testing.assert_array_equal(scan.flats.read(), FLATS)
    np.testing.assert_array_equal(scan.darks.read(), DARKS)
    np.testing.assert_allclose(np.rad2deg(scan.angles_rad), DEGREES)
    assert scan.groups(scan.flats) == [("before", 2)] and scan.groups(scan.darks) == [("after", 3)]


@pytest.mark.parametrize("kind", ["TIFF folder", "Data Exchange"])
@pytest.mark.parametrize("is_for_all", [True, False])
def test_angles_that_the_scan_holds_belong_to_the_projections(kind: str, is_for_all: bool, tmp_path: Path) -> None:
    path, _ = one_file(tmp_path / "scan", kind)
    stored = np.concatenate([[3, 99], DEGREES, [8, 7, 6]]) if is_for_all else DEGREES
    if kind == "TIFF folder":
        (path / "angles.txt").write_text("\n".join(map(str, stored)))
    else:
        with h5py.File(path, "a") as file:
            file["exchange/theta"] = stored
    scan = open_scan(path, NUMBERED)
    np.testing.assert_allclose(np.rad2deg(scan.angles_rad), DEGREES)
    if is_for_all:
        some = open_scan(path, ScanOptions("frames:4:8", "frames:0:2", "none"))
        np.testing.assert_array_equal(some.projections.read(), FRAMES[2:6])
        np.testing.assert_allclose(np.rad2deg(some.angles_rad), DEGREES[2:6])


def test_projections_that_are_named_stay_also_where_they_are_flats(tmp_path: Path) -> None:
    path, _ = one_file(tmp_path / "scan", "Data Exchange")
    assert open_scan(path, ScanOptions("frames:0:10", "frames:0:2", "none", "0:180")).count == 10
    with pytest.raises(InvalidInput, match="All frames are listed as flats or darks"):
        open_scan(path, ScanOptions(flats="frames:0:13", darks="none", angles="0:180"))


def with_angles(path: Path, degrees: Any) -> Path:
    write_scan(path, rows=2, views=12)
    with h5py.File(path, "a") as file:
        file["exchange/theta"][:] = degrees
    return path


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_angle_that_is_no_number_is_refused(
    value: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    degrees = np.arange(12) * 15.0
    degrees[[7, 9]] = value
    path = with_angles(tmp_path / "scan.h5", degrees)
    with pytest.raises(InvalidInput, match=r"The angle of projection 7 of .* not a finite number"):
        open_scan(path)
    assert main(["reconstruct", str(path), "-o", str(tmp_path / "out.zarr")]) != 0
    assert "projection 7" in capsys.readouterr().err
    assert main(["info", str(path)]) == 0
    assert "projection 7" in capsys.readouterr().out


@pytest.mark.parametrize(
    "degrees",
    [np.zeros(12), 33 + np.random.default_rng(0).normal(0, 0.01, 12), np.arange(12) * 180.0, np.full(12, 179.9999999)],
)
def test_a_sample_that_did_not_turn_is_refused(degrees: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"All 12 angles of .* are .* degrees"):
        open_scan(with_angles(tmp_path / "scan.h5", degrees))
    scan = Scan("mine", "array", Frames.from_array(np.ones((12, 2, 16), np.float32)), np.deg2rad(degrees))
    with pytest.raises(InvalidInput, match="All 12 angles"):
        reconstruct_array(scan)


@pytest.mark.parametrize("noise", [0.0, 1e-3])
@pytest.mark.parametrize("count", [2, 3, 7, 8])
def test_views_at_a_few_angles_are_spoken_of(
    noise: float, count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    degrees = np.repeat(np.arange(count) * 180 / count, 10) + np.random.default_rng(1).normal(0, noise, 10 * count)
    write_scan(tmp_path / "scan.h5", rows=2, views=10 * count)
    with h5py.File(tmp_path / "scan.h5", "a") as file:
        file["exchange/theta"][:] = degrees
    assert main(["reconstruct", str(tmp_path / "scan.h5"), "-o", str(tmp_path / "out.zarr"), "--center", "22"]) == 0
    text = f"only {count} different angles"
    report = json.loads((tmp_path / "out.zarr.report.json").read_text())
    assert (text in capsys.readouterr().err) == (count < 8)
    assert any(text in warning for warning in report["warnings"]) == (count < 8)
    assert AngleReport(180.0, 180.0).warnings == []


@pytest.mark.parametrize("center", [-5.0, 300.0, COLUMNS - 0.5])
def test_an_axis_beside_the_detector_is_refused(center: float, tmp_path: Path) -> None:
    scan = open_scan(write_scan(tmp_path / "scan.h5", rows=1, views=12, turn_rad=2 * np.pi))
    for is_offset in (False, True):
        with pytest.raises(InvalidInput, match=f"Invalid axis: column .* of {COLUMNS}. Use a column from 0 to 47"):
            reconstruct_array(scan, Recipe(center=center, is_offset=is_offset))


@pytest.mark.parametrize(
    ("unit", "degrees"),
    [
        ("deg", 1.0), ("Degrees", 1.0), ("degree", 1.0), ("", 1.0), (["deg"], 1.0), ("rad", 180 / np.pi),
        ("radians", 180 / np.pi), ("mrad", 0.18 / np.pi), ("mdeg", 1e-3), ("millidegree", 1e-3),
    ],
)  # fmt: skip
def test_units_of_angles_are_known(unit: Any, degrees: float, tmp_path: Path) -> None:
    path = with_angles(tmp_path / "scan.h5", np.arange(12) * 15 / degrees)
    with h5py.File(path, "a") as file:
        file["exchange/theta"].attrs["units"] = unit
    for options in (None, ScanOptions(angles="/exchange/theta")):
        np.testing.assert_allclose(np.rad2deg(open_scan(path, options).angles_rad), np.arange(12) * 15)


@pytest.mark.parametrize("unit", ["arcmin", "turns", "xyz"])
def test_units_of_angles_that_are_not_known_are_refused(unit: str, tmp_path: Path) -> None:
    path = with_angles(tmp_path / "scan.h5", np.arange(12) * 15)
    with h5py.File(path, "a") as file:
        file["exchange/theta"].attrs["units"] = unit
    with pytest.raises(InvalidInput, match=f"/exchange/theta has the unit '{unit}', which is not a known.*--angles"):
        open_scan(path)
    assert open_scan(path, ScanOptions(angles="0:180")).count == 12


@pytest.mark.parametrize(
    ("unit", "size_um", "text"),
    [
        ("micrometer", 2.0, ""), ("Microns", 2.0, ""), ("µm", 2.0, ""), ("nm", 2e-3, ""), ("mm", 2e3, ""),
        ("cm", 2e4, ""), ("m", 2e6, ""), ("", None, "has no unit"), ("furlong", None, "has the unit 'furlong'"),
    ],
)  # fmt: skip
def test_units_of_the_pixel_size(unit: str, size_um: float | None, text: str, tmp_path: Path) -> None:
    path = write_scan(tmp_path / "scan.h5", rows=1, views=12)
    with h5py.File(path, "a") as file:
        file["measurement/instrument/detector/pixel_size"] = 2.0
        file["measurement/instrument/detector/pixel_size"].attrs["units"] = unit
    scan = open_scan(path)
    assert scan.pixel_size_um == (None if size_um is None else pytest.approx(size_um))
    assert [text in sentence and "--pixel-size" in sentence for sentence in scan.assumptions] == [True] * bool(text)


@pytest.mark.parametrize("height", [10.0, 20.0])
def test_pixels_that_are_no_squares_are_spoken_of(height: float, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "scan.nxs", "w") as file:
        detector = file.create_group("entry/instrument/detector")
        detector.attrs["NX_class"] = "NXdetector"
        detector["data"], detector["image_key"] = TOGETHER, [1] * 2 + [0] * 8 + [2] * 3
        for name, size in (("x_pixel_size", 10.0), ("y_pixel_size", height)):
            detector[name] = size
            detector[name].attrs["units"] = "um"
        file["entry/sample/rotation_angle"] = np.concatenate([[np.nan] * 2, DEGREES, [0] * 3])
    scan = open_scan(tmp_path / "scan.nxs")
    np.testing.assert_allclose(np.rad2deg(scan.angles_rad), DEGREES)
    assert scan.pixel_size_um == 10.0
    assert any("10 um wide and 20 um high" in text for text in scan.assumptions) == (height == 20)


@pytest.mark.parametrize(
    ("axis", "width", "options", "text"),
    [
        (23.0, 20, [], ""),
        (6.0, 30, [], "use --offset"),
        (41.3, 30, [], "use --offset"),
        (6.0, 30, ["--center", "6"], "near the border"),
        (6.0, 30, ["--offset"], ""),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_forgotten_offset_is_spoken_of(
    axis: float, width: float, options: list[str], text: str, noise: float, tmp_path: Path
) -> None:
    angles = even_angles(120, 2 * np.pi)
    lengths = ellipse_sinogram(angles, COLUMNS, axis, (width, 0.8 * width), middle=(2.0, 1.0))
    lengths += 2 * ellipse_sinogram(angles, COLUMNS, axis, (4.0, 3.0), middle=(9.0, -5.0))
    beam = np.exp(-0.01 * lengths + np.random.default_rng(0).normal(0, noise, lengths.shape))
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        file["exchange/data"], file["exchange/theta"] = beam[:, None].astype(np.float32), np.degrees(angles)
    command = ["reconstruct", str(tmp_path / "scan.h5"), "-o", str(tmp_path / "out.zarr"), "--flats", "none"]
    assert main([*command, "--darks", "none", *options]) == 0
    warnings = json.loads((tmp_path / "out.zarr.report.json").read_text())["warnings"]
    assert any("--offset" in warning for warning in warnings) == bool(text)
    assert not text or any(text in warning for warning in warnings)


def test_rows_and_views_without_light_are_named(tmp_path: Path) -> None:
    """Row 5 is black in every view, and view 7 in every row."""
    path = write_scan(tmp_path / "scan.h5", rows=20, views=12)
    with h5py.File(path, "a") as file:
        file["exchange/data"][:, 5] = file["exchange/data"][7] = 100
    options = ["-o", str(tmp_path / "out.zarr"), "--center", str(AXIS), "--keep-bad-pixels"]
    assert main(["reconstruct", str(path), *options]) == 0
    warnings = json.loads((tmp_path / "out.zarr.report.json").read_text())["warnings"]
    assert "No light in any view in these rows, whose slices are empty: 5." in warnings
    assert "Black projections, or rows of them, that were replaced by their neighbours: 7." in warnings
    with open_volume(tmp_path / "out.zarr") as volume:
        assert not volume[5].any() and volume[4].any() and volume[6].any()


def test_a_scan_instead_of_its_path_is_refused(tmp_path: Path) -> None:
    scan: Any = open_scan(write_scan(tmp_path / "scan.h5", rows=1, views=12))
    with pytest.raises(InvalidInput, match="not a Scan"):
        reconstruct(scan, tmp_path / "out.zarr")


def test_remedies_that_are_offered_are_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_scan(tmp_path / "scan.h5", rows=1, views=12)
    assert main(["reconstruct", str(path), "-o", str(tmp_path / "out.zarr"), "--dtype", "uint8"]) != 0
    text = capsys.readouterr().err
    assert "--range LOW,HIGH" in text and "auto" not in text
    assert "360 with --offset" in AngleReport(160.0, 160.0, (20.0,)).warnings[0]


@pytest.mark.parametrize("name", ["other/p", "/other/p"])
def test_projections_are_named_with_or_without_a_slash(name: str, tmp_path: Path) -> None:
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        file["other/p"], file["exchange/data"] = FRAMES, 2 * FRAMES
    options = ScanOptions(projections=name, flats="none", darks="none", angles="0:180")
    np.testing.assert_array_equal(open_scan(tmp_path / "scan.h5", options).projections.read(), FRAMES)


def test_a_dataset_that_is_not_there_is_named(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        file["other/p"] = FRAMES
    options = ScanOptions(projections="x/p", flats="none", darks="none", angles="0:180")
    with pytest.raises(InvalidInput, match=r"has no dataset /x/p, which --projections names\. .*/other/p \(8, 3, 4\)"):
        open_scan(tmp_path / "scan.h5", options)


def test_an_image_key_of_the_wrong_length_is_named(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "scan.nxs", "w") as file:
        file["entry/detector/data"], file["entry/detector/image_key"] = FRAMES, np.zeros(7)
        file["entry/detector"].attrs["NX_class"] = "NXdetector"
    with pytest.raises(
        InvalidInput, match=r"/entry/detector/image_key of .* has the shape \(7,\), but .* has 8 frames"
    ):
        open_scan(tmp_path / "scan.nxs")


@pytest.mark.parametrize(("turn", "instead"), [(np.pi, "0:180"), (2 * np.pi, "0:360")])
def test_angles_that_look_like_radians_are_spoken_of(turn: float, instead: str, tmp_path: Path) -> None:
    source = write_scan(tmp_path / "scan.h5", rows=2)
    with h5py.File(source, "r+") as file:
        file["exchange/theta"][...] = np.arange(72) * turn / 72
    spoken = " ".join(open_scan(source).assumptions)
    assert "assumed to be degrees, but look like radians" in spoken and f"--angles {instead}" in spoken
    with h5py.File(source, "r+") as file:
        file["exchange/theta"].attrs["units"] = "rad"
    assert "radians" not in " ".join(open_scan(source).assumptions)
