"""Scans and stacks that are opened: what they are is recognised, and said."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import tifffile
from playwright.sync_api import Browser, Page, expect

from pellucid.volume.sample_volume import sample
from tests.waiting import TIMEOUT_MS
from tests.web.browsing import Viewer, wait_for_scene


@pytest.fixture
def page(browser: Browser, beamline: Path) -> Iterator[Page]:
    """The page of a viewer that was started with a scan, in a folder with a stack of TIFF files."""
    stack = beamline / "stack"
    stack.mkdir(exist_ok=True)
    for number, slice in enumerate(sample(8)):
        tifffile.imwrite(stack / f"slice_{number:03}.tif", slice)
    viewer = Viewer(beamline / "foam.h5")
    viewer.start()
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(viewer.url)
    yield page
    context.close()
    viewer.kill()


def test_a_scan_opens_its_reconstruction_and_a_folder_of_slices_a_stack(page: Page) -> None:
    workbench = page.get_by_role("region", name="Reconstruction")
    expect(workbench.get_by_role("heading", name="Reconstruct foam.h5")).to_be_visible(timeout=TIMEOUT_MS)
    expect(workbench.get_by_label("Column, number")).to_be_visible(timeout=TIMEOUT_MS)
    page.keyboard.press("Escape")
    drawer = page.get_by_role("complementary", name="Files")
    row = drawer.locator(".file-row", has_text="foam.h5")
    row.get_by_role("button", name="More options").click()
    drawer.get_by_role("button", name="Open projections").click()
    wait_for_scene(page, "scene.volumes.length === 1")
    expect(page.locator(".title")).to_contain_text("projections of a scan")
    page.locator(".title").get_by_role("button", name="Reconstruct").click()
    expect(workbench).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    drawer.locator(".file", has_text="stack").click()
    drawer.get_by_role("button", name="Open the stack").click()
    wait_for_scene(page, "scene.volumes[0].source.endsWith('/stack')")
    expect(page.locator(".title")).to_contain_text("8 × 8 × 8 (x, y, z) · uint16")
    expect(page.locator(".title")).not_to_contain_text("projections")
    # The browser opens where it was.
    page.keyboard.press("o")
    expect(drawer.get_by_role("navigation", name="Folder")).to_contain_text("stack")
