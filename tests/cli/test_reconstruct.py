"""``pellucid reconstruct``: the volume, the preview, and several centers."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

import pellucid
from pellucid.box import Box
from pellucid.cli.main import main
from pellucid.formats.protocol import Layout, Level
from pellucid.volume.volume import open_volume
from tests.tomo.small_scan import AXIS, COLUMNS, MU_PER_CM, PIXEL_UM, inside, write_scan


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_scan(tmp_path_factory.mktemp("scan") / "scan.h5", rows=6))


def run(*arguments: object) -> int:
    return main(["reconstruct", *map(str, arguments), "--quiet", "--device", "cpu"])


def test_a_scan_becomes_a_volume(scan: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "a.zarr"
    assert (
        run(scan, "-o", target, "--center", AXIS, "--pixel-size", PIXEL_UM, "--ring", "vo-sorting", "--levels", "2")
        == 0
    )
    assert "6 × 48 × 48" in capsys.readouterr().out
    with open_volume(target) as volume:
        assert len(volume.levels) == 2
        assert inside(volume.read()[2]).mean() == pytest.approx(MU_PER_CM, rel=0.02)
    assert (tmp_path / "a.zarr.report.json").exists()


def test_zarr_v2_is_written_in_plain_chunks(scan: str, tmp_path: Path) -> None:
    common = ("--center", AXIS, "--pixel-size", PIXEL_UM, "--ring", "none", "--chunk", "4,16,16")
    for name in ("a.zarr", "a.zarr2", "A.ZARR2"):
        assert run(scan, "-o", tmp_path / name, *common) == 0
    document = json.loads((tmp_path / "a.zarr2" / "0" / ".zarray").read_text())
    assert (document["zarr_format"], document["chunks"]) == (2, [4, 16, 16])
    with open_volume(tmp_path / "a.zarr") as sharded, open_volume(tmp_path / "a.zarr2") as plain:
        np.testing.assert_array_equal(plain.read(), sharded.read())


def test_phase_is_retrieved_and_said(scan: str, tmp_path: Path) -> None:
    arguments = ("--center", AXIS, "--pixel-size", PIXEL_UM, "--phase", "20,5,500", "--filter", "ramachandran")
    assert run(scan, "-o", tmp_path / "a.zarr", *arguments) == 0
    report = json.loads((tmp_path / "a.zarr.report.json").read_text())
    assert report["recipe"]["phase"] == {
        "energy_kev": 20.0, "distance_mm": 5.0, "pixel_size_um": PIXEL_UM, "delta_over_beta": 500.0,
    }  # fmt: skip
    assert "preparing projections" in report["seconds"]


def test_bytes_need_a_range(scan: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = (scan, "-o", tmp_path / "a.n5", "--center", AXIS, "--dtype", "uint8", "--rows", "1:4")
    assert run(*common) == 1
    assert "--range LOW,HIGH" in capsys.readouterr().err
    assert run(*common, "--range=-0.01,0.03") == 0
    with open_volume(tmp_path / "a.n5") as volume:
        assert (volume.shape, volume.dtype) == ((3, COLUMNS, COLUMNS), np.dtype(np.uint8))


def test_a_preview_is_a_picture_and_no_volume(scan: str, tmp_path: Path) -> None:
    assert run(scan, "-o", tmp_path / "a.zarr", "--center", AXIS, "--preview", "2") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.zarr.preview.png"]
    image = np.asarray(Image.open(tmp_path / "a.zarr.preview.png"))
    slice_of_it = image[-COLUMNS:, :COLUMNS]
    assert inside(slice_of_it).mean() > 150
    assert slice_of_it[:4, :4].mean() < 100


def test_a_preview_is_binned_as_the_volume_will_be(scan: str, tmp_path: Path) -> None:
    common = ("--center", AXIS, "--bin", "2", "--preview", "2")
    assert run(scan, "-o", tmp_path / "a.zarr", *common) == 0
    image = np.asarray(Image.open(tmp_path / "a.zarr.preview.png"))
    assert image.shape[1] == COLUMNS // 2
    assert inside(image[-COLUMNS // 2 :].repeat(2, axis=0).repeat(2, axis=1)).mean() > 150


def test_several_centers_on_one_sheet(scan: str, tmp_path: Path) -> None:
    assert run(scan, "-o", tmp_path / "a.zarr", "--center", "22.2:23.2:0.5", "--preview", "1") == 0
    image = Image.open(tmp_path / "a.zarr.preview.png")
    assert image.size == (2 * 54 - 6, 2 * (54 + 22) - 6)  # Three slices, two by two.


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--center", "left"), "Invalid center 'left'"),
        (("--center", "1:2"), "FIRST:LAST:STEP"),
        (("--center", "0:40:0.01"), "at most 100"),
        (("--center", "20", "--preview", "99"), "from 0 to 5"),
        (("--center", "20", "--preview", "1", "-o", "/nowhere/a.zarr"), "folder /nowhere does not exist"),
        (("--center", "20", "--rows", "all"), "FIRST:STOP"),
        (("--center", "20", "--filter", "ram-lak"), "ramachandran, shepp-logan"),
        (("--center", "20", "--ring", "magic"), "vo-sorting"),
        (("--center", "20", "--phase", "20,5,100"), "--pixel-size"),
        (("--center", "20", "--pixel-size", "5", "--phase", "20,5"), "KEV,MM,RATIO"),
    ],
)
def test_what_is_wrong_is_said(
    scan: str, arguments: tuple[str, ...], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(scan, "-o", tmp_path / "a.zarr", *arguments) == 1
    assert text in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_projections_are_binned_and_put_upright(scan: str, tmp_path: Path) -> None:
    arguments = ("--center", AXIS, "--pixel-size", PIXEL_UM, "--bin", 2, "--roll", "0.01")
    assert run(scan, "-o", tmp_path / "a.zarr", *arguments) == 0
    with open_volume(tmp_path / "a.zarr") as volume:
        assert (volume.shape, volume.spacing) == ((3, 24, 24), (10.0, 10.0, 10.0))
    report = json.loads((tmp_path / "a.zarr.report.json").read_text())
    assert report["warnings"] == ["Prepared first: flats and darks corrected, rotated by 0.01 degrees, binned by 2."]


def test_slices_are_shown_while_they_are_made(
    scan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pellucid.start(device="cpu") as viewer:
        arguments = ("-o", tmp_path / "a.zarr", "--center", AXIS, "--pixel-size", PIXEL_UM, "--view", viewer.url)
        assert run(scan, *arguments) == 0
        shown = viewer.retrieve_volume()
        assert viewer.scene.volumes[0].source.startswith("memory:")
    with open_volume(tmp_path / "a.zarr") as volume:
        np.testing.assert_array_equal(np.asarray(shown), volume.read())


def test_of_what_a_viewer_cannot_hold_some_voxels_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    from pellucid.cli.reconstruct import live_view

    layout = Layout((Level((5, 6, 8), (5, 6, 8), (2.0, 2.0, 2.0)),), np.dtype(np.float32), "um")
    monkeypatch.setattr(live_view, "MAX_BYTES", 5 * 6 * 8 * 4 // 8)
    voxels, shown = np.arange(240, dtype=np.float32).reshape(5, 6, 8), np.zeros((3, 3, 4), np.float32)

    class Stream:
        def __enter__(self) -> "Stream":
            return self

        def __exit__(self, *_: object) -> None: ...

        def write(self, block: np.ndarray, start: tuple[int, int, int]) -> None:
            shown[tuple(slice(a, a + n) for a, n in zip(start, block.shape, strict=True))] = block

    class Viewer:
        def stream(self, shape: object, dtype: object, spacing: object, **_: object) -> Stream:
            assert (shape, spacing) == ((3, 3, 4), (4.0, 4.0, 4.0))
            return Stream()

    with live_view.stream_to_viewer(Viewer(), layout, "a") as show:  # type: ignore[arg-type]
        for first, stop in ((0, 1), (3, 5), (1, 3)):
            show(Box((first, 0, 0), (stop, 6, 8)), voxels[first:stop])
    np.testing.assert_array_equal(shown, voxels[::2, ::2, ::2])


def test_a_scan_is_followed_in_a_viewer(scan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    common = ("--center", AXIS, "--pixel-size", PIXEL_UM)
    with pellucid.start(device="cpu") as viewer:
        arguments = ("--follow", scan, "-o", tmp_path / "a", "--view", viewer.url, "--timeout", 0)
        assert run(*arguments, *common) == 0
        shown, scene = viewer.retrieve_volume(), viewer.scene
    assert [one.normal for one in scene.slices] == [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    assert scene.slices[2].point == (0.0, 0.0, 3.5 * PIXEL_UM)
    assert not scene.volumes[0].is_visible
    assert run(scan, "-o", tmp_path / "b.zarr", *common) == 0
    with open_volume(tmp_path / "b.zarr") as volume:
        wanted, middle = volume.read(), COLUMNS // 2
    for at in (np.s_[3], np.s_[:, middle], np.s_[:, :, middle]):
        np.testing.assert_allclose(np.asarray(shown)[at], wanted[at], atol=1e-3)
    image = np.asarray(Image.open(tmp_path / "a.live.png"))
    assert image.shape == (COLUMNS + 2 * 6 + 16, COLUMNS)
    assert inside(image[:COLUMNS]).mean() > 150


def test_an_output_is_asked_for(scan: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(scan) == 1
    assert "Add -o OUTPUT" in capsys.readouterr().err


def test_warnings_of_the_report_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scan = write_scan(tmp_path / "wedge.h5", rows=3, views=120, turn_rad=np.pi * 2 / 3)
    assert run(scan, "-o", tmp_path / "a.zarr", "--center", AXIS, "--pixel-size", PIXEL_UM) == 0
    assert "warning: Views are missing over 60.0 degrees" in capsys.readouterr().err


def test_bad_pixels_are_repaired_and_counted(tmp_path: Path) -> None:
    scan = write_scan(tmp_path / "bad.h5", rows=12)
    with h5py.File(scan, "r+") as file:
        for name in ("data", "data_white", "data_dark"):
            file[f"exchange/{name}"][:, 3, 20] = 100.0
    common = (scan, "--center", AXIS, "--pixel-size", PIXEL_UM)
    assert run(*common, "-o", tmp_path / "a.zarr") == 0
    assert run(*common, "-o", tmp_path / "b.zarr", "--keep-bad-pixels") == 0
    report = json.loads((tmp_path / "a.zarr.report.json").read_text())
    assert report["warnings"] == ["1 dead or hot pixels of the detector were replaced by their neighbours."]
    with open_volume(tmp_path / "a.zarr") as repaired, open_volume(tmp_path / "b.zarr") as kept:
        assert inside(repaired.read()[3]).std() < 0.2 * inside(kept.read()[3]).std()
