"""The page of a viewer that shows nothing yet: files, recent files, a sample, a scan, a line of Python."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import pellucid
from pellucid import settings
from pellucid.instance.lifecycle.recent_files import RecentFileStore
from pellucid.volume.sample_volume import sample
from tests.web.browsing import Viewer, see, wait_for_scene
from tests.web.test_window_sizes import cut_off

SIZES = ((1440, 900), (1024, 700), (390, 844))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    (folder / "inside").mkdir()
    np.save(folder / "inside" / "rock.npy", sample(16))
    return folder


@pytest.fixture
def empty(browser: Browser, files: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Page, Viewer]]:
    monkeypatch.chdir(files)
    with settings.use(settings.load()):  # Those of the viewer, whatever was loaded here before.
        yield from started(browser, files)


def started(browser: Browser, files: Path) -> Iterator[tuple[Page, Viewer]]:
    store = RecentFileStore()
    store.clear()
    store.add(str(files / "inside" / "rock.npy"))
    store.set_image(str(files / "inside" / "rock.npy"), np.full((90, 160, 3), (200, 120, 40), np.uint8))
    store.set_folder(str(files / "inside"))
    viewer = Viewer(None)
    viewer.start()
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(viewer.url)
    see(page, "Nothing is open.")
    yield page, viewer
    context.close()
    viewer.kill()


def test_everything_can_be_started_from_the_first_page(empty: tuple[Page, Viewer]) -> None:
    page, viewer = empty
    browser = page.get_by_role("complementary", name="Files")
    # The folder that was browsed last, by this or another viewer.
    expect(browser.get_by_role("navigation", name="Folder")).to_contain_text("inside")
    recent = page.get_by_role("region", name="Recent files")
    expect(recent.get_by_role("button", name="rock.npy").locator("img")).to_be_visible()
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        assert cut_off(page) == []
        for part in (browser, recent, page.get_by_text("Send from Python"), page.get_by_role("button", name="Copy")):
            part.scroll_into_view_if_needed()
            place = part.bounding_box()
            assert place is not None and place["x"] >= 0 and place["x"] + place["width"] <= width
    page.get_by_role("button", name="Reconstruct a scan").click()
    expect(browser).to_contain_text("Choose a scan")
    browser.locator(".file", has_text="rock.npy").click()
    page.get_by_role("button", name="Close reconstruction").click()
    line = page.locator(".start-code").inner_text()
    array = sample(12)
    exec(line, {"array": array, "pellucid": pellucid})
    wait_for_scene(page, "scene.volumes[0]?.source.startsWith('memory:')")
    assert np.array_equal(pellucid.connect(viewer.address).retrieve_volume(), array)


def test_the_sample_and_a_recent_file_open_with_a_click(empty: tuple[Page, Viewer]) -> None:
    page, _ = empty
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.get_by_role("button", name="rock.npy").first.click()
        wait_for_scene(page, "scene.volumes[0]?.source.endsWith('rock.npy')")
        expect(page.get_by_text("Nothing is open.")).to_have_count(0)
        expect(page.get_by_role("heading", name="rock.npy")).to_be_visible()
        page.keyboard.press("Control+z")
        see(page, "Nothing is open.")
