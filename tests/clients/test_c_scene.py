"""What a viewer shows, seen and changed from C.

Here: the same functions as in Python, with the same names, against a real viewer.
Not here: arrays and images (test_c_viewer), viewers that are waited for (client/test_pending_from_c).
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid.client.job_viewers import PendingViewer
from pellucid.client.scene.labels import ViewerLabels
from pellucid.client.scene.layers import ViewerLayers
from pellucid.client.viewer import Viewer
from tests.clients.programs import VALGRIND
from tests.suite_report import ROOT
from tests.waiting import TIMEOUT_S

FOLDER = ROOT / "clients" / "c"
HEADER = (FOLDER / "pellucid.h").read_text()
ONLY_IN_PYTHON = {
    "address", "code", "port", "links", "share", "revoke", "compare", "show_training", "wait", "is_running", "state",
    "render_mesh", "render_field", "last_transfer", "screenshot_png", "scene", "layer", "measures", "pid", "device",
    "capability",
}  # fmt: skip
"""What a program in C does through the page, a link, pellucid_viewer_query or pellucid_viewer_change instead."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PELLUCID_STATE_FOLDER", str(tmp_path / "state"))
    monkeypatch.setenv("PELLUCID_SITE_FILE", str(tmp_path / "site.toml"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def viewer(folder: Path) -> Iterator[Viewer]:
    """Values with labels over them, and points."""
    values = np.random.default_rng(0).random((6, 7, 8)).astype(np.float32)
    labels = np.zeros((6, 7, 8), np.uint16)
    labels[:3, :3, :3], labels[4:, 4:, 4:], labels[5, 0, 0] = 7, 5, 2
    with pellucid.start(device="cpu") as viewer:
        viewer.render_volume(values, (0.5, 0.5, 0.5), name="values", unit="mm")
        viewer.render_volume(labels, (0.5, 0.5, 0.5), how="labels", name="objects")
        viewer.render_points(np.zeros((1, 3)), np.ones(1), how="add")
        yield viewer


def lines_of(*command: object) -> list[tuple[str, str]]:
    """What the program prints: step and result."""
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert done.stderr == "" and done.returncode == 0, (done.returncode, done.stderr)
    return [(step, text) for step, _, text in (line.partition(": ") for line in done.stdout.splitlines())]


def run(build: Path, viewer: Viewer, step: str) -> list[tuple[str, str]]:
    connected, *rest = lines_of(build / "scene-sanitized", viewer.url, step)
    assert connected == ("connect", "ok")
    return rest


def test_the_names_are_those_of_python() -> None:
    declared = set(re.findall(r"\bpellucid_(\w+)\(", HEADER))
    expected = {f"viewer_{name}" for name in public(Viewer) - ONLY_IN_PYTHON}
    expected |= {f"viewer_layers_{name}" for name in public(ViewerLayers)}
    expected |= {f"viewer_labels_{name}" for name in public(ViewerLabels) - {"of_layer", "list"}}
    expected |= {f"pending_viewer_{name}" for name in {"state", "wait", "shutdown", "log"} & public(PendingViewer)}
    expected |= {f"viewer_set_{name}" for name in ("camera", "transfer", "value_range", "shading")}
    assert expected - declared == {"viewer_labels"}  # In C, the list of labels is their table.


def test_the_examples_of_the_page_compile(tmp_path: Path) -> None:
    blocks = re.findall(r"```c\n(.*?)```", (ROOT / "docs" / "how-to" / "use-from-c.md").read_text(), re.DOTALL)
    assert len(blocks) == 3
    start = "static void do_something_else(void) {}\nstatic uint16_t voxels[1];\nint main(void) {\n"
    known = "pellucid_viewer *viewer = 0; pellucid_viewer_options viewer_options = {0};\nconst char *token = 0;\n"
    error = "pellucid_error error;\n"
    bodies = [f"{{ {'' if error.strip() in block else error}{block} }}\n" for block in blocks]
    program = tmp_path / "page.c"
    includes = "#include <pellucid.h>\n#include <stdio.h>\n#include <time.h>\n"
    program.write_text(f"{includes}{start}{known}{''.join(bodies)}(void)do_something_else, (void)viewer_options;\n}}\n")
    command = ["cc", "-std=c11", "-Wall", "-Wno-unused", "-Werror", "-fsyntax-only", f"-I{FOLDER}", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_the_camera_is_read_set_and_fitted(build: Path, viewer: Viewer) -> None:
    before = viewer.camera
    steps = run(build, viewer, "camera")
    assert steps[0] == ("camera", "ok") and steps[2] == ("set_camera", "ok")
    assert [float(part) for part in steps[1][1].split()] == [
        before.position[0], before.target[1], before.field_of_view_deg,
    ]  # fmt: skip
    assert steps[3][1].startswith("The camera position equals its target.")
    set_now = viewer.camera
    assert set_now.position == (before.position[0] + 1.25, *before.position[1:])
    assert (set_now.field_of_view_deg, set_now.height, set_now.up) == (None, 12.5, before.up)
    assert run(build, viewer, "views") == [("fit_camera", "ok"), ("restore_first_view", "ok")]
    assert viewer.camera.position == pytest.approx(before.position)


def test_a_position_is_probed(build: Path, viewer: Viewer) -> None:
    hit = viewer.probe((2.5, 1.5, 0.5))
    inside = f"{hit['layer']} {hit['value']:g} {' '.join(map(str, hit['voxel']))} {hit['label_layer']}"
    steps = run(build, viewer, "probe")
    assert steps == [("probe", "ok"), ("inside", inside), ("probe", "ok"), ("outside", "-1 0 -1")]


def test_transfer_functions_are_set_and_read(build: Path, viewer: Viewer) -> None:
    before = viewer.transfer
    steps = dict(run(build, viewer, "transfer"))
    assert steps["set_transfer"] == steps["set_value_range"] == steps["transfer"] == "ok"
    assert steps["reversed"].startswith("Invalid value range: 2.0 to 1.0.")
    assert steps["layer"] == "The scene has no layer 7."
    assert steps["read"] == "3 2 1 0.25 0.75 0.875"
    after = viewer.transfer
    assert after.colors == ((0.0, (0.0, 0.0, 0.25)), (0.5, (1.0, 0.5, 0.0)), (1.0, (1.0, 1.0, 1.0)))
    assert (after.opacities, after.value_range) == (((0.0, 0.0), (1.0, 0.75)), (0.125, 0.875))
    assert (after.gamma, after.edges) == (before.gamma, before.edges)


def test_presets_shadings_and_any_other_property(build: Path, viewer: Viewer) -> None:
    viewer.layers.remove(1)
    steps = dict(run(build, viewer, "shading"))
    fine = ("use_preset", "set_shading", "shading", "shade_with", "change", "undo", "redo")
    assert {steps[name] for name in fine} == {"ok"} and steps["read"] == "gradient"
    assert "dim" in steps["unknown"] and "oops" in steps["mistake"]
    layer = viewer.layer
    assert (layer.shading, layer.parameters, viewer.scene.step) == ("user", (("gain", 1.5),), 0.25)


def test_layers_are_listed_hidden_shown_and_removed(build: Path, viewer: Viewer) -> None:
    steps = run(build, viewer, "layers")
    assert steps[1:4] == [
        ("layer 0", "volumes 0 values 0 -1 float32 8"),
        ("layer 1", f"volumes 1 objects 1 {viewer.layers[1].opacity or 0.5:g} uint16 8".replace("0.375", "0.5")),
        ("layer 2", f"points 0 {steps[3][1].split()[2]} 0 -1  0"),
    ]
    text = dict(steps)
    assert {text[name] for name in ("layers", "hide", "set_opacity", "remove")} == {"ok"}
    assert text["without opacity"] == "Layer 0 has no opacity of its own."
    assert text["beyond"] == "The scene has no layer 9."
    assert [(one.is_visible, one.opacity) for one in viewer.layers] == [(False, None), (True, 0.375)]
    assert run(build, viewer, "shown") == [("show", "ok")] and viewer.layers[0].is_visible


def test_labels_are_named_coloured_hidden_and_isolated(build: Path, viewer: Viewer) -> None:
    viewer.labels.set(3, name="another")
    steps = run(build, viewer, "labels")
    assert [text for _, text in steps] == ["ok", "ok", "Layer 0 has no labels.", "ok", "ok", "ok"]
    nucleus = viewer.labels[7]
    assert (nucleus.name, nucleus.color, nucleus.opacity) == ('a "nucleus"', (1.0, 0.0, 0.25), 0.5)
    assert [viewer.labels[label].is_visible for label in (2, 5, 7)] == [False, True, True]
    shown = viewer.scene.volumes[1].labels
    assert shown is not None and shown.isolated == (5,) and viewer.labels[3].name == "another"
    assert run(build, viewer, "all labels") == [("show_all", "ok")]
    shown = viewer.scene.volumes[1].labels
    assert shown is not None and shown.isolated == () and viewer.labels[2].is_visible
    assert viewer.labels[7].name == 'a "nucleus"'


def test_labels_say_where_the_volume_is_drawn(build: Path, viewer: Viewer) -> None:
    """In C as in Python."""

    def found() -> tuple[bool, tuple[int, ...]]:
        shown = viewer.scene.volumes[1].labels
        assert shown is not None
        return shown.is_mask, shown.isolated

    assert run(build, viewer, "mask") == [("mask_volume", "ok")] and found() == (True, (0, 5))
    assert run(build, viewer, "whole") == [("mask_volume", "ok")] and found() == (False, ())
    viewer.labels.mask_volume(0, 5)
    assert found() == (True, (0, 5))
    viewer.labels.mask_volume()
    assert found() == (False, ())


def test_labels_are_painted_counted_and_saved(build: Path, viewer: Viewer, folder: Path) -> None:
    steps = dict(run(build, viewer, "paint"))
    assert {steps[name] for name in ("paint", "erase", "table", "to_csv", "save")} == {"ok"}
    rows = {row.label: row for row in viewer.labels.table()}
    assert 9 in rows and rows[9].voxels < rows[7].voxels
    for label, row in rows.items():
        expected = f"{row.name} {row.voxels} {row.volume:g} {row.center[0]:g} {row.stop[2]}"
        assert steps[f"label {label}"] == expected
    assert steps["csv"] == viewer.labels.to_csv().splitlines()[0]
    with pellucid.open(folder / "corrected.zarr") as saved:
        assert int((saved.read() == 9).sum()) == rows[9].voxels


def test_under_valgrind(build: Path, viewer: Viewer) -> None:
    for step in ("transfer", "layers", "labels", "paint"):
        assert lines_of(*VALGRIND, build / "scene", viewer.url, step)[0] == ("connect", "ok")
