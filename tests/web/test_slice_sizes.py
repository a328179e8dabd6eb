"""Slices at three sizes of the window: layouts, an enlarged one and its tools, an oblique one, measures.

Not here: each of these in depth (test_slices).
"""

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.waiting import wait_until
from tests.web.browsing import Viewer, opened_alone, show_slices, wait_for_scene
from tests.web.conftest import EDGE
from tests.web.test_slices import VOXELS, across, box_of, image, is_exact, middle_of

SIZES = [(1440, 900), (1024, 700), (390, 844)]


@pytest.fixture(params=SIZES, ids=["wide", "small", "phone"])
def sized(browser: Browser, viewer: Viewer, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of one of the sizes with slices through the middle; the scene is put back."""
    context = browser.new_context(viewport=ViewportSize(width=request.param[0], height=request.param[1]))
    page = context.new_page()
    opened_alone(page, viewer.url)
    show_slices(page, is_shown=False)
    show_slices(page)
    wait_until(lambda: is_exact(page, "z"))
    yield page
    context.close()


def drag_on(page: Page, key: str, start: tuple[float, float], across: float) -> None:
    """To the right or left, with a key held."""
    page.mouse.move(*start)
    page.keyboard.down(key)
    page.mouse.down()
    page.mouse.move(start[0] + across, start[1], steps=3)
    page.mouse.up()
    page.keyboard.up(key)


def value_at(page: Page, place: tuple[float, float]) -> str:
    page.mouse.move(*place)
    value = page.locator(".slice-value")
    expect(value).to_be_in_viewport(ratio=1)
    return value.inner_text()


def test_a_slice_is_zoomed_panned_windowed_and_thickened_at_every_size(sized: Page) -> None:
    page = sized
    page.get_by_role("button", name="Enlarge the slice across y").click()
    panel = across(page, "y")
    expect(page.get_by_role("slider", name="Slice across")).to_have_count(1)
    wait_until(lambda: is_exact(page, "y"))
    thin, (x, y) = image(page, "y"), middle_of(panel)
    before = value_at(page, (x + 1, y + 1))
    page.keyboard.press("+")
    drag_on(page, "Shift", (x + 1, y + 1), 60)
    wait_until(lambda: is_exact(page, "y") and not np.array_equal(image(page, "y"), thin))
    wait_until(lambda: value_at(page, (x + 61, y + 1)) == before)  # What was in the middle has moved with the hand.
    page.keyboard.press("0")
    drag_on(page, "Control", (x, y), 40)
    wait_for_scene(page, "scene.volumes[0].slice_options[1].window !== null")
    page.keyboard.press("Control+z")
    wait_for_scene(page, "scene.volumes[0].slice_options[1].window === null")
    page.get_by_role("button", name="Display of the slice across y").click()
    controls = page.get_by_role("dialog", name="Display of slices across y")
    thickness = controls.get_by_label("Thickness (slices), number")
    expect(thickness).to_be_in_viewport(ratio=1)
    thickness.fill("9")
    page.keyboard.press("Enter")
    controls.get_by_role("button", name="Max", exact=True).click()
    wait_for_scene(page, "scene.volumes[0].slice_options[1].projection === 'max'")
    wait_until(lambda: is_exact(page, "y") and image(page, "y").mean() > thin.mean() + 10)
    for _ in range(2):
        page.keyboard.press("Control+z")
    wait_for_scene(page, "scene.volumes[0].slice_options[1].thickness === 1")


def test_a_slice_is_cut_at_an_angle_and_measured_at_every_size(sized: Page) -> None:
    page = sized
    page.keyboard.press("3")
    page.get_by_role("button", name="Oblique slice", exact=True).click()
    wait_for_scene(page, "scene.slices.length === 1")
    wait_until(lambda: page.locator(".slice.is-oblique canvas").count() == 1 and is_exact(page, "oblique"))
    first = image(page, "oblique")
    expect(across(page, "oblique")).to_be_in_viewport(ratio=1)
    page.get_by_role("slider", name="Tilt of the oblique plane").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    wait_until(lambda: is_exact(page, "oblique") and not np.array_equal(image(page, "oblique"), first))
    page.get_by_role("button", name="Close the oblique slice").click()
    wait_for_scene(page, "scene.slices.length === 0")
    page.keyboard.press("m")
    wait_until(lambda: is_exact(page, "z"))
    x, y = middle_of(across(page, "z"))
    page.mouse.click(x - 20, y - 30)
    expect(across(page, "z").locator(".slice-overlay .is-begun circle")).to_have_count(1)
    page.mouse.click(x + 20, y - 30)
    wait_for_scene(page, "scene.measures.length === 1")
    if page.get_by_label("Rendering settings").count() == 0:
        page.get_by_role("button", name="Panel", exact=True).click()
    profile = page.get_by_label("Values along the line")
    profile.scroll_into_view_if_needed()
    expect(profile).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Remove measure 1").click()
    wait_for_scene(page, "scene.measures.length === 0")
    page.keyboard.press("Escape")
    page.keyboard.press("2")


@pytest.mark.parametrize("size", SIZES)
def test_every_layout_shows_what_it_says_at_every_size(browser: Browser, viewer: Viewer, size: tuple[int, int]) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = context.new_page()
    opened_alone(page, viewer.url)
    if size[0] < 760:
        expect(page.get_by_label("Rendering settings")).to_have_count(0)
    areas = {}
    for key, name in (("2", "side"), ("3", "four"), ("4", "slices")):
        page.keyboard.press(key)
        expect(page.locator(f".stage.is-{name}")).to_have_count(1)
        expect(page.get_by_role("slider", name="Slice across")).to_have_count(3)
        wait_until(lambda: all(is_exact(page, axis) for axis in "zyx"))
        panels = [box_of(across(page, axis)) for axis in "zyx"]
        for one in panels:
            assert one["x"] >= 0 and one["x"] + one["width"] <= size[0] and one["y"] + one["height"] <= size[1]
        areas[name] = [one["width"] * one["height"] for one in panels]
    assert areas["four"][0] > areas["side"][0] and sum(areas["slices"]) > sum(areas["four"])
    page.keyboard.press("3")
    expect(page.locator(".stage.is-four")).to_have_count(1)
    views = box_of(page.locator(".views"))
    tile = box_of(across(page, "z"))
    assert views["width"] == pytest.approx(tile["width"], rel=0.02)
    assert views["height"] == pytest.approx(tile["height"], rel=0.02)
    page.keyboard.press("1")
    expect(page.get_by_role("slider", name="Slice across")).to_have_count(0)
    context.close()


@pytest.mark.parametrize("size", SIZES)
def test_a_slice_that_fills_the_page_has_its_tools_at_every_size(
    browser: Browser, viewer: Viewer, size: tuple[int, int]
) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = context.new_page()
    opened_alone(page, viewer.url)
    show_slices(page, is_shown=False)
    show_slices(page)
    page.get_by_role("button", name="Enlarge the slice across z").click()
    panel = across(page, "z")
    expect(page.get_by_role("slider", name="Slice across")).to_have_count(1)
    wait_until(lambda: box_of(panel)["width"] > 0.4 * size[0] and is_exact(page, "z"))
    for tool in (".slice-scale", ".slice-letters .is-right", ".slice-letters .is-top"):
        expect(page.locator(tool)).to_be_in_viewport(ratio=1)
    index = int(panel.get_attribute("aria-valuenow") or 0)
    x, y = middle_of(panel)
    page.mouse.move(x + 1, y + 1)
    expect(page.locator(".slice-value")).to_have_text(str(VOXELS[index, EDGE // 2, EDGE // 2]))
    expect(page.locator(".slice-value")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Display of the slice across z").click()
    controls = page.get_by_role("dialog", name="Display of slices across z")
    for name in ("Auto", "1–99 %", "Min–max", "Colours"):
        expect(controls.get_by_role("button", name=name, exact=True)).to_be_in_viewport(ratio=1)
    controls.get_by_role("button", name="1–99 %").click()
    low, high = (float(value) for value in np.percentile(VOXELS[index], (1, 99)))
    claim = "JSON.stringify(scene.volumes[0].slice_options[0].window) === JSON.stringify(given)"
    wait_for_scene(page, claim, [low, high])
    controls.get_by_role("button", name="Auto").click()
    wait_for_scene(page, claim, None)
    page.keyboard.press("Escape")
    panel.focus()
    page.keyboard.press("ArrowUp")
    expect(panel).to_have_attribute("aria-valuenow", str(index + 1))
    page.keyboard.press("ArrowDown")
    context.close()
