"""JSON nested deeper than Python's stack is a file that cannot be read, and no traceback."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tifffile

import pellucid
from pellucid.cli.main import main
from pellucid.errors import InvalidInput
from pellucid.rendering.camera_path import CameraPath
from pellucid.rendering.scene import Scene
from pellucid.tomo.report import is_report

DEEP = "[" * 100_000


@pytest.mark.parametrize("read", [Scene.from_json, CameraPath.from_json])
def test_a_scene_and_a_camera_path(read: Callable[[str], object]) -> None:
    with pytest.raises(InvalidInput, match="Invalid"):
        read(DEEP)


@pytest.mark.parametrize(
    "line",
    [["render", "deep.json", "-o", "image.png"], ["reconstruct", "scan.h5", "-o", "out.zarr", "--recipe", "deep.json"]],
)
def test_commands(
    line: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("deep.json").write_text(DEEP)
    assert main(line) == 1
    printed = capsys.readouterr().err
    assert "Traceback" not in printed
    assert "Invalid scene" in printed or "deep.json is not valid JSON" in printed


def test_the_report_beside_an_output(tmp_path: Path) -> None:
    path = tmp_path / "out.zarr.report.json"
    path.write_text(DEEP)
    assert not is_report(path)


def test_the_description_of_a_tiff(tmp_path: Path) -> None:
    path = tmp_path / "deep.tif"
    voxels = np.arange(60, dtype=np.uint16).reshape(3, 4, 5)
    tifffile.imwrite(path, voxels, photometric="minisblack", description=DEEP, metadata=None)
    with pellucid.open(path) as volume:
        np.testing.assert_array_equal(volume[:], voxels)
