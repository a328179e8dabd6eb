"""Opening one thing after another: what is shown, and what is said of it, go together."""

from collections.abc import Iterator

import h5py
import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import pellucid as pl
from pellucid.volume.sample_volume import sample
from tests.waiting import wait_until
from tests.web.browsing import (
    CANVAS,
    Viewer,
    drag,
    drawn,
    peak_signal,
    pixels,
    scene,
    wait_for_scene,
)
from tests.web.test_touch import drop

EDGE = 24


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("opening")
    np.save(folder / "first.npy", sample(EDGE))
    np.save(folder / "second.npy", sample(EDGE)[:, :, :12] // 2)
    sample(EDGE).astype(">u2").tofile(folder / "ball.raw")
    (folder / "inner").mkdir()
    np.save(folder / "inner" / "third.npy", sample(EDGE)[:4])
    np.save(folder / "nothing.npy", np.full((4, 4, 4), np.nan, np.float32))
    np.save(folder / "image.npy", sample(EDGE)[0].astype(np.float32))
    with h5py.File(folder / "scan.h5", "w") as file:
        file["raw"], file["other"] = sample(EDGE), sample(EDGE)[:8]
    started = Viewer(folder / "first.npy")
    started.start("--root", str(folder))
    yield started
    started.kill()


def open_file(page: Page, name: str) -> Locator:
    """Click on a file in the drawer; the drawer."""
    page.keyboard.press("o")
    drawer = page.get_by_role("complementary", name="Files")
    drawer.locator(".file", has_text=name).click()
    return drawer


def title(page: Page) -> str:
    return page.locator(".title").inner_text()


def histogram(page: Page) -> str:
    return page.locator("svg.curve path.histogram").first.get_attribute("d") or ""


def test_undo_brings_back_what_is_said_of_a_file_with_its_voxels(page: Page) -> None:
    open_file(page, "first.npy")
    wait_for_scene(page, "scene.volumes[0].source.endsWith('first.npy')")
    drag(page, 90, 20)
    # On a busy machine there are exact images between two moves of the mouse.
    wait_until(lambda: peak_signal(pixels(page), drawn(page)) > 45)
    before = title(page), histogram(page), page.locator(".scale-bar").inner_text(), pixels(page)
    open_file(page, "second.npy")
    wait_for_scene(page, "scene.volumes[0].source.endsWith('second.npy')")
    assert "12 × 24 × 24" in title(page) and histogram(page) != before[1]
    page.keyboard.press("Control+z")
    wait_for_scene(page, "scene.volumes[0].source.endsWith('first.npy')")
    assert (title(page), histogram(page), page.locator(".scale-bar").inner_text()) == before[:3]
    assert peak_signal(pixels(page), before[3]) > 45
    expect(page.locator(".status")).to_contain_text("exact")


def test_two_scenes_stay_side_by_side_when_a_file_is_opened(page: Page) -> None:
    open_file(page, "first.npy")
    wait_for_scene(page, "scene.volumes[0].source.endsWith('first.npy')")
    page.keyboard.press("b")
    other = page.locator('canvas[data-view="other"]')
    expect(other).to_have_attribute("data-is-exact", "true")
    open_file(page, "second.npy")
    wait_for_scene(page, "scene.volumes[0].source.endsWith('second.npy')")
    expect(other).to_have_attribute("data-is-exact", "true")
    assert scene(page)["other"]["volumes"][0]["source"].endswith("first.npy")
    layers = page.locator(".layer-name")
    expect(layers).to_have_text("second.npy")
    assert "12 × 24 × 24" in title(page)
    page.get_by_role("button", name="Before").click()
    expect(layers).to_have_text("first.npy")
    page.get_by_role("button", name="Now", exact=True).click()
    page.keyboard.press("b")
    expect(other).to_have_count(0)


def test_a_page_that_is_opened_while_two_scenes_are_side_by_side_says_what_they_are(page: Page) -> None:
    open_file(page, "first.npy")
    wait_for_scene(page, "scene.volumes[0].source.endsWith('first.npy')")
    before = title(page), histogram(page)
    page.keyboard.press("b")
    other = page.locator('canvas[data-view="other"]')
    expect(other).to_have_attribute("data-is-exact", "true")
    page.reload()
    expect(other).to_have_attribute("data-is-exact", "true")
    expect(page.locator(".layer-name")).to_have_text("first.npy")
    expect(page.get_by_role("button", name="Slices", exact=True)).to_be_enabled()
    assert (title(page), histogram(page)) == before
    page.keyboard.press("b")
    expect(other).to_have_count(0)


def test_the_browser_opens_where_the_file_of_a_dataset_is(page: Page) -> None:
    drawer = open_file(page, "scan.h5")
    drawer.get_by_label("Dataset").select_option("/raw")
    drawer.get_by_role("button", name="Open", exact=True).click()
    wait_for_scene(page, "scene.volumes[0].source.endsWith('scan.h5:/raw')")
    page.keyboard.press("o")
    expect(drawer.locator(".file", has_text="scan.h5")).to_be_visible()
    expect(drawer.locator(".is-bad")).to_have_count(0)


def test_a_raw_file_is_opened_when_its_shape_and_type_are_said(page: Page) -> None:
    drawer = open_file(page, "ball.raw")
    form = drawer.get_by_role("group", name="Shape and type")
    expect(form.get_by_label("Voxels along z")).to_have_value(str(EDGE))
    expect(form.get_by_label("Type")).to_have_value("uint16")
    form.get_by_label("Voxels along z").fill("25")
    page.keyboard.press("Enter")
    expect(form.locator(".is-bad")).to_contain_text("This needs")
    expect(drawer.get_by_role("button", name="Open", exact=True)).to_be_disabled()
    form.get_by_label("Voxels along z").fill(str(EDGE))
    page.keyboard.press("Enter")
    form.get_by_label("Byte order").select_option("be")
    drawer.get_by_role("button", name="Open", exact=True).click()
    wait_for_scene(page, "scene.volumes[0].source.includes('ball.raw')")
    assert scene(page)["layers"][0]["histogram"]["high"] == sample(EDGE).max()
    assert peak_signal(pixels(page), drawn(page)) > 45


def test_a_raw_file_that_is_dropped_asks_for_its_shape(page: Page) -> None:
    drop(page, "dropped.raw", sample(16)[:, :, :8].astype("<u2").tobytes())
    drawer = page.get_by_role("complementary", name="Files")
    for axis, length in zip("zyx", (16, 16, 8), strict=True):
        drawer.get_by_label(f"Voxels along {axis}").fill(str(length))
        page.keyboard.press("Enter")
    drawer.get_by_role("group", name="Shape and type").get_by_label("Type").select_option("uint16")
    drawer.get_by_role("button", name="Open", exact=True).click()
    wait_for_scene(page, "scene.volumes[0].source.includes('dropped.raw')")
    expect(page.locator(".title")).to_contain_text("8 × 16 × 16")


def test_the_status_is_exact_after_a_stream(page: Page, viewer: Viewer) -> None:
    """Its last camera is another than its first: it sees what is in the volume, which lies in a corner."""
    given = np.zeros((48, 48, 48), np.uint16)
    given[:EDGE, :EDGE, :EDGE] = sample(EDGE)
    with pl.connect(viewer.url).stream(given.shape, given.dtype, name="corner") as stream:
        stream.append(given)
    expect(page).to_have_title("corner · Pellucid")
    expect(page.locator(".status")).to_contain_text("exact")


def test_a_double_click_opens_a_file_once_and_nothing_in_the_folder_that_it_enters(page: Page, viewer: Viewer) -> None:
    sent = list[str]()
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("api/load") else None)
    drawer = open_file(page, "first.npy")
    expect(drawer).to_have_count(0)
    page.keyboard.press("o")
    drawer.locator(".file", has_text="second.npy").dblclick()
    expect(drawer).to_have_count(0)
    wait_for_scene(page, "scene.volumes[0].source.endsWith('second.npy')")
    assert len(sent) == 2
    page.keyboard.press("Control+z")
    wait_for_scene(page, "scene.volumes[0].source.endsWith('first.npy')")
    page.keyboard.press("o")
    drawer.locator(".file.is-folder", has_text="inner").dblclick()
    expect(drawer.get_by_role("navigation", name="Folder")).to_contain_text("inner")
    expect(drawer.locator(".file", has_text="third.npy")).to_be_visible()
    assert len(sent) == 2 and scene(page)["scene"]["volumes"][0]["source"].endswith("first.npy")
    page.keyboard.press("Escape")


