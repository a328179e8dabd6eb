"""Commands replace their own earlier outputs, and other files only with --overwrite."""

import json
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from pellucid.cli.main import main
from tests.tomo.small_scan import AXIS, write_scan

SMALL = "--size 24x20"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A volume, and files that other programs wrote under the names of outputs."""
    voxels = np.arange(4 * 5 * 6, dtype=np.uint16).reshape(4, 5, 6)
    np.save(tmp_path / "v.npy", voxels)
    np.save(tmp_path / "b.npy", voxels)
    tifffile.imwrite(tmp_path / "v.tif", voxels, photometric="minisblack")
    Image.fromarray(voxels[0]).save(tmp_path / "deep.png")  # 16 bits: measured, not drawn.
    (tmp_path / "notes.png").write_text("no image")
    (tmp_path / "notes.mp4").write_text("no movie")
    (tmp_path / "notes.json").write_text('{"thesis": 1}')
    return tmp_path


def run(folder: Path, words: str) -> int:
    return main(["--quiet", *words.format(folder).split()])


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("slices {0}/v.npy -o {0}/v.tif", "v.tif"),
        ("slices {0}/v.npy -o {0}/deep.png", "deep.png"),
        ("slices {0}/v.npy -o {0}/notes.png", "notes.png"),
        (f"render {{0}}/v.npy {SMALL} -o {{0}}/v.tif", "v.tif"),
        (f"render {{0}}/v.npy {SMALL} -o {{0}}/notes.mp4 --turntable 2", "notes.mp4"),
        (f"render {{0}}/v.npy {SMALL} -o {{0}}/a.png --save-scene {{0}}/b.npy", "b.npy"),
        (f"render {{0}}/v.npy {SMALL} -o {{0}}/a.png --save-scene {{0}}/notes.json", "notes.json"),
    ],
)
def test_other_files_need_overwrite(words: str, name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / name).read_bytes()
    assert run(folder, words) == 1
    message = capsys.readouterr().err
    assert str(folder / name) in message and "--overwrite" in message
    assert (folder / name).read_bytes() == before
    assert not (folder / "a.png").exists()
    assert run(folder, f"{words} --overwrite") == 0
    assert (folder / name).read_bytes() != before


@pytest.mark.parametrize(
    "words",
    [
        "slices {0}/v.npy -o {0}/a.png",
        f"render {{0}}/v.npy {SMALL} -o {{0}}/a.jpg --save-scene {{0}}/a.json",
        f"render {{0}}/v.npy {SMALL} -o {{0}}/a.gif --turntable 2",
    ],
)
def test_own_outputs_are_replaced(words: str, folder: Path) -> None:
    assert [run(folder, words), run(folder, words)] == [0, 0]


def test_a_folder_of_another_movie(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"render {{0}}/v.npy {SMALL} -o {{0}}/frames --turntable"
    assert run(folder, f"{words} 3") == 0
    assert run(folder, f"{words} 2") == 1
    assert "--overwrite" in capsys.readouterr().err
    assert run(folder, f"{words} 2 --overwrite") == 0
    assert sorted(path.name for path in (folder / "frames").iterdir()) == ["0000.png", "0001.png", "movie.txt"]
    (folder / "frames" / "thesis.txt").write_text("do not lose")
    assert run(folder, f"{words} 3 --overwrite") == 1
    assert "also contains 'thesis.txt', which is not part of a movie" in capsys.readouterr().err
    assert (folder / "frames" / "0001.png").exists()


@pytest.mark.parametrize("mine", ["image", "text"])
@pytest.mark.parametrize("kind", ["live", "preview"])
def test_an_image_whose_name_is_made_here_replaces_only_its_own(
    kind: str, mine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody names these files, so that not even another drawn image is replaced."""
    monkeypatch.setattr("pellucid.cli.reconstruct.run.viewer_for", lambda options: None)
    monkeypatch.setattr("pellucid.cli.reconstruct.follow._SliceStream", UnseenStream)
    write_scan(tmp_path / "scan.h5", rows=2)
    image = tmp_path / f"o.zarr.{kind}.png"
    if mine == "image":
        Image.new("RGB", (4, 3), (200, 10, 10)).save(image)
    else:
        image.write_text("no image")
    before, common = (
        image.read_bytes(),
        f"reconstruct {{0}}/scan.h5 -o {{0}}/o.zarr --center {AXIS} --tilt 0 --device cpu",
    )
    words = f"{common} --follow --timeout 0" if kind == "live" else f"{common} --preview 0"
    assert run(tmp_path, words) == 1
    message = capsys.readouterr().err
    assert str(image) in message and "--overwrite" in message
    assert image.read_bytes() == before
    assert run(tmp_path, f"{words} --overwrite") == 0
    made = image.read_bytes()
    assert made != before
    assert run(tmp_path, words) == 0  # Its own is replaced.
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


class UnseenStream(ExitStack):
    """In the place of slices in a viewer."""

    def __init__(self, *given: object) -> None:
        super().__init__()

    def show(self, cross: object) -> None:
        """Nobody looks."""


def test_a_report_of_another_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_scan(tmp_path / "scan.h5", rows=2)
    report = tmp_path / "o.zarr.report.json"
    report.write_text('["mine"]')
    words = f"reconstruct {{0}}/scan.h5 -o {{0}}/o.zarr --center {AXIS} --tilt 0 --device cpu"
    assert run(tmp_path, words) == 1
    assert str(report) in capsys.readouterr().err
    assert (report.read_text(), (tmp_path / "o.zarr").exists()) == ('["mine"]', False)
    assert run(tmp_path, f"{words} --overwrite") == 0
    assert json.loads(report.read_text())["recipe"]["center"] == AXIS
    (tmp_path / "o.zarr").rename(tmp_path / "p.zarr")
    assert run(tmp_path, words) == 0  # The report of an earlier reconstruction is replaced.
