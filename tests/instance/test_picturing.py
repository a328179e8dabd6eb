"""What is drawn when, without anybody who draws."""

import asyncio
from collections.abc import Callable
from typing import cast

import numpy as np

from pellucid.instance.delivery import Delivery, Shot
from pellucid.instance.history import History
from pellucid.instance.picturing import BUDGET_MS, FIRST, Picturing
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.workers.commands import Drawn, View
from pellucid.workers.supervision import Picture, SupervisedWorker


class Desk:
    """Takes the place of a Worker and of a Delivery: notes what is wished, and what was drawn."""

    def __init__(self) -> None:
        self.wished: list[tuple[float, bool]] = []
        self.delivered = 0

    def draw(self, views: tuple[View, ...], budget_ms: float, is_exact: bool) -> int:
        self.wished.append((budget_ms, is_exact))
        return len(self.wished)

    async def deliver(self, shot: Shot) -> None:
        self.delivered += 1


def wished(act: Callable[[Picturing, Callable[[], None]], None]) -> list[tuple[float, bool]]:
    """The budgets of the pictures that are begun, and whether they are exact. act is given what finishes one."""

    async def acted() -> list[tuple[float, bool]]:
        desk, history = Desk(), History(Scene((VolumeLayer("memory:ball"),)))
        picturing = Picturing(history, cast(SupervisedWorker, desk), cast(Delivery, desk))
        picturing.is_watched = lambda: True

        def finish() -> None:
            is_exact = desk.wished[-1][1]
            drawn = Drawn(len(desk.wished), -1, 0, 0, 16, 2, 2, is_exact, 1.0, 1.0)
            picturing.picture_was_drawn(Picture(drawn, np.zeros((2, 2, 4), np.uint8), lambda: None))

        act(picturing, finish)
        return desk.wished

    return asyncio.run(acted())


def test_the_first_picture_of_a_movement_takes_less_time_than_the_others() -> None:
    def act(picturing: Picturing, finish: Callable[[], None]) -> None:
        for _ in range(2):
            for is_moving in (True, True, True, False):
                picturing.want(is_moving)
                finish()

    movement = [(FIRST * BUDGET_MS, False), (BUDGET_MS, False), (BUDGET_MS, False), (BUDGET_MS, True)]
    assert wished(act) == movement * 2


def test_input_while_a_picture_is_drawn_makes_one_picture_of_the_latest() -> None:
    def act(picturing: Picturing, finish: Callable[[], None]) -> None:
        for _ in range(5):
            picturing.want(is_moving=True)
        finish()
        finish()

    assert wished(act) == [(FIRST * BUDGET_MS, False), (BUDGET_MS, False)]


def test_the_exact_picture_is_abandoned_for_the_first_of_a_movement() -> None:
    def act(picturing: Picturing, finish: Callable[[], None]) -> None:
        picturing.want(is_moving=False)
        picturing.want(is_moving=True)

    assert wished(act) == [(BUDGET_MS, True), (FIRST * BUDGET_MS, False)]