def test_a_volume_without_any_value_says_so(page: Page) -> None:
    drawer = open_file(page, "nothing.npy")
    expect(page.locator(".title")).to_contain_text("no finite values")
    expect(drawer).to_have_count(0)  # Until then, the key closes it.
    open_file(page, "first.npy")
    expect(page.get_by_role("heading", name="first.npy")).to_be_visible()
    assert "no finite values" not in title(page)


def test_a_single_image_is_not_taken_for_points(page: Page) -> None:
    open_file(page, "image.npy")
    alert = page.get_by_text("which is not a volume").first
    expect(alert).to_be_visible()
    assert "columns" not in page.locator("body").inner_text()


def test_title_and_image_change_together(page: Page) -> None:
    drawer = open_file(page, "first.npy")
    expect(drawer).to_have_count(0)  # Until then, the key closes it.
    wait_for_scene(page, "scene.volumes[0].source.endsWith('first.npy')")
    expect(page.get_by_role("heading", name="first.npy")).to_be_visible()
    before = page.evaluate(f"Number(document.querySelector('{CANVAS}').dataset.revision)")
    # What each frame of the browser shows: the callback runs before it is painted.
    page.evaluate(f"""() => {{ window.painted = []; const record = () => {{
        painted.push([document.querySelector(".title").textContent.includes("12 × 24 × 24"),
            Number(document.querySelector('{CANVAS}').dataset.revision) > {before}]);
        requestAnimationFrame(record); }}; record(); }}""")
    open_file(page, "second.npy")
    wait_for_scene(page, "scene.volumes[0].source.endsWith('second.npy')")
    expect(page.get_by_role("heading", name="second.npy")).to_be_visible()
    wait_until(lambda: page.evaluate("painted.at(-1)") == [True, True])
    assert {tuple(one) for one in page.evaluate("painted")} == {(False, False), (True, True)}
