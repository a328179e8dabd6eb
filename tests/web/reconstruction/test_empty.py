"""A viewer that was started without a file: everything can be reached with a mouse."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.waiting import TIMEOUT_MS
from tests.web.browsing import Viewer, drawn, peak_signal, pixels, see, wait_for_scene


@pytest.fixture
def empty(browser: Browser, beamline: Path) -> Iterator[Page]:
    """The page of a viewer that shows nothing yet."""
    viewer = Viewer(None)
    viewer.start("--root", str(beamline))
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(viewer.url)
    see(page, "Nothing is open.")
    yield page
    context.close()
    viewer.kill()


def test_a_scan_is_set_up_and_a_file_opened_with_the_mouse(empty: Page) -> None:
    # A click waits until the element is on top: what lies behind something else is never clicked.
    tools = empty.get_by_role("navigation", name="Tools")
    expect(tools.get_by_role("button", name="Image or movie")).to_be_disabled()
    drawer = empty.get_by_role("complementary", name="Files")
    drawer.get_by_role("button", name="foam.h5").click()
    workbench = empty.get_by_role("region", name="Reconstruction")
    expect(workbench.get_by_label("Column, number")).to_be_visible(timeout=TIMEOUT_MS)
    workbench.get_by_label("Column, number").click()
    workbench.get_by_role("button", name="Close reconstruction").click()
    tools.get_by_role("button", name="Open a file").click()
    drawer.get_by_role("button", name="first.npy").click()
    wait_for_scene(empty, "scene.volumes.length === 1")
    expect(empty.get_by_text("Nothing is open.")).to_have_count(0)
    assert peak_signal(pixels(empty), drawn(empty)) > 45
