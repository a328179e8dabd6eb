"""Scans are found in every kind of file by content; what is missing is an error, or said to be assumed."""

import json
from contextlib import closing
from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile

from pellucid.cli.main import main
from pellucid.errors import InvalidInput
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import is_scan, open_scan
from pellucid.tomo.scan_files.scan_facts import scan_facts
from tests.shared_data import shared
from tests.tomo.small_scan import write_scan

FRAMES = np.random.default_rng(0).integers(100, 4000, (8, 3, 4)).astype(np.uint16)
FLATS, DARKS = FRAMES[:2] + 5, FRAMES[:3] // 50
DEGREES = np.arange(8) * 22.5


def data_exchange(path: Path, **left_out: bool) -> Path:
    parts = {"data": FRAMES, "data_white": FLATS, "data_dark": DARKS, "theta": DEGREES}
    with h5py.File(path, "w") as file:
        for name, array in parts.items():
            if not left_out.get(name):
                file[f"exchange/{name}"] = array
        file["measurement/instrument/detector/pixel_size"] = 0.65
        file["measurement/instrument/detector/pixel_size"].attrs["units"] = "um"
    return path


def test_data_exchange(tmp_path: Path) -> None:
    scan = open_scan(data_exchange(tmp_path / "scan.h5"))
    assert scan.flats is not None and scan.darks is not None
    np.testing.assert_array_equal(scan.projections.read(), FRAMES)
    np.testing.assert_array_equal(scan.flats.read(rows=(1, 2)), FLATS[:, 1:2])
    np.testing.assert_array_equal(scan.darks.read(), DARKS)
    np.testing.assert_allclose(scan.angles_rad, np.deg2rad(DEGREES))
    assert (scan.kind, scan.pixel_size_um, scan.assumptions) == ("Data Exchange", 0.65, ())


@pytest.mark.parametrize(
    ("missing", "text", "options"),
    [
        ("theta", "does not state the angles of its 8 projections", ScanOptions(angles="0:180")),
        ("data_white", "has no flats", ScanOptions(flats="none")),
        ("data_dark", "has no darks", ScanOptions(darks="none")),
    ],
)
def test_what_is_missing_has_to_be_said(missing: str, text: str, options: ScanOptions, tmp_path: Path) -> None:
    path = data_exchange(tmp_path / "scan.h5", **{missing: True})
    with pytest.raises(InvalidInput, match=text):
        open_scan(path)
    scan = open_scan(path, options)
    np.testing.assert_allclose(np.rad2deg(scan.angles_rad), DEGREES)
    assert len(scan.assumptions) == 1


def nexus(path: Path) -> Path:
    """Frames in another file, as detectors write them; an angle for every frame; radians."""
    with h5py.File(path.with_name("detector.h5"), "w") as file:
        file["entry/data"] = np.concatenate([FLATS, FRAMES, DARKS, FLATS])
    with h5py.File(path, "w") as file:
        entry = file.create_group("entry1/tomo_entry")
        detector = entry.create_group("instrument/detector")
        detector.attrs["NX_class"] = "NXdetector"
        detector["data"] = h5py.ExternalLink("detector.h5", "/entry/data")
        detector["image_key"] = [1] * 2 + [0] * 8 + [2] * 3 + [1] * 2
        detector["x_pixel_size"] = 3.25e-6
        detector["x_pixel_size"].attrs["units"] = "m"
        entry["sample/rotation_angle"] = np.deg2rad(np.concatenate([[0, 0], DEGREES, [170] * 5]))
        entry["sample/rotation_angle"].attrs["units"] = "rad"
        entry["broken"] = h5py.ExternalLink("absent.h5", "/theta")
    return path


def test_nxtomo_by_image_key_through_external_links(tmp_path: Path) -> None:
    scan = open_scan(nexus(tmp_path / "scan.nxs"))
    assert scan.kind == "NXtomo" and scan.flats is not None and scan.darks is not None
    np.testing.assert_array_equal(scan.projections.read((2, 5)), FRAMES[2:5])
    np.testing.assert_array_equal(scan.flats.read(), np.concatenate([FLATS, FLATS]))
    np.testing.assert_array_equal(scan.darks.read(), DARKS)
    np.testing.assert_allclose(np.rad2deg(scan.angles_rad), DEGREES)
    assert scan.flats.times.tolist() == [0, 1, 13, 14] and scan.projections.times[0] == 2
    assert scan.pixel_size_um == pytest.approx(3.25)


