"""How the slice is looked at, and which part of the volume is made: window, zoom, values, rows and crop."""

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from pellucid.volume.volume import open_volume
from tests.waiting import TIMEOUT_MS
from tests.web.browsing import Viewer, opened_alone
from tests.web.reconstruction.workbench import COLUMNS, ROWS, choose_scan, exact, fill, settled
from tests.web.test_window_sizes import cut_off

SIZES = ((1440, 900), (1024, 700), (390, 844))


def over_slice(page: Page, across: float, down: float) -> tuple[float, float]:
    box = page.get_by_role("slider", name="Zoom of the slice").bounding_box()
    assert box is not None
    return box["x"] + across * box["width"], box["y"] + down * box["height"]


def value_at(page: Page, across: float, down: float) -> tuple[int, int, float]:
    """Voxel and value under the mouse."""
    page.mouse.move(*over_slice(page, across, down))
    text = page.get_by_label("Value under the cursor").inner_text()
    found = re.fullmatch(r"x (\d+), y (\d+): (\S+) 1/pixel", text)
    assert found is not None, text
    return int(found[1]), int(found[2]), float(found[3].replace("−", "-"))


def grey_range(page: Page) -> tuple[float, float]:
    shown = page.locator('canvas[data-place="slice"]')
    low, high = (float(shown.get_attribute(f"data-{end}") or 0) for end in ("low", "high"))
    return low, high


def test_the_grey_window_and_values_under_the_cursor(workbench: Page) -> None:
    automatic = exact(workbench, "slice")
    window = workbench.get_by_role("group", name="Grey window")
    auto = grey_range(workbench)
    window.get_by_role("button", name="Min–max").click()
    dim = exact(workbench, "slice", f"Number(shown.high) > {auto[1]}")
    whole = grey_range(workbench)
    assert whole[0] < auto[0] and whole[1] > auto[1] and dim.std() < automatic.std()
    row, column = divmod(int(np.argmax(dim)), dim.shape[1])
    x, y, value = value_at(workbench, (column + 0.5) / COLUMNS, (row + 0.5) / COLUMNS)
    assert (x, y) == (column, row) and value == pytest.approx(whole[1], rel=0.01)
    fill(workbench, "Black", str(value / 2))
    dark = exact(workbench, "slice", f"Number(shown.low) > {value / 3}")
    assert dark[row, column] > 250 and np.median(dark) == 0
    window.get_by_role("button", name="Auto").click()
    np.testing.assert_array_equal(exact(workbench, "slice", f"Number(shown.high) === {auto[1]}"), automatic)


def test_zoom_and_pan_with_the_wheel_the_mouse_and_keys(workbench: Page) -> None:
    exact(workbench, "slice")
    zoom = workbench.get_by_role("slider", name="Zoom of the slice")
    before = value_at(workbench, 0.6, 0.4)[:2]
    workbench.mouse.wheel(0, -800)
    expect(zoom).not_to_have_attribute("aria-valuenow", "100")
    exact(workbench, "slice")
    near = value_at(workbench, 0.6, 0.4)[:2]
    assert np.abs(np.subtract(near, before)).max() <= 1  # It stays under the cursor.
    workbench.get_by_role("button", name="Pan", exact=True).click()
    workbench.mouse.move(*over_slice(workbench, 0.6, 0.4))
    workbench.mouse.down()
    workbench.mouse.move(*over_slice(workbench, 0.3, 0.4), steps=3)
    workbench.mouse.up()
    assert value_at(workbench, 0.3, 0.4)[:2] == pytest.approx(near, abs=1)
    zoom.focus()
    workbench.keyboard.press("0")
    expect(zoom).to_have_attribute("aria-valuenow", "100")
    workbench.keyboard.press("+")
    workbench.keyboard.press("ArrowRight")
    expect(zoom).to_have_attribute("aria-valuenow", "150")
    assert value_at(workbench, 0.01, 0.5)[0] == pytest.approx((0.5 / 3 + 0.1 / 1.5) * COLUMNS, abs=2)
    workbench.get_by_role("button", name="150 %").click()
    expect(zoom).to_have_attribute("aria-valuenow", "100")


def test_rows_and_a_crop_are_drawn_typed_and_made(workbench: Page, scan: Path) -> None:
    line = workbench.get_by_role("slider", name="First row")
    line.focus()
    for _ in range(3):
        workbench.keyboard.press("ArrowDown")
    expect(workbench.get_by_label("Rows, first")).to_have_value("3")
    fill(workbench, "Rows, last", "8")
    workbench.get_by_role("button", name="Draw crop").click()
    workbench.mouse.move(*over_slice(workbench, 0.75, 0.25))
    workbench.mouse.down()
    workbench.mouse.move(*over_slice(workbench, 0.25, 0.5), steps=3)
    workbench.mouse.up()
    expect(workbench.get_by_label("Crop x, first")).to_have_value(str(COLUMNS // 4))
    expect(workbench.get_by_label("Crop y, last")).to_have_value(str(COLUMNS // 2 - 1))
    fill(workbench, "Crop x, last", "49")
    expect(workbench.get_by_text("26 × 24 × 6 voxels (x, y, z)")).to_be_visible()
    workbench.get_by_label("Output", exact=True).fill(str(target := scan.with_name("part.zarr")))
    workbench.keyboard.press("Enter")
    workbench.get_by_role("button", name="Reproduce").click()
    expect(workbench.locator("[data-command]")).to_contain_text("--rows 3:9 --crop 24:48,24:50")
    workbench.get_by_role("button", name="Reconstruct all slices").click()
    expect(workbench.get_by_role("button", name="Open volume")).to_be_visible(timeout=TIMEOUT_MS)
    with open_volume(target) as volume:
        assert volume.shape == (6, 24, 26)
    workbench.get_by_role("button", name="Whole volume").click()
    expect(workbench.get_by_label("Rows, last")).to_have_value(str(ROWS - 1))


def test_nothing_is_off_screen_and_every_control_says_what_it_does(workbench: Page) -> None:
    size = workbench.viewport_size
    assert size is not None
    untitled = """() => [...document.querySelectorAll(".workbench :is(button, input, select, [role=slider])")]
        .filter((one) => one.checkVisibility() && !one.closest("[title]")).map((one) => one.outerHTML.slice(0, 90))"""
    for width, height in SIZES:
        workbench.set_viewport_size({"width": width, "height": height})
        assert cut_off(workbench) == []
        assert workbench.evaluate("document.querySelector('.workbench').scrollWidth <= innerWidth")
        assert workbench.evaluate(untitled) == []
    workbench.set_viewport_size(size)


def close(page: Page) -> None:
    if page.get_by_role("region", name="Reconstruction").count():
        page.keyboard.press("Escape")
        expect(page.get_by_role("region", name="Reconstruction")).to_have_count(0)


@pytest.mark.parametrize("size", SIZES)
def test_it_opens_with_its_slice_in_sight_at_every_size(
    browser: Browser, viewer: Viewer, scan: Path, size: tuple[int, int]
) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = context.new_page()
    opened_alone(page, viewer.url)
    close(page)  # What the test before set up is shown again.
    choose_scan(page, scan.name)
    assert np.ptp(settled(page)) > 100
    assert cut_off(page) == []
    place = page.locator('canvas[data-place="slice"]').bounding_box()
    close(page)
    assert place is not None and min(place["width"], place["height"]) > 100
    assert place["x"] >= 0 and place["x"] + place["width"] <= size[0]
    assert place["y"] >= 0 and place["y"] + place["height"] <= size[1]
    context.close()
