"""While something moves, pictures are as large as the budget pays for."""

import pytest

from pellucid.instance.pace import BUDGET_S, Pace


@pytest.mark.parametrize(
    ("whole_s", "size"),
    [(0.01, (1280, 720)), (BUDGET_S, (1280, 720)), (4 * BUDGET_S, (640, 360)), (1000.0, (160, 90))],
)
def test_size_follows_the_last_time(whole_s: float, size: tuple[int, int]) -> None:
    pace = Pace()
    pace.measured((1280, 720), whole_s)
    assert pace.affordable((1280, 720)) == size


def test_before_anything_is_measured_nothing_is_made_smaller() -> None:
    assert Pace().affordable((1280, 720)) == (1280, 720)


def test_there_is_always_a_pixel() -> None:
    pace = Pace()
    pace.measured((1, 1), 1000.0)
    assert pace.affordable((1, 1)) == (1, 1)