def test_hdf5_by_dataset_names(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        file["raw"], file["turn"] = np.concatenate([DARKS, FRAMES]), DEGREES
        file["white"] = FLATS
    with pytest.raises(InvalidInput, match=r"neither Data Exchange nor NXtomo.* /raw \(11, 3, 4\)"):
        open_scan(tmp_path / "scan.h5")
    options = ScanOptions(projections="/raw", flats="/white", darks="frames:0:3", angles="0:180:inclusive")
    scan = open_scan(tmp_path / "scan.h5", options)
    assert scan.count == 8 and np.rad2deg(scan.angles_rad[-1]) == pytest.approx(180)
    assert scan.darks is not None
    np.testing.assert_array_equal(scan.darks.read(), DARKS)
    with pytest.raises(InvalidInput, match="/turn contains 8 angles, but there are 11 projections"):
        open_scan(tmp_path / "scan.h5", ScanOptions("/raw", "none", "none", "/turn"))


@pytest.mark.parametrize("name", ["{}_{:04}.tif", "{}/{:04}.tif", "scan_{}{}.tif"])
def test_tiff_folders_by_names(name: str, tmp_path: Path) -> None:
    raw = "" if name.startswith("scan") else "raw"  # scan_1.tif beside scan_flat1.tif
    for kind, frames in ((raw, FRAMES), ("flat", FLATS), ("dark", DARKS)):
        for index, frame in enumerate(frames):
            path = tmp_path / name.format(kind, index)
            path.parent.mkdir(exist_ok=True)
            tifffile.imwrite(path, frame)
    (tmp_path / "angles.txt").write_text("\n".join(map(str, [0, 0, *DEGREES, 157.5, 157.5])))
    assert is_scan(tmp_path)
    scan = open_scan(tmp_path)
    assert scan.flats is not None and scan.darks is not None
    np.testing.assert_array_equal(scan.projections.read(), FRAMES)
    np.testing.assert_array_equal(scan.flats.read(), FLATS)
    np.testing.assert_array_equal(scan.darks.read(), DARKS)
    np.testing.assert_allclose(np.rad2deg(scan.angles_rad), DEGREES)


def test_tiff_frames_by_patterns_and_numbers(tmp_path: Path) -> None:
    for index, frame in enumerate(np.concatenate([DARKS, FRAMES])):
        tifffile.imwrite(tmp_path / f"a{index:02}.tif", frame)
    tifffile.imwrite(tmp_path / "beam.tif", FLATS[0])
    with pytest.raises(InvalidInput, match="Invalid frames"):
        open_scan(tmp_path, ScanOptions("frames:13:3", "none", "none", "0:180"))
    some = open_scan(tmp_path, ScanOptions("frames:3:11", "beam.tif", "a00.tif", "0:180"))
    np.testing.assert_array_equal(some.projections.read(), FRAMES)
    np.testing.assert_allclose(np.rad2deg(some.angles_rad), DEGREES)
    for index, frame in enumerate(np.concatenate([DARKS, FRAMES])):
        tifffile.imwrite(tmp_path / f"b{index:02}.tif", frame)
    options = ScanOptions("b[0-9]*.tif", "beam.tif", "frames:0:3", "0:180")
    scan = open_scan(tmp_path, options)
    assert scan.count == 8 and scan.flats is not None and scan.darks is not None
    np.testing.assert_array_equal(scan.flats.read(), FLATS[:1])
    np.testing.assert_array_equal(scan.darks.read(), DARKS)


@pytest.mark.parametrize(
    ("name", "shape", "flats", "darks", "last_deg"),
    [
        ("ct/tooth.h5", (181, 2, 640), 10, 10, 179.00552),
        ("ct/savu_tiff", (91, 135, 160), 1, 1, 91.7999),
        ("ct/k11_diad/k11-18014.nxs", (3001, 22, 26), 100, 100, 269.99463),
    ],
)
def test_real_scans(name: str, shape: tuple[int, int, int], flats: int, darks: int, last_deg: float) -> None:
    assert is_scan(shared(name))
    with closing(open_scan(shared(name))) as scan:
        assert scan.projections.shape == shape
        facts = scan_facts(scan)
    assert (facts["flats"], facts["darks"]) == (flats, darks)
    assert facts["last_angle_deg"] == pytest.approx(last_deg, abs=1e-5)


def test_a_volume_is_no_scan(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "volume.h5", "w") as file:
        file["data"] = FRAMES
    assert not is_scan(tmp_path / "volume.h5")
    for name in ("refined_1.tif", "refined_2.tif"):
        tifffile.imwrite(tmp_path / name, FRAMES[0])
    assert not is_scan(tmp_path)
    np.save(tmp_path / "volume.npy", FRAMES)
    with pytest.raises(InvalidInput, match="is npy, which is not a scan format"):
        open_scan(tmp_path / "volume.npy")


def test_info_shows_the_geometry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(nexus(tmp_path / "scan.nxs"))]) == 0
    text = capsys.readouterr().out
    assert "8 of 4 x 3 pixels, uint16" in text and "0 to 157.5 degrees, steps of 22.5, 180 in all" in text
    assert main(["info", "--json", str(data_exchange(tmp_path / "scan.h5", data_white=True))]) == 0
    assert "has no flats" in json.loads(capsys.readouterr().out)["scan"]["lacks"]


def test_flats_and_darks_with_two_axes_are_one_frame(tmp_path: Path) -> None:
    path = write_scan(tmp_path / "averaged.h5", rows=4)
    with h5py.File(path, "a") as file:
        for name in ("data_white", "data_dark"):
            mean = file[f"exchange/{name}"][:].mean(axis=0)
            del file[f"exchange/{name}"]
            file[f"exchange/{name}"] = mean
    with closing(open_scan(path)) as scan:
        assert scan.flats is not None and scan.darks is not None
        assert (scan.flats.shape, scan.darks.shape) == ((1, 4, 48), (1, 4, 48))
        assert (scan.flats.read() == 20_100).all() and (scan.darks.read() == 100).all()
