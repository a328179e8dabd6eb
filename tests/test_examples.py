"""Every example runs in an empty folder, prints what it promises, and takes under 20 s."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite_report import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LIMIT_S = 20
PRINTS = {
    "01_open_and_cut": r"\(64, 96, 96\) voxels of uint8.*values from 10 to 200.*corner: mean 10;",
    "02_convert_and_pyramid": r"level 1: \(48, 64, 80\).*the same: True.*\(10, 128, 160\) voxels of uint8, 0 to 255",
    "03_many_blocks": r"(\d{5}) peaks in 27 blocks, \1 in one piece",
    "04_view_an_array": r"picture \(240, 320, 4\) uint8 brightest \d{2,3}.*as it was given: True",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PELLUCID_CACHE_FOLDER": str(tmp_path / "cache")}
    run = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert re.search(PRINTS[example.stem], run.stdout, re.DOTALL), run.stdout
