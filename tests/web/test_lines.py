"""The page when the viewer goes away and comes back, and when it may not come in."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.web.browsing import (
    CANVAS,
    PATIENCE_MS,
    Viewer,
    drag,
    drawn,
    opened,
    peak_signal,
    pixels,
    see,
    wait_for_rest,
)


@pytest.fixture
def alone(folder: Path) -> Iterator[Viewer]:
    """A viewer that may be killed."""
    viewer = Viewer(folder / "first.npy")
    viewer.start()
    yield viewer
    viewer.kill()


@pytest.fixture
def quiet_page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 900, "height": 600})
    yield context.new_page()
    context.close()


def forget_picture(page: Page) -> None:
    """What is painted from now on is new, whatever its number: those of a new viewer begin anew."""
    page.locator(CANVAS).evaluate("(canvas) => { delete canvas.dataset.number; delete canvas.dataset.isExact; }")


def test_a_killed_viewer_is_told_and_found_again_when_it_is_back(alone: Viewer, quiet_page: Page) -> None:
    opened(quiet_page, alone.url)
    port, url = alone.port, alone.url
    alone.kill()
    see(quiet_page, "The viewer does not answer")
    forget_picture(quiet_page)
    alone.start("--port", str(port))
    assert alone.url == url
    expect(quiet_page.get_by_text("The viewer does not answer")).to_have_count(0, timeout=PATIENCE_MS)
    shown = wait_for_rest(quiet_page)
    drag(quiet_page, 80, 20)
    wait_for_rest(quiet_page, after=shown)
    assert peak_signal(pixels(quiet_page), drawn(quiet_page)) > 45


def test_a_lost_viewer_is_told_above_an_open_dialog_and_cannot_be_closed(alone: Viewer, quiet_page: Page) -> None:
    opened(quiet_page, alone.url)
    quiet_page.keyboard.press("p")
    expect(quiet_page.get_by_role("dialog", name="Picture or movie")).to_be_visible()
    port = alone.port
    alone.kill()
    see(quiet_page, "The viewer does not answer")
    for _ in range(2):  # Browsers close a dialog at the second press, whatever the page says.
        quiet_page.keyboard.press("Escape")
    retry = quiet_page.get_by_role("button", name="Try now")
    expect(retry).to_be_visible()
    alone.start("--port", str(port))
    retry.click()
    expect(quiet_page.get_by_text("The viewer does not answer")).to_have_count(0, timeout=PATIENCE_MS)
    dialog = quiet_page.get_by_role("dialog", name="Picture or movie")
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_have_count(0)


def test_a_viewer_that_has_ended_is_told_and_one_without_our_token_too(alone: Viewer, quiet_page: Page) -> None:
    opened(quiet_page, alone.url)
    port = alone.port
    alone.end()
    see(quiet_page, "The viewer does not answer")
    alone.start("--port", str(port))
    see(quiet_page, "This page may not talk to the viewer.")
    opened(quiet_page, alone.url)


def test_a_killed_worker_is_told_once_and_replaced(alone: Viewer, quiet_page: Page) -> None:
    opened(quiet_page, alone.url)
    (worker,) = alone.workers
    forget_picture(quiet_page)
    os.kill(worker, signal.SIGKILL)
    see(quiet_page, "The process that draws was lost")
    expect(quiet_page.get_by_text("The process that draws was lost")).to_have_count(1)
    expect(quiet_page.get_by_text("The renderer is being replaced")).to_have_count(0, timeout=PATIENCE_MS)
    shown = wait_for_rest(quiet_page)
    expect(quiet_page.locator(".status")).to_contain_text("exact")
    drag(quiet_page, 80, 20)
    wait_for_rest(quiet_page, after=shown)
    assert peak_signal(pixels(quiet_page), drawn(quiet_page)) > 45
    assert alone.workers != [worker]


def test_a_broken_line_is_opened_again(alone: Viewer, quiet_page: Page) -> None:
    lines: list[WebSocketRoute] = []

    def between(line: WebSocketRoute) -> None:
        line.connect_to_server()
        lines.append(line)

    quiet_page.route_web_socket("**/ws", between)
    opened(quiet_page, alone.url)
    lines[0].close()
    see(quiet_page, "Reconnecting")
    expect(quiet_page.get_by_text("Reconnecting")).to_have_count(0)
    wait_for_rest(quiet_page)
    assert len(lines) == 2


def test_a_page_that_fails_says_so_and_can_be_loaded_again(alone: Viewer, quiet_page: Page) -> None:
    lines: list[WebSocketRoute] = []

    def between(line: WebSocketRoute) -> None:
        line.connect_to_server()
        lines.append(line)

    quiet_page.route_web_socket("**/ws", between)
    opened(quiet_page, alone.url)
    lines[0].send('{"type": "layers", "layers": [{"name": "nonsense"}], "points": [], "meshes": []}')
    see(quiet_page, "The page has failed")
    quiet_page.get_by_role("button", name="Load the page again").click()
    wait_for_rest(quiet_page)
    expect(quiet_page.get_by_text("The page has failed")).to_have_count(0)


def test_without_the_token_nothing_is_shown(alone: Viewer, quiet_page: Page) -> None:
    quiet_page.goto(alone.url.partition("?")[0])
    assert "closed" in quiet_page.content()
