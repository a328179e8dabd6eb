"""Commands refuse an output that is, or belongs to, their input, and leave the input as it was."""

import os
from pathlib import Path

import numpy as np
import pytest
import tifffile

from pellucid.cli.main import main


@pytest.fixture
def scan(tmp_path: Path) -> Path:
    voxels = np.arange(4 * 5 * 6, dtype=np.uint16).reshape(4, 5, 6)
    tifffile.imwrite(tmp_path / "a.tif", voxels, photometric="minisblack")
    for name in ("link.png", "link.ply", "link.mp4", "link.json", "link.zarr"):
        os.link(tmp_path / "a.tif", tmp_path / name)
    return tmp_path / "a.tif"


@pytest.mark.parametrize(
    "words",
    [
        "slices {0}/a.tif -o {0}/a.tif",
        "slices {0}/a.tif -o {0}/link.png",
        "render {0}/a.tif -o {0}/link.png",
        "render {0}/a.tif -o {0}/link.mp4 --turntable 3",
        "render {0}/a.tif -o {0}/new.png --save-scene {0}/link.json",
        "mesh {0}/a.tif --isovalue 50.5 --overwrite -o {0}/link.ply",
        "convert {0}/a.tif {0}/a.tif --overwrite",
        "convert {0}/a.tif {0}/link.zarr --overwrite",
        "pyramid {0}/a.tif {0}/link.zarr --overwrite",
    ],
)
def test_refused(words: str, scan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = scan.read_bytes()
    assert main(["--quiet", *words.format(scan.parent).split()]) == 1
    assert "Choose another name for the output." in capsys.readouterr().err
    assert scan.read_bytes() == before
    assert not (scan.parent / "new.png").exists()
