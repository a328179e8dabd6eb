"""Rough pictures: as large as they can be afforded, and of one size while that lasts."""

import pytest

from pellucid.rendering.drawing.refinement import MAX_KNOWN, FrameCost
from pellucid.rendering.frame import FrameStatistics
from pellucid.workers.render.frame_size import STEPS, FrameSizer

WHOLE = (720, 1280)
BUDGET_S = 0.08
NEVER_DRAWN = FrameCost(1e-6)
HALF_S = 0.7 * BUDGET_S / (360 * 640)
"""Seconds of a pixel with which half of each edge can just be afforded."""


def draw(sizing: FrameSizer, pixel_s: float, budget_s: float = BUDGET_S) -> float:
    """Draw a rough picture whose pixels take so long; how large it was."""
    scale = sizing.scale("scene", WHOLE, budget_s, NEVER_DRAWN)
    learn(sizing, scale, pixel_s, is_rough=True)
    return scale * STEPS


def learn(sizing: FrameSizer, scale: float, pixel_s: float, is_rough: bool) -> None:
    size = round(WHOLE[0] * scale), round(WHOLE[1] * scale)
    times_s = {"draw": pixel_s * size[0] * size[1], "prepare": 0.0, "finish": 0.0}
    sizing.measured("scene", size, FrameStatistics("cpu", times_s), is_rough)


@pytest.fixture
def sizing() -> FrameSizer:
    """Of a scene of which half of each edge can be afforded while something moves."""
    made = FrameSizer()
    for _ in range(3):
        draw(made, HALF_S)
    assert draw(made, HALF_S) == 8
    return made


def test_a_little_more_or_less_does_not_change_the_size(sizing: FrameSizer) -> None:
    assert [draw(sizing, HALF_S * factor) for factor in (0.9, 1.1, 0.8, 1.1, 0.9, 1.1)] == [8] * 6


def test_one_slow_picture_is_chance_and_two_are_not(sizing: FrameSizer) -> None:
    assert [draw(sizing, HALF_S * factor) for factor in (9, 1, 1, 1, 4, 4, 4)] == [8, 8, 8, 8, 8, 8, 4]


def test_what_gets_cheaper_gets_larger(sizing: FrameSizer) -> None:
    assert [draw(sizing, HALF_S / 4.1) for _ in range(4)] == [8, 8, 16, 16]


def test_the_exact_picture_at_rest_does_not_say_what_a_moving_one_costs(sizing: FrameSizer) -> None:
    learn(sizing, 1.0, HALF_S / 3, is_rough=False)
    assert draw(sizing, HALF_S) == 8


def test_before_anything_moved_the_exact_picture_is_what_is_known() -> None:
    sizing = FrameSizer()
    learn(sizing, 1.0, HALF_S, is_rough=False)
    assert draw(sizing, HALF_S) == 8


def test_a_smaller_budget_makes_a_smaller_picture_and_leaves_the_others_alone(sizing: FrameSizer) -> None:
    assert [draw(sizing, HALF_S, budget_s) for budget_s in (BUDGET_S / 4, BUDGET_S)] == [4, 8]


def test_what_cannot_be_afforded_at_all_is_drawn_as_small_as_can_be(sizing: FrameSizer) -> None:
    assert [draw(sizing, HALF_S * 1e6) for _ in range(3)][-1] == 1


def sizes_on_a_busy_cpu(sizing: FrameSizer, pixel_s: float) -> list[float]:
    """Of five rough images whose pixels take so long, in steps: half of each edge is to be kept."""
    drawn = []
    for _ in range(5):
        scale = sizing.scale("scene", WHOLE, BUDGET_S, NEVER_DRAWN, least=0.5)
        learn(sizing, scale, pixel_s, is_rough=True)
        drawn.append(scale * STEPS)
    return drawn


@pytest.mark.parametrize("slower", [4, 9, 12])
def test_a_quarter_of_the_pixels_is_kept_and_frames_are_dropped_instead(sizing: FrameSizer, slower: int) -> None:
    assert sizes_on_a_busy_cpu(sizing, HALF_S * slower) == [8] * 5
    assert draw(sizing, HALF_S * slower) < 5  # Without it.


def test_no_image_takes_longer_than_a_second_for_that(sizing: FrameSizer) -> None:
    *_, size = sizes_on_a_busy_cpu(sizing, HALF_S * 50)
    assert size == 4 and HALF_S * 50 * (720 * size / STEPS) * (1280 * size / STEPS) < 1


def test_what_is_kept_is_no_limit_where_more_can_be_afforded(sizing: FrameSizer) -> None:
    assert sizes_on_a_busy_cpu(sizing, HALF_S / 4.1)[-1] == 16


def test_a_scene_of_which_too_many_others_were_seen_since_is_as_if_never_moved(sizing: FrameSizer) -> None:
    for number in range(MAX_KNOWN):
        sizing.measured(number, (1, 1), FrameStatistics("cpu", {"draw": 1.0, "prepare": 0.0, "finish": 0.0}), True)
    learn(sizing, 1.0, HALF_S / 4.1, is_rough=False)
    assert draw(sizing, HALF_S) == 16
