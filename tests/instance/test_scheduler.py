"""What is drawn when, without anybody who draws."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from pellucid.instance.frames.quality import LEVELS, QualityLevel
from pellucid.instance.frames.scheduler import BUDGET_MS, FIRST, FrameScheduler
from pellucid.instance.frames.sender import FrameSender, RenderedFrame
from pellucid.instance.scene.history import History
from pellucid.instance.websocket.client import ConnectedClient
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.workers.protocol.replies import FrameDrawn
from pellucid.workers.protocol.requests import ViewSpec
from pellucid.workers.supervisor import SupervisedWorker


class Desk:
    """Takes the place of a Worker and of a Delivery: notes what is wished, and what was drawn."""

    def __init__(self) -> None:
        self.requested: list[tuple[float, bool]] = []
        self.views: list[ViewSpec] = []
        self.delivered = 0

    def draw(self, views: tuple[ViewSpec, ...], budget_ms: float, is_exact: bool) -> int:
        self.requested.append((budget_ms, is_exact))
        self.views += views
        return len(self.requested)

    async def encode_and_send(self, shot: RenderedFrame) -> None:
        self.delivered += 1


def requested(act: Callable[[FrameScheduler, Callable[[], None]], None]) -> list[tuple[float, bool]]:
    """The budgets of the pictures that are begun, and whether they are exact. act is given what finishes one."""

    async def acted() -> list[tuple[float, bool]]:
        desk, history = Desk(), History(Scene((VolumeLayer("memory:ball"),)))
        picturing = FrameScheduler(history, cast(SupervisedWorker, desk), cast(FrameSender, desk))
        picturing.is_watched = lambda: True

        def finish() -> None:
            is_exact = desk.requested[-1][1]
            drawn = FrameDrawn(len(desk.requested), -1, 0, is_exact, 0, 16, 2, 2, 1.0, 1.0)
            picturing.frame_drawn(drawn, np.zeros((2, 2, 4), np.uint8), lambda: None)

        act(picturing, finish)
        return desk.requested

    return asyncio.run(acted())


def test_the_first_picture_of_a_movement_takes_less_time_than_the_others() -> None:
    def act(picturing: FrameScheduler, finish: Callable[[], None]) -> None:
        for _ in range(2):
            for is_moving in (True, True, True, False):
                picturing.request_frame(is_moving)
                finish()

    movement = [(FIRST * BUDGET_MS, False), (BUDGET_MS, False), (BUDGET_MS, False), (BUDGET_MS, True)]
    assert requested(act) == movement * 2


def test_input_while_a_picture_is_drawn_makes_one_picture_of_the_latest() -> None:
    def act(picturing: FrameScheduler, finish: Callable[[], None]) -> None:
        for _ in range(5):
            picturing.request_frame(is_moving=True)
        finish()
        finish()

    assert requested(act) == [(FIRST * BUDGET_MS, False), (BUDGET_MS, False)]


def test_the_exact_picture_is_abandoned_for_the_first_of_a_movement() -> None:
    def act(picturing: FrameScheduler, finish: Callable[[], None]) -> None:
        picturing.request_frame(is_moving=False)
        picturing.request_frame(is_moving=True)

    assert requested(act) == [(BUDGET_MS, True), (FIRST * BUDGET_MS, False)]


@pytest.mark.parametrize("level", LEVELS)
def test_a_rough_picture_keeps_a_quarter_of_the_pixels_whatever_the_connection(level: QualityLevel) -> None:
    desk, history = Desk(), History(Scene((VolumeLayer("memory:ball"),)))

    async def act() -> None:
        picturing = FrameScheduler(history, cast(SupervisedWorker, desk), cast(FrameSender, desk))
        picturing.is_watched, picturing.size = lambda: True, (1280, 720)
        client = SimpleNamespace(frames=SimpleNamespace(can_send=True, quality=SimpleNamespace(level=level)))
        picturing.holder = lambda: cast(ConnectedClient, client)
        picturing.request_frame(is_moving=True)
        picturing.request_frame(is_moving=False)

    asyncio.run(act())
    (rough,) = desk.views
    assert min(rough.width * rough.min_scale / 1280, rough.height * rough.min_scale / 720) == pytest.approx(0.5)
