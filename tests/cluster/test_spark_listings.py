"""The eight small programs of the documentation, on the cluster that all tests share."""

import re
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from pellucid.rendering.geometry.mesh_files import load_mesh
from pellucid.volume.sample_volume import sample
from tests.rendering.test_isosurfaces import is_closed
from tests.suite_report import ROOT

if TYPE_CHECKING:
    from pyspark import SparkContext


def test_the_listings_run(
    spark: "SparkContext", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    voxels = np.pad((sample(28) >> 8).astype(np.uint8), 2)
    np.save(tmp_path / "volume.npy", voxels)
    monkeypatch.setattr(sys, "argv", ["listings.py", "all", str(tmp_path / "volume.npy"), str(tmp_path / "images")])
    runpy.run_path(str(ROOT / "examples" / "spark" / "listings.py"), run_name="__main__")
    printed = capsys.readouterr().out
    means = [float(found) for found in re.findall(r"step \d: ([\d.]+)", printed)]
    assert means == pytest.approx([8 * step * voxels.mean() for step in (1, 2, 3)], abs=0.1)
    layers = voxels.reshape(2, 16, 2, 16, 2, 16).mean(axis=(1, 3, 5)).sum(axis=(1, 2))
    added = dict(re.findall(r"(\d): ([\d.]+)", re.search(r"\{.*\}", printed)[0]))  # type: ignore[index]
    assert [float(added[key]) for key in "01"] == pytest.approx(layers.tolist(), rel=1e-4)
    assert "Open http" in printed
    names = ("compute_and_render", "viewer0", "viewer2", "halo", "frame0", "frame2")
    images = {name: np.asarray(Image.open(tmp_path / "images" / f"{name}.png"), float)[..., :3] for name in names}
    assert all(image.shape == (256, 256, 3) and image.std() > 3 for image in images.values())
    assert np.abs(images["viewer0"] - images["frame0"]).mean() < 1
    assert is_closed(load_mesh(str(tmp_path / "images" / "surface.ply")))
    iterations, last = re.search(r"(\d+) iterations, the last voxel after ([\d.]+)", printed).groups()  # type: ignore[union-attr]
    assert int(iterations) < 8
    assert float(last) == pytest.approx(31 * 3**0.5, rel=0.05)
