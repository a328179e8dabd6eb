"""What makes the page usable all day, at three sizes of the window: names and tooltips on all controls, keys for
handles, panes that do not cover what they change."""

from collections.abc import Iterator
from typing import cast

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from pellucid.formats.protocol import Voxels
from tests.waiting import wait_until
from tests.web.browsing import Viewer, opened_alone, pixels, scene, wait_for_rest, wait_for_scene

SIZES = ((1440, 900), (1024, 700), (390, 844))
CONTROLS = """() => [...document.querySelectorAll("button, input, select, textarea, [role=slider], [role=button]")]
    .filter((one) => one.checkVisibility() && one.type !== "file")"""
NAMELESS = f"""{CONTROLS}.filter((one) => !one.ariaLabel && !one.textContent.trim() && !one.labels?.length)
    .map((one) => one.outerHTML.slice(0, 90))"""
WITHOUT_TOOLTIP = f"""{CONTROLS}.filter((one) => !one.closest("[title]") && !one.querySelector("title"))
    .map((one) => one.outerHTML.slice(0, 90))"""
OUTSIDE = f"""{CONTROLS}
    .filter((one) => one.getBoundingClientRect().left < -1 || one.getBoundingClientRect().right > innerWidth + 1)
    .map((one) => one.outerHTML.slice(0, 90))"""


@pytest.fixture(params=SIZES, ids=["wide", "small", "phone"])
def everyday(browser: Browser, viewer: Viewer, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page at one of the sizes, with the controls."""
    width, height = cast(tuple[int, int], request.param)
    context = browser.new_context(viewport=ViewportSize(width=width, height=height))
    page = context.new_page()
    opened_alone(page, viewer.url)
    yield page
    context.close()


def faults_of_controls(page: Page) -> list[str]:
    return [fault for script in (NAMELESS, WITHOUT_TOOLTIP, OUTSIDE) for fault in page.evaluate(script)]


def test_every_control_has_a_name_and_a_tooltip_and_is_in_sight(everyday: Page) -> None:
    page = everyday
    if page.get_by_label("Rendering settings").count() == 0:
        page.get_by_role("button", name="Panel").click()
    page.evaluate("document.querySelectorAll('.panel [aria-expanded=false]').forEach((one) => one.click())")
    page.evaluate("document.querySelectorAll('.panel details').forEach((one) => (one.open = true))")
    page.keyboard.press("3")
    page.keyboard.press("c")
    expect(page.get_by_role("slider", name="Upper end of the clipping box along x")).to_be_visible()
    assert faults_of_controls(page) == []
    page.keyboard.press("1")
    for key in ("o", "p", "?"):
        page.keyboard.press(key)
        expect(page.locator(".drawer, dialog")).to_have_count(1)
        assert faults_of_controls(page) == []
        page.keyboard.press("Escape")
        expect(page.locator(".drawer, dialog")).to_have_count(0)
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_text("opens on this computer only")).to_be_visible()
    assert faults_of_controls(page) == []
    page.keyboard.press("Escape")


def test_a_pane_of_a_slice_leaves_the_slice_in_sight_and_closes_with_escape(everyday: Page) -> None:
    page = everyday
    page.keyboard.press("3")
    page.get_by_role("button", name="Display of the slice across z").click()
    pane = page.get_by_role("dialog", name="Display of slices across z")
    place, slice = pane.bounding_box(), page.get_by_role("slider", name="Slice across z").bounding_box()
    assert place is not None and slice is not None
    size = page.viewport_size
    assert size is not None and place["x"] >= 0 and place["x"] + place["width"] <= size["width"]
    is_beside = place["x"] + place["width"] <= slice["x"] + 1 or place["y"] >= slice["y"] + slice["height"] - 1
    assert is_beside
    page.keyboard.press("Escape")
    expect(pane).to_have_count(0)
    expect(page.locator(".stage.is-four")).to_have_count(1)
    page.keyboard.press("1")


def test_faces_of_the_clipping_box_follow_arrow_keys_and_are_always_in_sight(page: Page) -> None:
    page.keyboard.press("c")
    handle = page.get_by_role("slider", name="Upper end of the clipping box along z")
    expect(page.get_by_role("textbox", name="Clip z to")).to_be_visible()  # The section has opened.
    handle.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    wait_for_scene(page, "scene.volumes[0].clip?.stop[0] === 30")
    expect(handle).to_have_attribute("aria-valuenow", "30")
    page.locator("canvas[data-view=main]").focus()
    for _ in range(8):
        page.keyboard.press("+")  # The box is larger than the image now.
    wait_for_rest(page)
    places = [one.bounding_box() for one in page.locator(".clip .handle").all()]
    frame = page.locator(".views").bounding_box()
    assert frame is not None and len(places) == 6
    for place in places:
        assert place is not None and place["x"] >= frame["x"] and place["y"] >= frame["y"]
        assert place["x"] + place["width"] <= frame["x"] + frame["width"]
        assert place["y"] + place["height"] <= frame["y"] + frame["height"]
    page.keyboard.press("c")
    page.get_by_role("button", name="Reset", exact=True).click()
    page.keyboard.press("Home")


def is_framed(image: Voxels) -> bool:
    """Whether something is in the image, and nothing is cut off at its left and right."""
    shown = image.max(axis=2) > 60
    return bool(shown.any() and not shown[:, 0].any() and not shown[:, -1].any())


def test_both_scenes_that_are_compared_are_framed(page: Page) -> None:
    page.keyboard.press("a")
    wait_for_rest(page)
    before = scene(page)["scene"]["camera"]["position"]
    page.keyboard.press("b")
    wait_for_scene(page, "scene.camera.position.join() !== given.join()", before)
    # An exact image of the camera as it was may be painted until the first one of the new camera comes.
    wait_until(lambda: is_framed(pixels(page)))
    page.keyboard.press("b")
    wait_for_scene(page, "scene.camera.position.join() === given.join()", before)


def test_the_text_of_a_new_note_is_typed_at_once(page: Page) -> None:
    page.keyboard.press("3")
    page.keyboard.press("m")
    page.get_by_role("button", name="Note", exact=True).click()
    place = page.get_by_role("slider", name="Slice across z").bounding_box()
    assert place is not None
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    expect(page.get_by_role("textbox", name="Text of note 1")).to_be_focused()
    page.keyboard.type("a crack")
    page.keyboard.press("Enter")
    wait_for_scene(page, "scene.measures[0]?.text === 'a crack'")
    page.get_by_role("button", name="Remove measure 1").click()
    page.keyboard.press("Escape")
    page.keyboard.press("1")


@pytest.mark.parametrize("size", SIZES)
def test_a_refusal_is_a_styled_page(browser: Browser, viewer: Viewer, size: tuple[int, int]) -> None:
    context = browser.new_context(viewport=ViewportSize(width=size[0], height=size[1]))
    page = context.new_page()
    page.goto(f"{viewer.address}api/nothing")
    heading = page.get_by_role("heading", name="/api/nothing does not exist.")
    expect(heading).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(8, 9, 11)"
    place = heading.bounding_box()
    assert place is not None and place["x"] >= 0 and place["x"] + place["width"] <= size[0]
    context.close()
