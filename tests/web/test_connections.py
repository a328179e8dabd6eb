"""The page when the viewer goes away and comes back, and when it may not come in."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.waiting import TIMEOUT_MS
from tests.web.browsing import (
    CANVAS,
    TOKEN,
    Viewer,
    drag,
    drawn,
    opened,
    peak_signal,
    pixels,
    scene,
    see,
    wait_for_rest,
    wait_for_scene,
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


def forget_image(page: Page) -> None:
    """What is painted from now on is new, whatever its number: those of a new viewer begin anew."""
    page.locator(CANVAS).evaluate("(canvas) => { delete canvas.dataset.number; delete canvas.dataset.isExact; }")


def test_a_killed_viewer_is_told_and_found_again_when_it_is_back(alone: Viewer, quiet_page: Page) -> None:
    opened(quiet_page, alone.url)
    port, before = alone.port, token_of(quiet_page)
    alone.kill()
    see(quiet_page, "The viewer does not respond")
    forget_image(quiet_page)
    alone.start("--port", str(port))
    expect(quiet_page.get_by_text("The viewer does not respond")).to_have_count(0, timeout=TIMEOUT_MS)
    shown = wait_for_rest(quiet_page)
    drag(quiet_page, 80, 20)
    wait_for_rest(quiet_page, after=shown)
    assert peak_signal(pixels(quiet_page), drawn(quiet_page)) > 45
    assert token_of(quiet_page) != before


def test_a_lost_viewer_is_told_above_an_open_dialog_and_cannot_be_closed(alone: Viewer, quiet_page: Page) -> None:
    opened(quiet_page, alone.url)
    quiet_page.keyboard.press("p")
    expect(quiet_page.get_by_role("dialog", name="Image or movie")).to_be_visible()
    port = alone.port
    alone.kill()
    see(quiet_page, "The viewer does not respond")
    for _ in range(2):  # Browsers close a dialog at the second press, whatever the page says.
        quiet_page.keyboard.press("Escape")
    retry = quiet_page.get_by_role("button", name="Reconnect now")
    expect(retry).to_be_visible()
    alone.start("--port", str(port))
    with suppress(PlaywrightTimeout):  # The page also tries by itself, and may have been faster.
        retry.click(timeout=5000)
    expect(quiet_page.get_by_text("The viewer does not respond")).to_have_count(0, timeout=TIMEOUT_MS)
    wait_for_rest(quiet_page)  # At the new address of the viewer, where no dialog is open.
    expect(quiet_page.get_by_role("dialog")).to_have_count(0)


def test_a_viewer_that_has_ended_is_told_and_another_at_its_address_too(alone: Viewer, quiet_page: Page) -> None:
    opened(quiet_page, alone.url)
    port = alone.port
    alone.end()
    see(quiet_page, "The viewer does not respond")
    alone.start("--port", str(port))
    see(quiet_page, "The server at this address is not the viewer that opened this page.")
    opened(quiet_page, alone.url)


def test_a_killed_worker_is_told_once_and_replaced(alone: Viewer, quiet_page: Page) -> None:
    opened(quiet_page, alone.url)
    (worker,) = alone.workers
    forget_image(quiet_page)
    os.kill(worker, signal.SIGKILL)
    see(quiet_page, "The render process stopped")
    expect(quiet_page.get_by_text("The render process stopped")).to_have_count(1)
    expect(quiet_page.get_by_text("Restarting the renderer")).to_have_count(0, timeout=TIMEOUT_MS)
    shown = wait_for_rest(quiet_page)
    expect(quiet_page.locator(".status")).to_contain_text("exact")
    drag(quiet_page, 80, 20)
    wait_for_rest(quiet_page, after=shown)
    assert peak_signal(pixels(quiet_page), drawn(quiet_page)) > 45
    assert alone.workers != [worker]


def routed(page: Page) -> list[WebSocketRoute]:
    """The connections that the page opens from now on, in a list that grows."""
    lines: list[WebSocketRoute] = []

    def between(line: WebSocketRoute) -> None:
        line.connect_to_server()
        lines.append(line)

    page.route_web_socket("**/ws", between)
    return lines


def test_a_broken_line_is_opened_again(alone: Viewer, quiet_page: Page) -> None:
    lines = routed(quiet_page)
    opened(quiet_page, alone.url)
    lines[0].close()
    see(quiet_page, "Reconnecting")
    expect(quiet_page.get_by_text("Reconnecting")).to_have_count(0)
    wait_for_rest(quiet_page)
    assert len(lines) == 2


def test_a_page_that_fails_says_so_and_can_be_loaded_again(alone: Viewer, quiet_page: Page) -> None:
    lines = routed(quiet_page)
    opened(quiet_page, alone.url)
    lines[0].send('{"type": "layers", "layers": [{"name": "nonsense"}], "points": [], "meshes": []}')
    see(quiet_page, "This page crashed")
    quiet_page.get_by_role("button", name="Reload the page").click()
    wait_for_rest(quiet_page)
    expect(quiet_page.get_by_text("This page crashed")).to_have_count(0)


def test_an_address_without_a_link_and_a_used_link_say_what_to_do(alone: Viewer, quiet_page: Page) -> None:
    quiet_page.goto(alone.address)
    see(quiet_page, "This address needs a link with a code.")
    used = alone.url
    opened(quiet_page, used)
    assert quiet_page.url == alone.address  # Nothing secret stays in sight.
    quiet_page.reload()
    wait_for_rest(quiet_page)  # Reloading needs no link.
    quiet_page.evaluate("sessionStorage.clear()")
    quiet_page.goto("about:blank")
    quiet_page.goto(used)
    see(quiet_page, "This link was already used")
    see(quiet_page, "Run pellucid open")
    quiet_page.evaluate("(link) => { location.href = link; }", alone.url)  # Another one, put into the same tab.
    wait_for_rest(quiet_page)


def test_a_share_link_is_made_and_revoked(alone: Viewer, quiet_page: Page, browser: Browser) -> None:
    opened(quiet_page, alone.url)
    quiet_page.get_by_role("button", name="Share").first.click()
    quiet_page.get_by_role("button", name="View only", exact=True).click()
    link = quiet_page.get_by_label("View only link").input_value()
    assert link.startswith(f"{alone.address}#share=")
    guest = browser.new_context().new_page()
    opened(guest, link)
    assert guest.url == alone.address
    guest.reload()
    wait_for_rest(guest)
    quiet_page.get_by_role("button", name="Revoke").click()
    see(guest, "Your access was revoked.")
    expect(quiet_page.get_by_label("View only link")).to_have_count(0)
    guest.goto("about:blank")
    guest.goto(link)
    see(guest, "This link was revoked")
    guest.context.close()


def test_a_short_link_opens_its_scene_in_another_browser(alone: Viewer, quiet_page: Page, browser: Browser) -> None:
    opened(quiet_page, alone.url)
    quiet_page.get_by_role("button", name="Share").first.click()
    quiet_page.get_by_role("button", name="Create a short link").click()
    link = quiet_page.get_by_label("Saved scene link").input_value()
    assert "&state=" in link and "token" not in link
    quiet_page.keyboard.press("Escape")
    camera = scene(quiet_page)["scene"]["camera"]
    drag(quiet_page, 90, 30)
    wait_for_scene(quiet_page, "scene.camera.position[0] !== given.position[0]", camera)
    guest = browser.new_context().new_page()
    opened(guest, link)
    wait_for_scene(quiet_page, "scene.camera.position[0] === given.position[0]", camera)
    guest.context.close()


def token_of(page: Page) -> str:
    return str(page.evaluate(f"({TOKEN})['Pellucid-Session']"))
