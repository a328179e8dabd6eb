"""Shaders in a Spark program: the example that the documentation names, on the cluster that all tests share."""

import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from pellucid.volume.sample_volume import sample
from tests.suite_report import MACHINE, ROOT

if TYPE_CHECKING:
    from pyspark import SparkContext


def test_the_example_draws_with_its_shader(
    spark: "SparkContext", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if MACHINE["no-egl"]():
        pytest.skip("needs EGL")
    np.save(tmp_path / "volume.npy", np.ascontiguousarray(sample(40)))
    monkeypatch.setattr(sys, "argv", ["shaders.py", str(tmp_path / "volume.npy"), str(tmp_path)])
    runpy.run_path(str(ROOT / "examples" / "spark" / "shaders.py"), run_name="__main__")
    assert "'transfer': 'copied'" in capsys.readouterr().out
    images = [np.asarray(Image.open(tmp_path / f"shaders{angle}.png"), float)[..., :3] for angle in (0, 30, 60)]
    assert all(image.shape == (256, 256, 3) and image.std() > 5 for image in images)
    assert all(np.abs(one - images[0]).mean() > 1 for one in images[1:])
    # Lit from the eye, in the colours of the shader: more red than blue wherever something is.
    red, blue = images[0][..., 0], images[0][..., 2]
    assert (red >= blue).all() and (red > blue + 20).mean() > 0.02
