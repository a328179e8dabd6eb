"""Revisions, undo and redo."""

from dataclasses import replace

import pytest

from pellucid.errors import InvalidInput, SceneChanged
from pellucid.instance.protocol.shared_types import Change
from pellucid.instance.scene.history import History, ScenePair
from pellucid.rendering.camera import Camera
from pellucid.rendering.scene import Scene, VolumeLayer

AWAY = Camera((9.0, 9.0, 9.0))


def stepped(history: History, step: float, run: str = "", is_last: bool = False) -> None:
    history.set(ScenePair(replace(history.scene, step=step), history.other), run, is_last)


def test_every_change_has_a_revision_and_can_be_undone() -> None:
    history = History(Scene())
    stepped(history, 1.0)
    stepped(history, 2.0)
    history.undo()
    assert (history.scene.step, history.revision, history.can_undo, history.can_redo) == (1.0, 3, True, True)
    history.redo()
    assert (history.scene.step, history.can_redo) == (2.0, False)
    history.undo()
    history.undo()
    with pytest.raises(InvalidInput, match="Nothing to undo"):
        history.undo()
    stepped(history, 3.0)
    with pytest.raises(InvalidInput, match="Nothing to redo"):
        history.redo()


def test_a_gesture_is_one_step() -> None:
    history = History(Scene(step=0.5))
    for step in (1.0, 1.5, 2.0):
        stepped(history, step, run="slider")
    assert history.revision == 3
    history.undo()
    assert (history.scene.step, history.can_undo) == (0.5, False)


def test_letting_go_ends_the_gesture_and_is_no_step_of_its_own() -> None:
    history = History(Scene(step=0.5))
    for step in (1.0, 2.0):
        stepped(history, step, run="slider")
        stepped(history, step, run="slider", is_last=True)
    history.undo()
    assert history.scene.step == 1.0
    history.undo()
    assert (history.scene.step, history.can_undo) == (0.5, False)


def test_the_camera_makes_no_revision_and_stays_where_it_is() -> None:
    history = History(Scene())
    stepped(history, 1.0)
    history.set_camera(AWAY)
    history.undo()
    assert (history.scene.camera, history.scene.step, history.revision) == (AWAY, 0.5, 2)


def test_what_was_replaced_comes_back_with_its_camera() -> None:
    first, second = (Scene((VolumeLayer(name),)) for name in ("/a.npy", "/b.npy"))
    history = History(first)
    history.set_camera(AWAY)
    history.set(ScenePair(second))
    assert history.scene.camera == Camera()
    history.undo()
    assert (history.scene.volumes, history.scene.camera) == (first.volumes, AWAY)
    history.redo()
    assert (history.scene.volumes, history.scene.camera) == (second.volumes, Camera())


def test_a_layer_that_was_added_goes_without_moving_the_camera() -> None:
    layer, other = VolumeLayer("/a.npy"), VolumeLayer("/b.npy")
    history = History(Scene((layer,)))
    history.set(ScenePair(Scene((layer, other))))
    history.set_camera(AWAY)
    history.undo()
    assert (history.scene.volumes, history.scene.camera) == ((layer,), AWAY)


def test_the_other_scene_is_changed_by_itself() -> None:
    history = History(Scene())
    change = [Change(("step",), 1.0)]
    with pytest.raises(InvalidInput, match="No second scene"):
        history.patched(change, "other")
    history.set(ScenePair(history.scene, history.scene))
    history.set(history.patched(change, "other"))
    history.set_camera(AWAY)
    assert history.other is not None
    assert (history.scene.step, history.other.step) == (0.5, 1.0)
    assert history.other.camera == AWAY


def test_a_wrong_revision_is_refused() -> None:
    with pytest.raises(SceneChanged, match="for revision 5, the scene has 0"):
        History(Scene()).require(5)
