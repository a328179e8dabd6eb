"""In a notebook a viewer shows itself: live where there is a front end, as a picture where there is none."""

import base64
import copy
import io
import json
import os
import re
from typing import Any

import numpy as np
import pytest
from PIL import Image

import pellucid
from pellucid.client import notebook
from tests.suite_report import ROOT

EXAMPLE = ROOT / "examples" / "05_notebook.ipynb"
VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The example, run from its first to its last cell by a kernel without a front end."""
    import nbclient  # Takes 5 s of processor time: a worker that runs other tests does without.
    import nbformat

    example = nbformat.reads(EXAMPLE.read_text(), as_version=4)  # type: ignore[no-untyped-call]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PELLUCID_DEVICE": "cpu"}
    folder = str(tmp_path_factory.mktemp("notebook"))
    client = nbclient.NotebookClient(example, timeout=120, resources={"metadata": {"path": folder}})
    return client.execute(env=environment)


def outputs(executed: Any) -> list[dict[str, Any]]:
    """What the cells with results show."""
    found = [output for cell in executed.cells for output in cell.get("outputs", [])]
    return [output["data"] for output in found if output["output_type"] == "execute_result"]


def test_the_example_shows_a_widget_and_a_picture(executed: Any) -> None:
    shown, value_range, returned = outputs(executed)
    assert set(shown) == {"text/plain", "image/png", VIEW}
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(shown["image/png"]))))
    assert pixels.shape == (*notebook.IMAGE[::-1], 4)
    assert pixels[270, 480, :3].max() > 60 and pixels[0, 0, :3].max() == 0  # the ball, and nothing around it
    assert value_range["text/plain"].endswith(", 0.9418513302449147)")
    assert returned["text/plain"].startswith("((360, 640, 4), (1, 96, 96), 0.9")


def test_an_exported_notebook_keeps_the_image(executed: Any) -> None:
    """Where the state of widgets is saved with it, and where it is not, as notebooks are by default."""
    from nbconvert import HTMLExporter

    png = next(iter(outputs(executed)))["image/png"].replace("\n", "")
    states = executed.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    images = [one["state"].get("image") for one in states.values()]
    assert f"data:image/png;base64,{png}" in images
    bare = copy.deepcopy(executed)
    del bare.metadata["widgets"]
    exporter = HTMLExporter()  # type: ignore[no-untyped-call]
    page, _ = exporter.from_notebook_node(executed)
    assert png.replace("/", "\\/") in page  # Of the widget, as JSON in a script.
    page, _ = exporter.from_notebook_node(bare)
    assert f'src="data:image/png;base64,{png}"' in page.replace("\n", "")


def test_no_secret_is_kept_in_a_notebook(executed: Any) -> None:
    assert not re.search(r"(token|code|share)=[\w-]{8}", json.dumps(executed))


def test_outside_a_notebook_it_is_a_line_of_text(running: pellucid.Viewer) -> None:
    assert running._repr_mimebundle_() == {"text/plain": repr(running)}
    assert "#" not in repr(running)


def test_the_example_is_kept_without_results() -> None:
    example = json.loads(EXAMPLE.read_text())
    assert [cell["outputs"] for cell in example["cells"] if cell["cell_type"] == "code"] == [[]] * 4


def test_running_all_cells_leaves_the_viewer_open() -> None:
    cells = [cell for cell in json.loads(EXAMPLE.read_text())["cells"] if cell["cell_type"] == "code"]
    assert not any("shutdown" in "".join(cell["source"]) for cell in cells)
