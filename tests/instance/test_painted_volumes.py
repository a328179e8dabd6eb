"""Painted volumes go back and forth between their states, as far as memory for it lasts."""

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.formats.shared_memory import SharedArray
from pellucid.instance.scene import painted_volumes
from pellucid.instance.scene.painted_volumes import PaintedVolume

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
        monkeypatch.setattr(painted_volumes, "MAX_EDIT_BYTES", 1)
        paint(painted, 2)
        assert painted.known == {1, 2}
        painted.go_to(1)
        assert painted.now == 1 and shared.array[1, 1, 1] == 1 and shared.array[0, 2, 2] == 0
