"""The order in which a Worker draws: screenshots of guests wait for everything else."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pellucid.device import never_cancelled
from pellucid.errors import Cancelled
from pellucid.rendering.frame import Frame, FrameStatistics
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.workers.protocol.replies import FrameDrawn
from pellucid.workers.protocol.requests import Draw, TakeScreenshot, ViewSpec
from pellucid.workers.render import render_thread
from pellucid.workers.render.render_thread import MAX_PUT_OFF, RenderThread

TIMES_S = {"prepare": 0.0, "draw": 0.0, "finish": 0.0}
EMPTY = Frame(np.zeros((2, 2, 4), np.uint8), np.zeros((2, 2)), FrameStatistics("cpu", TIMES_S))


class SlowRenderers:
    """Draws nothing. The first image takes long enough for ``meanwhile`` to happen."""

    large_file = False

    def __init__(self) -> None:
        self.meanwhile: Callable[[], None] = lambda: None
        self.readings = 0

    def of(self, scene: Scene) -> "SlowRenderers":
        return self

    def draw_first(
        self, scene: Scene, width: int, height: int, is_cancelled: Callable[[], bool] = never_cancelled
    ) -> Frame | None:
        if not self.large_file:
            return None
        happens, self.meanwhile = self.meanwhile, lambda: None
        happens()
        return EMPTY

    def render(
        self, scene: Scene, width: int, height: int, *, is_cancelled: Callable[[], bool], is_exact: bool = True
    ) -> Frame:
        happens, self.meanwhile = self.meanwhile, lambda: None
        happens()
        self.readings += 1
        if is_cancelled():
            raise Cancelled("The image")
        return Frame(
            np.zeros((height, width, 4), np.uint8),
            np.zeros((height, width)),
            FrameStatistics("cpu", TIMES_S),
        )


class Replies(list[int]):
    """The requests that were answered, in order."""

    def send_reply(self, answer: FrameDrawn, descriptor: int | None = None) -> None:
        self.append(answer.request)

    def failed(self, error: Exception, *, number: int = -1, request: int = -1) -> None:
        raise error


@pytest.fixture
def replies() -> Replies:
    return Replies()


@pytest.fixture
def thread(replies: Replies) -> RenderThread:
    renderers: Any = SlowRenderers()
    return RenderThread(renderers, replies)


def view() -> ViewSpec:
    return ViewSpec(Scene(), 2, 2)


def test_a_guests_screenshot_gives_way_to_the_owners(thread: RenderThread, replies: Replies) -> None:
    thread.renderers.meanwhile = lambda: thread.add_snapshot(TakeScreenshot(2, view()))  # type: ignore[attr-defined]
    thread.add_snapshot(TakeScreenshot(1, view(), is_for_guest=True))
    for _ in range(3):
        thread._next()()
    assert replies == [2, 1]


def test_a_guests_screenshot_gives_way_to_a_job(thread: RenderThread, replies: Replies) -> None:
    thread.renderers.meanwhile = lambda: thread.add(lambda: replies.append(7))  # type: ignore[attr-defined]
    thread.add_snapshot(TakeScreenshot(1, view(), is_for_guest=True))
    for _ in range(3):
        thread._next()()
    assert replies == [7, 1]


@pytest.fixture
def drawn(thread: RenderThread, replies: Replies, monkeypatch: pytest.MonkeyPatch) -> None:
    """Images of pages are noted alone."""

    def draw(request: Draw) -> None:
        replies.append(request.number)
        thread._done = request.number

    monkeypatch.setattr(thread, "_draw", draw)


@pytest.mark.usefixtures("drawn")
def test_a_guests_screenshot_gives_way_to_an_image_of_the_page(thread: RenderThread, replies: Replies) -> None:
    thread.renderers.meanwhile = lambda: thread.draw(Draw(5, (view(),), 50.0, False))  # type: ignore[attr-defined]
    thread.add_snapshot(TakeScreenshot(1, view(), is_for_guest=True))
    for _ in range(3):
        thread._next()()
    assert replies == [5, 1]


def test_the_owners_screenshot_is_finished_and_comes_before_those_of_guests(
    thread: RenderThread, replies: Replies
) -> None:
    thread.renderers.meanwhile = lambda: thread.add_snapshot(TakeScreenshot(3, view()))  # type: ignore[attr-defined]
    thread.add_snapshot(TakeScreenshot(1, view(), is_for_guest=True))
    thread.add_snapshot(TakeScreenshot(2, view()))
    for _ in range(3):
        thread._next()()
    assert replies == [2, 3, 1]


@pytest.mark.usefixtures("drawn")
@pytest.mark.parametrize(("max_wait_s", "order"), [(1000.0, [5, 1]), (-1.0, [1, 5])])
def test_the_owners_screenshot_does_not_wait_for_images_of_pages_for_ever(
    thread: RenderThread, replies: Replies, monkeypatch: pytest.MonkeyPatch, max_wait_s: float, order: list[int]
) -> None:
    monkeypatch.setattr(render_thread, "MAX_WAIT_S", max_wait_s)
    thread.draw(Draw(5, (view(),), 50.0, False))
    thread.add_snapshot(TakeScreenshot(1, view()))
    for _ in range(2):
        thread._next()()
    assert replies == order


@pytest.mark.usefixtures("drawn")
def test_slices_of_guests_wait_for_everything_else_and_do_not_put_off_an_image(
    thread: RenderThread, replies: Replies
) -> None:
    for number in (1, 2):
        thread.add_for_guest(lambda number=number: replies.append(number))  # type: ignore[misc]
    assert not thread.is_wanted  # An image under way goes on.
    thread.draw(Draw(5, (view(),), 50.0, False))
    assert thread.is_wanted
    thread.add_snapshot(TakeScreenshot(6, view()))
    thread.add(lambda: replies.append(7))
    for _ in range(5):
        thread._next()()
    assert replies == [7, 5, 6, 1, 2]


def large(number: int) -> Draw:
    """A request for an image of a file that is still to be read."""
    return Draw(number, (ViewSpec(Scene(volumes=(VolumeLayer("large.npy"),)), 2, 2),), 50.0, True)


def test_a_large_file_is_read_only_after_a_first_image_of_the_size_that_the_page_wants(thread: RenderThread) -> None:
    renderers: Any = thread.renderers
    renderers.large_file = True
    renderers.meanwhile = lambda: thread.draw(large(2))  # The page has sent its size meanwhile.
    thread.draw(large(1))
    thread._next()()
    assert renderers.readings == 0
    thread._next()()
    assert renderers.readings == 1


def test_a_page_that_moves_all_the_time_sees_all_voxels(thread: RenderThread) -> None:
    renderers: Any = thread.renderers
    renderers.large_file = True
    for number in range(MAX_PUT_OFF + 1):
        assert renderers.readings == 0
        renderers.meanwhile = lambda number=number: thread.draw(large(number + 1))
        thread.draw(large(number))
        thread._next()()
    assert renderers.readings == 1
