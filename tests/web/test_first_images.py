"""The first image of volumes that are not what one expects, without any settings, in the area that the panel leaves.

``NEW_FIRST_IMAGES=1 python -m pytest tests/web/test_first_images.py`` writes first_images anew: look at them.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.web.browsing import TOKEN, Viewer, opened, peak_signal, pixels, wait_for_scene
from tests.web.first_volumes import VOLUMES

IMAGES = Path(__file__).parent / "first_images"
SIZE = ViewportSize(width=900, height=480)
ALIKE_DB = 26.0


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("first")
    for name, make in VOLUMES.items():
        np.save(folder / f"{name}.npy", make())
    started = Viewer(folder / "hot_voxel.npy")
    started.start("--root", str(folder))
    yield started
    started.kill()


@pytest.fixture(scope="module")
def first_page(browser: Browser, viewer: Viewer) -> Iterator[Page]:
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    opened(page, viewer.url)
    yield page
    context.close()


def show(page: Page, path: Path) -> None:
    script = f"""(body) => fetch("api/load", {{ method: "POST", body: JSON.stringify(body),
        headers: {{ "Content-Type": "application/json", ...{TOKEN} }} }}).then((answer) => answer.status)"""
    assert page.evaluate(script, {"path": str(path), "how": "replace"}) == 200
    wait_for_scene(page, "scene.volumes[0].source.endsWith(given)", path.name)


@pytest.mark.parametrize("name", VOLUMES)
def test_the_first_image_is_right(first_page: Page, viewer: Viewer, name: str) -> None:
    page = first_page
    assert viewer.file is not None
    show(page, viewer.file.with_name(f"{name}.npy"))
    shown = pixels(page)
    if "NEW_FIRST_IMAGES" in os.environ:
        Image.fromarray(shown).save(IMAGES / f"{name}.png")
    expected = np.asarray(Image.open(IMAGES / f"{name}.png").convert("RGB"))
    assert shown.shape == expected.shape
    assert peak_signal(shown, expected) > ALIKE_DB
    if name == "labels":
        chosen = page.get_by_role("group", name="Shown as").get_by_role("button", name="Labels")
        expect(chosen).to_have_attribute("aria-pressed", "true")
    if name == "projections":
        expect(page.locator(".title")).to_contain_text("looks like projections of a scan")


def test_what_is_shown_stands_in_the_middle_of_what_the_panel_leaves_at_any_size(
    first_page: Page, viewer: Viewer
) -> None:
    page = first_page
    assert viewer.file is not None
    show(page, viewer.file.with_name("padded_ct.npy"))
    for width, height in ((900, 480), (390, 844), (640, 480)):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(
            """() => { const { width, height } = document.querySelector('canvas[data-view="main"]');
            const stage = document.querySelector('.views').getBoundingClientRect();
            return Math.abs(width / height - stage.width / stage.height) < 0.02; }"""
        )
        wait_for_scene(page, "true")
        rows, columns = np.nonzero(pixels(page).max(axis=2) > 30)
        image = pixels(page).shape[:2]
        for places, length in ((rows, image[0]), (columns, image[1])):
            assert places.min() > 0 and places.max() < length - 1, "cut off"
            assert abs(places.min() + places.max() - length) < 0.08 * length, "not in the middle"
        assert np.ptp(columns) > 0.6 * image[1] or np.ptp(rows) > 0.6 * image[0]


def test_home_fits_what_clipping_leaves_and_auto_is_the_first_view(first_page: Page, viewer: Viewer) -> None:
    page = first_page
    assert viewer.file is not None
    page.set_viewport_size(SIZE)
    show(page, viewer.file.with_name("smooth_ball.npy"))
    first = pixels(page)
    for label, number in (("Clip x to", "20"), ("Clip y to", "20"), ("Clip z to", "20")):
        if not page.get_by_label(label).is_visible():
            page.get_by_role("button", name="Clipping", exact=True).click()
        page.get_by_label(label).fill(number)
        page.keyboard.press("Enter")
    wait_for_scene(page, "scene.volumes[0].clip?.stop.join() === '20,20,20'")
    clipped = np.ptp(np.nonzero(pixels(page).max(axis=2) > 30)[0])
    page.locator("body").click(position={"x": 5, "y": 5})
    page.keyboard.press("Home")
    wait_for_scene(page, "Math.abs(scene.camera.target[0] - 12.5) < 5")
    assert np.ptp(np.nonzero(pixels(page).max(axis=2) > 30)[0]) > 1.2 * clipped
    page.keyboard.press("a")
    wait_for_scene(page, "scene.volumes[0].clip === null && Math.abs(scene.camera.target[0] - 19.5) < 0.5")
    assert peak_signal(pixels(page), first) > 45
