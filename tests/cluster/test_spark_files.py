"""Blocks from files whose names carry their positions: the example of the documentation, on the tests' cluster."""

import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.suite_report import ROOT

if TYPE_CHECKING:
    from pyspark import SparkContext


def test_blocks_of_files_are_smoothed_across_their_borders(
    spark: "SparkContext", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = np.random.default_rng(5).integers(0, 255, (6, 8, 10)).astype(np.uint8)
    given, made = tmp_path / "given", tmp_path / "made"
    given.mkdir()
    made.mkdir()
    for z, y, x in np.ndindex(2, 2, 2):
        block = whole[3 * z : 3 * z + 3, 4 * y : 4 * y + 4, 5 * x : 5 * x + 5]
        np.save(given / f"block_{z}_{y}_{x}.npy", block)
    (given / "notes.txt").write_text("no block")
    monkeypatch.setattr(sys, "argv", ["files_of_blocks.py", str(given), str(made)])
    runpy.run_path(str(ROOT / "examples" / "spark" / "files_of_blocks.py"), run_name="__main__")
    padded = np.pad(whole.astype(float), 1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3, 3))
    expected = windows.mean(axis=(3, 4, 5))
    found = np.empty(whole.shape, np.float32)
    for z, y, x in np.ndindex(2, 2, 2):
        found[3 * z : 3 * z + 3, 4 * y : 4 * y + 4, 5 * x : 5 * x + 5] = np.load(made / f"block_{z}_{y}_{x}.npy")
    assert np.abs(found - expected).max() < 1e-3
