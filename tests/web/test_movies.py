"""Movies by key frames, edited on the page: the list, its file, the preview in the live view, the movie."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pellucid.rendering.camera_path import CameraPath
from tests.web.browsing import Viewer, drag, opened_alone, scene, wait_for_rest, wait_for_scene

PANEL = "section[aria-label='Key frames of a movie']"


def seconds(page: Page) -> list[str]:
    return [field.input_value() for field in page.locator(f"{PANEL} li input").all()]


def open_timeline(page: Page) -> None:
    page.keyboard.press("p")
    page.get_by_role("button", name="Key frames (MP4)").click()
    expect(page.locator(PANEL)).to_be_visible()


def add_two(page: Page) -> None:
    """The second with another camera and denser."""
    page.get_by_role("button", name="Add", exact=True).click()
    before = wait_for_rest(page)
    drag(page, 120, 0)
    wait_for_rest(page, before)
    page.get_by_role("button", name="Max", exact=True).click()
    page.get_by_role("button", name="Composite", exact=True).click()
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(f"{PANEL} li img")).to_have_count(2)


def test_key_frames_are_edited_saved_and_opened(page: Page, tmp_path: Path) -> None:
    open_timeline(page)
    add_two(page)
    assert seconds(page) == ["0 s", "2 s"]
    first, second = (one.get_attribute("src") for one in page.locator(f"{PANEL} li img").all())
    assert first != second
    page.get_by_label("Move the key frame earlier").click()
    swapped = [one.get_attribute("src") for one in page.locator(f"{PANEL} li img").all()]
    assert swapped == [second, first]
    page.get_by_label("Seconds of key frame 2").fill("1.5")
    page.get_by_label("Seconds of key frame 2").press("Enter")
    assert seconds(page) == ["0 s", "1.5 s"]
    with page.expect_download() as saved:
        page.get_by_label("Save the key frames as a file").click()
    text = Path(saved.value.path()).read_text()
    path = CameraPath.from_json(text)
    assert [key.at_s for key in path.keys] == [0.0, 1.5]
    assert path.keys[0].camera != path.keys[1].camera and path.keys[0].clip is not None
    page.get_by_label("Key frame 1", exact=True).click()
    page.get_by_label("Delete the key frame").click()
    assert seconds(page) == ["1.5 s"]
    (tmp_path / "keys.json").write_text(text)
    with page.expect_file_chooser() as chooser:
        page.get_by_label("Open a file of key frames").click()
    chooser.value.set_files(tmp_path / "keys.json")
    expect(page.locator(f"{PANEL} li img")).to_have_count(2)
    assert seconds(page) == ["0 s", "1.5 s"]
    (tmp_path / "keys.json").write_text(json.dumps({"version": 1, "keys": []}))
    with page.expect_file_chooser() as chooser:
        page.get_by_label("Open a file of key frames").click()
    chooser.value.set_files(tmp_path / "keys.json")
    expect(page.get_by_text("Use at least two key frames", exact=False)).to_be_visible()
    assert seconds(page) == ["0 s", "1.5 s"]


def test_a_preview_moves_the_view_and_puts_it_back(page: Page) -> None:
    open_timeline(page)
    add_two(page)
    page.get_by_label("Seconds of key frame 2").fill("1")
    page.get_by_label("Seconds of key frame 2").press("Enter")
    wait_for_rest(page)
    before = scene(page)["scene"]
    page.get_by_role("button", name="Preview", exact=True).click()
    page.wait_for_function(
        f"""() => /^0\\.[3-9] of 1\\.0 s/.test(document.querySelector("{PANEL} [role=timer]").textContent)""",
        polling=20,
    )
    moving = scene(page)["scene"]["camera"]
    expect(page.get_by_role("button", name="Preview", exact=True)).to_be_visible()
    position = before["camera"]["position"]
    wait_for_scene(page, "Math.hypot(...scene.camera.position.map((one, at) => one - given[at])) < 1e-6", position)
    assert moving["position"] != position
    after = scene(page)["scene"]
    assert after["volumes"] == before["volumes"] and after["planes"] == before["planes"]
    # A key frame that is chosen is shown.
    page.get_by_label("Key frame 1", exact=True).click()
    wait_for_scene(page, "scene.camera.position[0] !== given[0]", position)


def test_a_movie_is_made_and_can_be_stopped(page: Page) -> None:
    open_timeline(page)
    add_two(page)
    page.get_by_label("Seconds of key frame 2").fill("0.5")
    page.get_by_label("Seconds of key frame 2").press("Enter")
    page.get_by_label("Frames per second").fill("4")
    page.get_by_label("Frames per second").press("Enter")
    page.get_by_role("button", name="Make movie").click()
    expect(page.get_by_text("Making a movie: done.")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save", exact=True).click()
    assert Path(saved.value.path()).read_bytes()[4:8] == b"ftyp"
    page.get_by_label("Seconds of key frame 2").fill("600")
    page.get_by_label("Seconds of key frame 2").press("Enter")
    page.get_by_role("button", name="Make movie").click()
    page.get_by_label("Stop: Making a movie").click()
    expect(page.get_by_label("Stop: Making a movie")).to_have_count(0)
    expect(page.get_by_text("Making a movie: done.")).to_have_count(0)


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 700), (390, 844)])
def test_the_panel_fits_every_window(browser: Browser, viewer: Viewer, width: int, height: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    opened_alone(page, viewer.url)
    page.keyboard.press("k")
    for _ in range(5):
        page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(f"{PANEL} li img")).to_have_count(5)
    wait_for_rest(page)
    for name in ("Add", "Replace", "Preview", "Make movie"):
        box = page.get_by_role("button", name=name, exact=True).bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height
    for name in ("Close the key frames", "Save the key frames as a file"):
        box = page.get_by_label(name).bounding_box()
        assert box is not None and box["x"] + box["width"] <= width
    panel, view = page.locator(PANEL).bounding_box(), page.locator("canvas[data-view=main]").bounding_box()
    assert panel is not None and view is not None
    assert view["y"] + view["height"] <= panel["y"] + 1 and view["height"] > 250
    context.close()
