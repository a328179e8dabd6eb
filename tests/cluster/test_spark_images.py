"""Images in a Spark loop: the example that the documentation names, on the cluster that all tests share."""

import re
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from tests.suite_report import ROOT

if TYPE_CHECKING:
    from pyspark import SparkContext


def test_the_example_draws_its_blocks_after_every_step(
    spark: "SparkContext", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["loop_with_images.py", str(tmp_path)])
    # As its own program: what it defines travels to the executors.
    runpy.run_path(str(ROOT / "examples" / "spark" / "loop_with_images.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert len(re.findall(r"step \d: an image of 8 blocks", printed)) == 3
    images = [np.asarray(Image.open(tmp_path / f"step{step}.png"), float)[..., :3] for step in range(3)]
    assert all(image.shape == (256, 256, 3) and image.std() > 5 for image in images)
    # What is smoothed has less detail.
    detail = [np.abs(np.diff(image, axis=0)).mean() for image in images]
    assert detail[0] > 1.5 * detail[1] > 1.5 * detail[2]
