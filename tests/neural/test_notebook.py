"""The example notebook, run from its first to its last cell."""

import base64
import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch")

from tests.suite_report import ROOT

EXAMPLE = ROOT / "examples" / "06_neural_field.ipynb"


def test_the_example_shows_raw_beside_neural(tmp_path: Path) -> None:
    """By a kernel of its own, as users run it."""
    import nbclient  # Takes 5 s of processor time: a worker that runs other tests does without.
    import nbformat

    example = nbformat.reads(EXAMPLE.read_text(), as_version=4)  # type: ignore[no-untyped-call]
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT / "src"), "PELLUCID_DEVICE": "cpu", "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip
    client = nbclient.NotebookClient(example, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    cells = client.execute(env=environment).cells
    results = [output["data"] for cell in cells for output in cell.get("outputs", []) if "data" in output]
    found = re.fullmatch(r"'(\d+) times smaller, PSNR (\d+\.\d) dB'", results[0]["text/plain"])
    assert found is not None
    assert int(found[1]) > 25
    assert float(found[2]) > 25
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(results[1]["image/png"]))))
    assert pixels.shape == (320, 640, 4)
    raw, neural = pixels[40:, :319, :3].astype(float), pixels[40:, 321:, :3].astype(float)
    assert raw.max() > 60
    assert np.abs(raw - neural).mean() < 10


def test_the_example_is_kept_without_results() -> None:
    example = json.loads(EXAMPLE.read_text())
    assert [cell["outputs"] for cell in example["cells"] if cell["cell_type"] == "code"] == [[]] * 2
