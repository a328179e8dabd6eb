"""Painting labels from Python: brush and eraser, undo, new files; the source stays as it is."""

from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

import pellucid
from pellucid.client.viewer import Viewer
from pellucid.errors import InvalidInput, NotAllowed, OutputExists
from pellucid.formats.protocol import Voxels

SHAPE = (10, 12, 14)


@pytest.fixture
def file(viewer: Viewer, tmp_path: Path) -> Path:
    """A volume of labels, shown from a file."""
    marks = np.zeros(SHAPE, np.uint16)
    marks[2:6, 3:9, 4:10] = 7
    np.save(tmp_path / "marks.npy", marks)
    viewer.render_volume(np.zeros(SHAPE, np.uint8))
    viewer.load(tmp_path / "marks.npy", how="labels")
    return tmp_path / "marks.npy"


def ball(voxel: tuple[int, int, int], radius: float) -> Voxels:
    elsewhere = np.ones(SHAPE, bool)
    elsewhere[voxel] = False
    near: Voxels = ndimage.distance_transform_edt(elsewhere) <= radius
    return near


def test_strokes_are_painted_undone_repeated_and_saved(viewer: Viewer, file: Path) -> None:
    opened, content = np.load(file), file.read_bytes()
    viewer.labels.paint([(5, 6, 7)], 9, radius=2.5)
    first = np.where(ball((5, 6, 7), 2.5), 9, opened)
    np.testing.assert_array_equal(viewer.retrieve_volume(layer=1), first)
    viewer.labels.erase([(3, 5, 6)], radius=2, axis="z", only=7)
    disc = ball((3, 5, 6), 2) & (np.indices(SHAPE)[0] == 3) & (first == 7)
    second = np.where(disc, 0, first)
    np.testing.assert_array_equal(viewer.retrieve_volume(layer=1), second)
    assert {row.label: row.voxels for row in viewer.labels.table()} == {
        label: int((second == label).sum()) for label in (7, 9)
    }
    viewer.undo()
    np.testing.assert_array_equal(viewer.retrieve_volume(layer=1), first)
    viewer.undo()
    np.testing.assert_array_equal(viewer.retrieve_volume(layer=1), opened)
    viewer.redo()
    viewer.redo()
    np.testing.assert_array_equal(viewer.retrieve_volume(layer=1), second)
    for ending in (".zarr", ".h5"):
        target = file.with_name(f"corrected{ending}")
        viewer.labels.save(target)
        saved = pellucid.open(target)
        assert saved.dtype == np.uint16
        np.testing.assert_array_equal(saved[...], second)
        with pytest.raises(OutputExists):
            viewer.labels.save(target)
    assert file.read_bytes() == content


def test_after_undo_a_stroke_begins_from_the_file(viewer: Viewer, file: Path) -> None:
    viewer.labels.paint([(5, 6, 7)], 9)
    viewer.undo()
    viewer.labels.paint([(1, 1, 1)], 3, radius=1)
    expected = np.where(ball((1, 1, 1), 1), 3, np.load(file))
    np.testing.assert_array_equal(viewer.retrieve_volume(layer=1), expected)


def test_what_cannot_be_painted(viewer: Viewer, file: Path) -> None:
    with pytest.raises(InvalidInput, match="Label 70000 does not fit into uint16"):
        viewer.labels.paint([(5, 6, 7)], 70000)
    with pytest.raises(InvalidInput):
        viewer.labels.paint([(5, 6, 7)] * 257, 1)
    with pytest.raises(InvalidInput):
        viewer.labels.paint([(5, 6, 7)], 1, radius=0)
    with pytest.raises(InvalidInput, match="is not the name of a Zarr or HDF5 file"):
        viewer.labels.save(file.with_name("corrected.txt"))
    np.testing.assert_array_equal(viewer.retrieve_volume(layer=1), np.load(file))


def test_guests_with_control_paint_but_do_not_save(viewer: Viewer, file: Path) -> None:
    guest = pellucid.connect(viewer.share("control", "painting"))
    guest.labels.paint([(5, 6, 7)], 9, radius=1)
    assert viewer.retrieve_volume(layer=1)[5, 6, 7] == 9
    assert str(file.parent) not in str(guest.scene)
    with pytest.raises(NotAllowed):
        guest.labels.save(file.with_name("mine.zarr"))
    with pytest.raises(NotAllowed):
        guest.undo()
    watcher = pellucid.connect(viewer.share("view", "watching"))
    with pytest.raises(NotAllowed):
        watcher.labels.paint([(5, 6, 7)], 9)


def test_a_path_that_would_take_minutes_is_refused(viewer: Viewer, tmp_path: Path) -> None:
    np.save(tmp_path / "large.npy", np.zeros((256, 256, 256), np.uint8))
    viewer.load(tmp_path / "large.npy", how="labels")
    with pytest.raises(InvalidInput, match=r"The path of the brush covers [\d,]+ voxels"):
        viewer.labels.of_layer(-1 % len(viewer.scene.volumes)).paint([(0, 0, 0), (255, 255, 255)] * 128, 1, radius=1024)
