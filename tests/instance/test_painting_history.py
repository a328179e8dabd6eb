"""Painted volumes go back and forth between their states, as far as memory for it lasts."""

import asyncio

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.formats.shared_memory import SharedArray
from pellucid.instance.scene import painting_history, painting_turns
from pellucid.instance.scene.painting_history import PaintedVolume, PaintedVolumes
from pellucid.instance.scene.painting_turns import PaintingTurns
from pellucid.rendering.labels import Labels
from pellucid.rendering.scene import Scene, VolumeLayer

BOX = Box((0, 0, 0), (2, 3, 4))


def paint(painted: PaintedVolume, number: int) -> bool:
    mask = np.zeros(BOX.shape, bool)
    mask[number % 2, number % 3, number % 4] = True
    return painted.paint(number, BOX, mask, number, None)


def test_every_state_can_be_reached_from_every_other() -> None:
    with SharedArray.create(BOX.shape, np.uint8) as shared:
        painted = PaintedVolume("base", "copy", shared)
        states = {0: shared.array.copy()}
        for number in (3, 4, 5):
            assert paint(painted, number)
            states[number] = shared.array.copy()
        for target in (0, 5, 4, 0, 3, 5, 3):
            painted.go_to(target)
            assert painted.now == target
            np.testing.assert_array_equal(shared.array, states[target])
        assert painted.go_to(99) == [] and painted.now == 3
        assert paint(painted, 8) and painted.known == {0, 3, 8}
        assert not paint(painted, 8)  # Nothing changed: no state.


def test_the_oldest_states_go_when_there_is_too_much_to_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    with SharedArray.create(BOX.shape, np.uint8) as shared:
        painted = PaintedVolume("base", "copy", shared)
        paint(painted, 1)
        monkeypatch.setattr(painting_history, "MAX_EDIT_BYTES", 1)
        paint(painted, 2)
        assert painted.known == {1, 2}
        painted.go_to(1)
        assert painted.now == 1 and shared.array[1, 1, 1] == 1 and shared.array[0, 2, 2] == 0


def test_not_more_voxels_are_kept_than_can_be_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(painting_history, "MAX_EDIT_VOXELS", 3 * BOX.size)
    with SharedArray.create(BOX.shape, np.uint8) as shared:
        painted = PaintedVolume("base", "copy", shared)
        for number in range(1, 10):
            paint(painted, number)
        assert painted.known == {6, 7, 8, 9} and painted.voxels_to(6) == 3 * BOX.size
        assert painted.voxels_to(9) == painted.voxels_to(99) == 0


def test_only_tiles_with_changes_are_kept() -> None:
    box = Box((0, 0, 0), (64, 128, 128))
    with SharedArray.create(box.shape, np.uint8) as shared:
        painted, mask = PaintedVolume("base", "copy", shared), np.zeros(box.shape, bool)
        mask[0, 0, 0] = mask[63, 127, 127] = True
        assert painted.paint(1, box, mask, 7, None)
        assert [tile.size for tile in painted.go_to(0)] == [32 * 64 * 64] * 2
        assert not shared.array.any()
        painted.go_to(1)
        np.testing.assert_array_equal(shared.array, 7 * mask)


def painted_scene(number: int) -> Scene:
    return Scene(volumes=(VolumeLayer("copy", labels=Labels(), edit=number),))


@pytest.mark.parametrize("at_once", [0, 2**20])
def test_voxels_follow_the_scene_and_large_changes_do_not_stop_the_event_loop(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(painting_turns, "MAX_VOXELS_AT_ONCE", at_once)

    async def run(shared: SharedArray) -> None:
        volumes, painted = PaintedVolumes(), PaintedVolume("base", "copy", shared)
        volumes.add(painted)
        paint(painted, 1)
        paint(painted, 2)
        scene, changed = painted_scene(1), list[str]()
        turns = PaintingTurns(volumes, lambda: scene, lambda source, boxes: changed.append(source))
        turns.follow()
        assert painted.now == (1 if at_once else 2)
        await turns.followed()
        assert painted.now == 1 and changed == ["copy"]
        scene = painted_scene(0)
        async with turns.voxels:  # Someone paints: never at the same time.
            turns.follow()
            scene = painted_scene(2)
            assert painted.now == 1
        await turns.followed()
        assert painted.now == 2

    with SharedArray.create(BOX.shape, np.uint8) as shared:
        asyncio.run(run(shared))


def test_a_users_second_path_waits_and_that_of_another_does_not() -> None:
    async def run() -> None:
        turns = PaintingTurns(PaintedVolumes(), Scene, lambda source, boxes: None)
        async with turns.of("guest"):
            assert turns.of("guest").locked() and not turns.of("").locked() and not turns.voxels.locked()

    asyncio.run(run())
