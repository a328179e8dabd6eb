"""The commands, as a person gives them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image

import pellucid
from pellucid.cli.main import main
from pellucid.errors import NotFound, PellucidError
from pellucid.jobs.task_progress import read_progress

ROOT = Path(__file__).parents[2]


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    z, y, x = np.meshgrid(*[np.arange(40)] * 3, indexing="ij")
    voxels = ((z - 20) ** 2 + (y - 20) ** 2 + (x - 20) ** 2 < 200).astype(np.float32) * 3
    pellucid.convert(pellucid.Volume.from_array(voxels, (2.0, 1.0, 1.0), "mm"), tmp_path / "scan.nrrd").close()
    return tmp_path / "scan.nrrd"


def test_info_says_what_it_is(scan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(scan), "--statistics"]) == 0
    text = capsys.readouterr().out
    assert "40 × 40 × 40 (z, y, x), float32, 250.0 KiB" in text
    assert "2 × 1 × 1 mm" in text
    assert "0 to 3" in text


def test_info_for_programs(scan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(scan), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["format"], facts["shape"], facts["spacing"]) == ("nrrd", [40, 40, 40], [2.0, 1.0, 1.0])


def test_info_of_a_series_tells_how_to_choose(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "four.npy", np.zeros((3, 4, 5, 6), np.uint8))
    assert main(["info", str(tmp_path / "four.npy")]) == 0
    assert "time steps: 3, channels: 1; choose by :t=0,c=0" in capsys.readouterr().out


def test_info_of_a_file_with_several_volumes_tells_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["raw"] = np.zeros((3, 4, 5), np.uint8)
        file["labels"] = np.zeros((3, 4, 5), np.int32)
    assert main(["info", str(tmp_path / "two.h5")]) == 0
    text = capsys.readouterr().out
    assert "two.h5:/raw\n" in text
    assert "int32" in text
    assert main(["info", "--json", str(tmp_path / "two.h5")]) == 0
    assert [one["dtype"] for one in json.loads(capsys.readouterr().out)] == ["int32", "uint8"]


def test_convert_with_everything(scan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.zarr"
    options = "--dtype uint8 --range 0,3 --box 0:20,:,10:30 --pyramid --codec zstd --chunk 8 --shard 16 --memory 100MB"
    assert main(["convert", str(scan), str(target), *options.split(), "--workers", "1"]) == 0
    assert "20 × 40 × 20" in capsys.readouterr().out
    with pellucid.open(target) as volume:
        assert (volume.shape, volume.dtype.name, volume.spacing) == ((20, 40, 20), "uint8", (2.0, 1.0, 1.0))
        assert volume.value_range == (0.0, 255.0)


def test_pyramid(scan: Path, tmp_path: Path) -> None:
    pellucid.convert(pellucid.Volume.from_array(np.zeros((130, 10, 10), np.uint8)), tmp_path / "long.npy").close()
    assert main(["--quiet", "pyramid", str(tmp_path / "long.npy"), str(tmp_path / "out.n5"), "--reduce", "mode"]) == 0
    assert [level.shape for level in pellucid.open(tmp_path / "out.n5").levels] == [
        (130, 10, 10), (65, 5, 5), (33, 3, 3),
    ]  # fmt: skip


def test_headerless_data_by_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    voxels = np.arange(2 * 3 * 4, dtype=">i2").reshape(2, 3, 4)
    voxels.tofile(tmp_path / "plain.data")
    options = ["--shape", "2,3,4", "--source-dtype", "int16", "--byte-order", "be"]
    assert main(["convert", str(tmp_path / "plain.data"), str(tmp_path / "a.npy"), *options]) == 0
    assert (np.load(tmp_path / "a.npy") == voxels).all()


def test_slices_makes_a_picture(scan: Path, tmp_path: Path) -> None:
    assert main(["slices", str(scan), "-o", str(tmp_path / "a.png"), "--height", "160"]) == 0
    image = np.asarray(Image.open(tmp_path / "a.png"))
    assert image.shape == (160, 80 + 8 + 80 + 8 + 80)
    assert image[40, 40] == 255  # the ball's middle in the first panel
    assert image[70, 4] == 0


def test_mesh_and_points_are_made_and_drawn(scan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    surface, points, output = str(tmp_path / "a.vtp"), tmp_path / "a.csv", str(tmp_path / "a.png")
    assert main(["mesh", str(scan), "--isovalue", "1.5", "-o", surface]) == 0
    assert "triangles)" in capsys.readouterr().out
    assert main(["mesh", str(scan), "--isovalue", "1.5", "-o", surface]) == 1
    assert "already exists" in capsys.readouterr().err
    points.write_text("x,y,z,value\n0,0,0,1\n40,40,80,2\n")
    size = ["--size", "60x60"]
    assert main(["render", "--mesh", surface, "--points", str(points), "-o", output, *size]) == 0
    image = np.asarray(Image.open(output))
    assert image.shape == (60, 60, 4)
    assert image[30, 30, :3].min() > 100  # The ball of the mesh, lit from the eye.
    beside = str(tmp_path / "b.png")
    assert main(["render", str(scan), "--points", str(points), "--radius-scale", "5", "-o", beside, *size]) == 0
    assert (np.asarray(Image.open(beside)) != image).any()
    assert main(["render", "-o", output]) == 1
    assert "The scene is empty" in capsys.readouterr().err


def test_render_draws_what_it_is_told(scan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, scene = str(tmp_path / "a.png"), str(tmp_path / "scene.json")
    options = ["--size", "120x90", "--isovalue", "1.5", "--azimuth", "30", "--save-scene", scene]
    assert main(["render", str(scan), "-o", output, *options]) == 0
    image = np.asarray(Image.open(output))
    assert image.shape == (90, 120, 4)
    assert image[45, 60, 0] > 100  # the ball
    assert image[2, 2].tolist() == [0, 0, 0, 255]
    assert main(["render", scene, "-o", str(tmp_path / "b.png"), "--size", "120x90"]) == 0
    assert (np.asarray(Image.open(tmp_path / "b.png")) == image).all()


def test_demo_does_the_main_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--headless", "--output", str(tmp_path / "demo"), "--edge", "96", "--device", "cpu"]) == 0
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        "demo.txt", "picture.png", "sample.zarr", "sample.zarr.report.json", "scan.nxs", "slices.png", "view.json",
    }  # fmt: skip
    image = np.asarray(Image.open(tmp_path / "demo" / "picture.png")).astype(int)
    assert (image.max(axis=2) > 100).mean() > 0.1  # beads
    assert ((image[..., 0] > 140) & (image[..., 2] < 0.6 * image[..., 0])).sum() > 100  # kernels of copper
    assert "96 × 96 × 96, 48 × 48 × 48" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["slices.png", "scan.nxs", "sample.zarr"])
def test_demo_replaces_only_what_it_made(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text("precious")
    assert main(["demo", "--headless", "--output", str(tmp_path)]) == 1
    assert f"{name} exists and was not written by pellucid demo." in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "precious"


def test_a_progress_file_replaces_only_its_own_kind(
    scan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, other = scan.read_bytes(), tmp_path / "thesis.json"
    other.write_text('{"name": "a thesis"}')
    for path in (scan, other, tmp_path):
        assert main(["convert", str(scan), str(tmp_path / "a.npy"), "--progress-file", str(path)]) == 1
        assert f"{path} exists and is not a progress file." in capsys.readouterr().err
    assert (scan.read_bytes(), other.read_text()) == (before, '{"name": "a thesis"}')
    assert not (tmp_path / "a.npy").exists()
    (tmp_path / "progress.json").touch()
    for name in ("a.npy", "b.npy"):
        written = tmp_path / name
        assert main(["convert", str(scan), str(written), "--progress-file", str(tmp_path / "progress.json")]) == 0
        assert json.loads((tmp_path / "progress.json").read_text())["result"] == str(written)


def test_a_failed_command_writes_its_error_as_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing, written = tmp_path / "pellucid: no such.npy", tmp_path / "progress.json"
    assert main(["info", str(missing), "--progress-file", str(written)]) == 1
    ended = read_progress(written)
    assert ended is not None and ended.error is not None
    error = ended.error.to_error()
    assert type(error) is NotFound
    assert capsys.readouterr().err == f"pellucid: {error.what}\n{error.remedy}\n"
    assert main(["info", str(missing), "--progress-file", str(written)]) == 1  # Its own kind: it is written again.


def test_quiet_and_debug_may_stand_behind_the_command(scan: Path, tmp_path: Path) -> None:
    assert main(["convert", str(scan), str(tmp_path / "a.npy"), "--quiet"]) == 0
    with pytest.raises(PellucidError):
        main(["info", "nowhere", "--debug"])


def test_a_terminal_without_our_signs_and_a_full_output(scan: Path) -> None:
    command = [sys.executable, "-m", "pellucid", "info", str(scan)]
    environment = {**os.environ, "PYTHONPATH": "src", "PYTHONIOENCODING": "ascii"}
    plain = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert "40 ? 40 ? 40" in plain.stdout
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(command, cwd=ROOT, env=environment, stdout=full, stderr=subprocess.PIPE, check=False)
    assert ended.returncode == 1
    assert b"The disk is full" in ended.stderr
    assert b"Traceback" not in ended.stderr


def test_the_statistics_of_nothing_are_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "nan.npy", np.full((2, 2, 2), np.nan))
    assert main(["info", "--json", "--statistics", str(tmp_path / "nan.npy")]) == 0
    assert json.loads(capsys.readouterr().out)["value_range"] == [None, None]


def test_the_statistics_count_voxels_that_are_not_finite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    voxels = np.ones((20, 20, 20), np.float32)
    voxels[0, :2] = np.nan
    voxels[5, 5, :3] = np.inf
    voxels[5, 5, 3] = -np.inf
    np.save(tmp_path / "some.npy", voxels)
    assert main(["info", "--json", "--statistics", str(tmp_path / "some.npy")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["nan_count"], found["infinite_count"]) == (40, 4)
    assert main(["info", "--statistics", str(tmp_path / "some.npy")]) == 0
    assert "40 voxels are NaN, 4 voxels are infinite; they are left out" in capsys.readouterr().out
    np.save(tmp_path / "whole.npy", np.ones((2, 2, 2), np.uint8))
    assert main(["info", "--statistics", str(tmp_path / "whole.npy")]) == 0
    assert "not finite" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reply"),
    [
        (["info", "nowhere.h5"], "nowhere.h5 does not exist."),
        (["convert", "{scan}", "{folder}/out.xyz"], "its name does not match a known format"),
        (["convert", "{scan}", "{folder}/out.zarr", "--dtype", "uint8"], "Add --range LOW,HIGH"),
        (["convert", "{scan}", "{folder}/out.zarr", "--memory", "plenty"], "plenty"),
        (["convert", "{scan}", "{folder}/out.zarr", "--box", "0:99,:,:"], "0 <= start < stop <= 40"),
        (["convert", "{scan}", "{folder}/out.zarr", "--engine", "steam"], "Unknown engine 'steam'"),
        (["convert", "{scan}", "{scan}"], "Choose another name"),
        (["info", "{scan}:level=3"], "Choose a level from 0 to 0"),
        (["slices", "{scan}", "-o", "{folder}/nowhere/a.png"], "No such file or directory"),
        (["slices", "{scan}", "-o", "{folder}/picture"], "Use a name that ends in .png"),
        (["demo", "--output", "{scan}"], "File exists"),
    ],
)
def test_errors_say_what_to_do(
    arguments: list[str], reply: str, scan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = [one.format(scan=scan, folder=tmp_path) for one in arguments]
    assert main(filled) == 1
    text = capsys.readouterr().err
    assert reply in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["convert", "a", "b", "--chunk", "1,2"],
        ["convert", "a", "b", "--range", "x"],
        ["convert", "a", "b", "--levels", "0"],
        ["slices", "a", "-o", "b.png", "--height", "-5"],
        [],
    ],
)
def test_misuse_shows_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: pellucid" in capsys.readouterr().err


def test_too_little_memory_is_an_error_in_two_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "a.npy", np.ones((2, 3, 4), np.float32))

    def refuse(*_: object) -> None:
        raise MemoryError("Unable to allocate 107 GiB")

    monkeypatch.setattr("pellucid.volume.statistics.VolumeStatistics.percentiles", refuse)
    note = tmp_path / "progress.json"
    assert main(["info", str(tmp_path / "a.npy"), "--statistics", "--progress-file", str(note)]) == 1
    assert capsys.readouterr().err.startswith("pellucid: Not enough memory for this command.\nUse a part of the volume")
    assert "Not enough memory" in note.read_text()
