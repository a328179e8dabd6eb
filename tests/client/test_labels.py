"""Labels from Python: names, colours, visibility, sizes; what others see of it."""

import csv
import io
import json

import numpy as np
import pytest
from scipy import ndimage

import pellucid
from pellucid.client.viewer import Viewer
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.labels import LabelColor

SPACING = (2.0, 0.5, 0.5)


@pytest.fixture
def marks(viewer: Viewer, array: Voxels) -> Voxels:
    """Two boxes over the volume; beside each other, so that they differ in the image."""
    marks = np.zeros(array.shape, np.int32)
    marks[4:12, 6:14, 3:9] = 7
    marks[4:12, 6:14, 14:20] = 300_000
    viewer.render_volume(array, SPACING, unit="um")
    viewer.render_volume(marks, how="labels")
    return marks


def test_the_table_counts_as_scipy_does(viewer: Viewer, marks: Voxels) -> None:
    rows = viewer.labels.table()
    assert [row.label for row in rows] == [7, 300_000]
    assert [row.voxels for row in rows] == [int((marks == 7).sum()), int((marks == 300_000).sum())]
    assert [row.volume for row in rows] == pytest.approx([row.voxels * 0.5 for row in rows])
    for row, place in zip(rows, ndimage.center_of_mass(marks, marks, [7, 300_000]), strict=True):
        layer = viewer.scene.volumes[1]
        expected = layer.transform.matrix() @ np.asarray(place)[::-1] + layer.transform.translation
        assert row.center == pytest.approx(tuple(expected))
    assert rows[0].start == (4, 6, 3) and rows[0].stop == (12, 14, 9)
    assert viewer.labels.list.unit == "um"


def test_names_are_in_the_table_and_no_formula_in_the_csv_file(viewer: Viewer, marks: Voxels) -> None:
    viewer.labels.set(7, name="=cmd()")
    viewer.labels.set(300_000, name="wall, left")
    lines = list(csv.DictReader(io.StringIO(viewer.labels.to_csv())))
    assert [line["name"] for line in lines] == ["'=cmd()", "wall, left"]
    assert [int(line["voxels"]) for line in lines] == [row.voxels for row in viewer.labels.table()]
    assert {line["unit"] for line in lines} == {"um^3"}


def test_labels_are_coloured_hidden_and_isolated(viewer: Viewer, marks: Voxels) -> None:
    labels = viewer.labels
    viewer.change("volumes", 0, "is_visible", value=False)
    labels.set(7, color=(1.0, 0.0, 0.0), opacity=1.0)
    labels.set(300_000, color=(0.0, 0.0, 1.0), opacity=1.0)
    assert labels[7] == LabelColor(7, (1.0, 0.0, 0.0), 1.0)

    def seen() -> tuple[bool, bool]:
        """Red, blue."""
        pixels = viewer.screenshot(60, 40)[..., :3].astype(int)
        return bool((pixels[..., 0] > 60).any()), bool((pixels[..., 2] > 60).any())

    assert seen() == (True, True)
    labels.hide(7)
    assert seen() == (False, True)
    labels.isolate(7)
    assert seen() == (True, False)
    labels.show_all()
    assert seen() == (True, True) and labels[7].color == (1.0, 0.0, 0.0)
    labels.hide(300_000)
    labels.show(300_000)
    assert seen() == (True, True)


def test_guests_with_control_rename_and_count_but_see_no_paths(viewer: Viewer, marks: Voxels, tmp_path: object) -> None:
    guest = pellucid.connect(viewer.share("control", "labels"))
    guest.labels.set(7, name="nucleus", color=(0.0, 1.0, 0.0))
    assert viewer.labels[7].name == "nucleus"
    assert [row.name for row in guest.labels.table()] == ["nucleus", ""]
    assert "/" not in json.dumps([row.name for row in guest.labels.table()])
    with pytest.raises(InvalidInput, match="characters"):
        guest.labels.set(7, name="x" * 201)


def test_a_layer_without_labels_is_an_error(viewer: Viewer, marks: Voxels) -> None:
    with pytest.raises(InvalidInput, match="Layer 0 has no labels"):
        viewer.labels.of_layer(0).hide(7)
    assert viewer.labels.of_layer(1)[7] == LabelColor(7)


def test_without_labels_the_remedy_says_how_to_show_them(viewer: Viewer, array: Voxels) -> None:
    viewer.render_volume(array)
    with pytest.raises(InvalidInput, match="The viewer shows no labels"):
        viewer.labels.table()
