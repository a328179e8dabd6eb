"""Files that the page needs help with, at three sizes of the window: raw files with a live slice, folders to upload.

Here: the slice that the form for raw files shows, uploading a folder.
Not here: what the form asks (test_opening), files that are dropped (test_touch).
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tifffile
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from pellucid.volume.sample_volume import sample
from tests.waiting import wait_until
from tests.web.browsing import Viewer, opened_alone, wait_for_scene

EDGE = 24
SIZES = ((1440, 900), (1024, 700), (390, 844))


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("local")
    np.save(folder / "first.npy", sample(EDGE))
    sample(EDGE).astype(">u2").tofile(folder / "ball.raw")
    started = Viewer(folder / "first.npy")
    started.start("--root", str(folder))
    yield started
    started.kill()


@pytest.fixture(params=SIZES, ids=["wide", "small", "phone"])
def files(browser: Browser, viewer: Viewer, request: pytest.FixtureRequest) -> Iterator[tuple[Page, Locator]]:
    """The page at one of the sizes, and its drawer of files."""
    context = browser.new_context(viewport=ViewportSize(width=request.param[0], height=request.param[1]))
    page = context.new_page()
    opened_alone(page, viewer.url)
    page.keyboard.press("o")
    yield page, page.get_by_role("complementary", name="Files")
    context.close()


def is_in_sight(page: Page, part: Locator) -> bool:
    part.scroll_into_view_if_needed()
    place, size = part.bounding_box(), page.viewport_size
    assert place is not None and size is not None
    return place["x"] >= 0 and place["x"] + place["width"] <= size["width"]


def test_a_raw_file_shows_a_slice_that_follows_its_shape_and_type(files: tuple[Page, Locator]) -> None:
    page, drawer = files
    drawer.locator(".file", has_text="ball.raw").click()
    image = drawer.get_by_role("img", name="The middle slice across z")
    expect(image).to_be_visible()

    def brightness() -> list[float]:
        """Mean and spread of the slice as the page has it."""
        script = """(image) => { const canvas = document.createElement("canvas");
            canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
            const context = canvas.getContext("2d"); context.drawImage(image, 0, 0);
            const grey = context.getImageData(0, 0, canvas.width, canvas.height).data.filter((_, at) => at % 4 === 0);
            return [canvas.width, grey.reduce((sum, one) => sum + one, 0) / grey.length]; }"""
        measured: list[float] = image.evaluate(script)
        return measured

    wait_until(lambda: image.evaluate("(image) => image.naturalWidth") == EDGE)
    wrong = brightness()
    drawer.get_by_label("Byte order").select_option("be")
    wait_until(lambda: abs(brightness()[1] - wrong[1]) > 5)
    drawer.get_by_label("Voxels along x").fill(str(EDGE // 2))
    page.keyboard.press("Enter")
    wait_until(lambda: brightness()[0] == EDGE // 2)
    assert is_in_sight(page, image)
    drawer.get_by_label("Voxels along z").fill("9999")
    page.keyboard.press("Enter")
    expect(image).to_have_count(0)
    page.keyboard.press("Escape")


def test_a_folder_of_slices_is_uploaded_and_opens_as_a_stack(files: tuple[Page, Locator], tmp_path: Path) -> None:
    page, drawer = files
    stack = tmp_path / "my stack"
    stack.mkdir()
    for number in range(5):
        tifffile.imwrite(stack / f"slice {number}.tif", sample(EDGE)[number, :16])
    button = drawer.get_by_role("button", name="Folder", exact=True)
    assert is_in_sight(page, button)
    with page.expect_file_chooser() as chooser:
        button.click()
    chooser.value.set_files(stack)
    wait_for_scene(page, "scene.volumes[0].source.endsWith('my_stack')")
    expect(page.locator(".title")).to_contain_text(f"{EDGE} × 16 × 5")
    expect(drawer).to_have_count(0)


def test_a_folder_that_is_no_volume_is_listed(files: tuple[Page, Locator], tmp_path: Path) -> None:
    page, drawer = files
    (tmp_path / "mixed" / "inner").mkdir(parents=True)
    np.save(tmp_path / "mixed" / "one.npy", sample(8))
    np.save(tmp_path / "mixed" / "inner" / "two.npy", sample(8))
    with page.expect_file_chooser() as chooser:
        drawer.get_by_role("button", name="Folder", exact=True).click()
    chooser.value.set_files(tmp_path / "mixed")
    expect(drawer.locator(".file.is-folder", has_text="inner")).to_be_visible()
    drawer.locator(".file", has_text="one.npy").click()
    wait_for_scene(page, "scene.volumes[0].source.endsWith('one.npy')")
