"""What a person does on the page: turning, colours, shadings, slices, clipping, files, images."""

import io
import json
import re
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.waiting import wait_until
from tests.web.browsing import (
    Viewer,
    drag,
    drawn,
    middle_of,
    number,
    opened,
    peak_signal,
    pixels,
    scene,
    see,
    show_slices,
    solid_place,
    wait_for_fit,
    wait_for_rest,
    wait_for_scene,
)


def test_the_image_is_the_renderers_own(page: Page) -> None:
    assert peak_signal(pixels(page), drawn(page)) > 45


def test_what_is_under_the_cursor_is_told(page: Page) -> None:
    """The pointer moves on until it is: while the Worker draws, it may answer that nothing is there."""
    under, (x, y) = page.locator(".under"), solid_place(page)

    def is_told() -> bool:
        for away in (1, 0):
            page.mouse.move(x + away, y)
        return under.count() == 1 and "voxel" in under.inner_text()

    wait_until(is_told)


def test_a_drag_turns_and_rests_exactly(page: Page) -> None:
    wait_for_fit(page)
    before, shown = pixels(page), number(page)
    drag(page, 150, 40)
    wait_for_rest(page, after=shown)
    assert peak_signal(before, pixels(page)) < 35
    assert peak_signal(pixels(page), drawn(page)) > 45


@pytest.mark.parametrize("key", ["ArrowLeft", "Shift+ArrowUp", "+"])
def test_keys_do_what_the_mouse_does(page: Page, key: str) -> None:
    position, shown = scene(page)["scene"]["camera"]["position"], number(page)
    page.keyboard.press(key)
    wait_for_rest(page, after=shown)
    assert scene(page)["scene"]["camera"]["position"] != position
    page.keyboard.press("Home")


def test_a_double_click_turns_around_what_was_hit(page: Page) -> None:
    target = scene(page)["scene"]["camera"]["target"]
    page.mouse.dblclick(*solid_place(page))
    wait_for_scene(page, "String(scene.camera.target) !== String(given)", target)
    page.keyboard.press("Home")


def test_a_point_of_the_opacity_is_dragged_and_undone(page: Page) -> None:
    before = scene(page)["scene"]["volumes"][0]["transfer"]["opacities"]
    point = page.get_by_role("slider", name="Opacity point").last
    place = point.bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 5, place["y"] + 5)
    page.mouse.down()
    page.mouse.move(place["x"] + 5, place["y"] + 50, steps=4)
    page.mouse.up()
    wait_for_scene(page, "scene.volumes[0].transfer.opacities.at(-1)[1] < given - 0.2", before[-1][1])
    assert peak_signal(pixels(page), drawn(page)) > 45
    page.keyboard.press("Control+z")
    wait_for_scene(page, "scene.volumes[0].transfer.opacities.at(-1)[1] === given", before[-1][1])
    assert scene(page)["scene"]["volumes"][0]["transfer"]["opacities"] == before


def test_points_are_added_and_taken_away(page: Page) -> None:
    points = page.get_by_role("slider", name="Opacity point")
    count = points.count()
    place = page.locator("svg.curve").bounding_box()
    assert place is not None
    page.mouse.dblclick(place["x"] + place["width"] * 0.35, place["y"] + 12)
    expect(points).to_have_count(count + 1)
    points.nth(1).focus()
    page.keyboard.press("Delete")
    expect(points).to_have_count(count)


def test_colours_are_chosen_saved_and_read_again(page: Page) -> None:
    page.get_by_role("button", name="presets").click()
    page.get_by_role("button", name="viridis").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as a ParaView colour map").click()
    text = Path(saved.value.path()).read_text()
    assert json.loads(text)[0]["RGBPoints"][1:4] == pytest.approx([0.267, 0.005, 0.329], abs=0.01)
    page.get_by_role("button", name="gray").click()
    with page.expect_file_chooser() as request:
        page.get_by_role("button", name="Load a ParaView colour map").click()
    request.value.set_files({"name": "viridis.json", "mimeType": "application/json", "buffer": text.encode()})
    expect(page.get_by_role("button", name="viridis")).to_have_attribute("aria-pressed", "true")


def test_modes_and_shadings_are_switched(page: Page) -> None:
    for mode, name in (("Max", "max"), ("Isosurface", "isosurface"), ("Composite", "composite")):
        page.get_by_role("button", name=mode, exact=True).click()
        wait_for_scene(page, "scene.volumes[0].mode === given", name)
        assert peak_signal(pixels(page), drawn(page)) > 45
    page.get_by_label("Shading").select_option("none")
    wait_for_scene(page, "scene.volumes[0].shading === 'none'")


def test_a_shading_that_does_not_compile_says_where_and_one_that_does_is_used(page: Page) -> None:
    page.get_by_role("button", name="Custom shading").click()
    text = page.get_by_label("Source of the shading")
    text.fill("//@ gain = 1 in 0 .. 2\nreturn color * oops;\n")
    page.get_by_role("button", name="Compile and use").click()
    see(page, "Line 2 of the shading:")
    assert scene(page)["scene"]["volumes"][0]["shading"] != "user"
    text.fill("//@ gain = 0.5 in 0 .. 2\nreturn color * gain;\n")
    page.get_by_role("button", name="Compile and use").click()
    see(page, "Compiled.")
    slider = page.locator(".drawer").get_by_label("gain", exact=True)
    slider.focus()
    page.keyboard.press("End")
    wait_for_scene(page, "scene.volumes[0].parameters[0]?.[1] === 2")
    page.locator(".drawer").get_by_label("Close").click()
    page.get_by_label("Shading").select_option("gradient")


def test_slices_share_a_cross_hair(page: Page) -> None:
    show_slices(page, False)
    page.keyboard.press("s")
    slices = page.get_by_role("slider", name="Slice across")
    expect(slices).to_have_count(3)
    across_z = page.get_by_role("slider", name="Slice across z")
    place = across_z.bounding_box()
    assert place is not None
    page.wait_for_function("() => document.querySelector('.slice.is-z canvas').dataset.index !== undefined")
    edge = min(place["width"], place["height"]) * 0.94  # All of the slice, in the middle of its panel.
    page.mouse.click(place["x"] + place["width"] / 2 - edge * 0.24, place["y"] + place["height"] / 2 + edge * 0.26)
    expect(page.get_by_role("slider", name="Slice across x")).to_have_attribute("aria-valuenow", "8")
    expect(page.get_by_role("slider", name="Slice across y")).to_have_attribute("aria-valuenow", "24")
    page.keyboard.press("ArrowUp")
    expect(across_z).to_have_attribute("aria-valuenow", "17")
    page.keyboard.press("Escape")
    page.locator("canvas.view-canvas").first.focus()
    page.keyboard.press("s")
    expect(slices).to_have_count(0)


def test_a_face_of_the_box_is_dragged(page: Page) -> None:
    show_slices(page, False)  # Their planes have handles too.
    page.keyboard.press("c")
    handle = page.locator("circle.is-face.is-y").first  # The face at the back: dragged down, it comes nearer.
    handle.hover()  # Once it stays where it is, and nothing is over it.
    place = handle.bounding_box()
    assert place is not None
    page.mouse.down()
    page.mouse.move(place["x"] + 7, place["y"] + 90, steps=4)
    page.mouse.up()
    wait_for_scene(page, "scene.volumes[0].clip !== null")
    clip = scene(page)["scene"]["volumes"][0]["clip"]
    assert clip["stop"][1] < 32 or clip["start"][1] > 0
    assert (clip["stop"][0], clip["stop"][2]) == (32, 32)
    assert peak_signal(pixels(page), drawn(page)) > 45
    page.keyboard.press("Control+z")
    wait_for_scene(page, "scene.volumes[0].clip === null")
    page.keyboard.press("c")


def test_two_scenes_stand_side_by_side(page: Page) -> None:
    page.keyboard.press("b")
    expect(page.locator('canvas[data-view="other"]')).to_have_attribute("data-is-exact", "true")
    page.keyboard.press("b")
    expect(page.locator('canvas[data-view="other"]')).to_have_count(0)


def test_two_scenes_are_swiped_and_their_difference_is_shown(page: Page) -> None:
    page.keyboard.press("b")
    other = page.locator('canvas[data-view="other"]')
    main = page.locator('canvas[data-view="main"]')
    both = (main, other)
    wait_until(lambda: main.evaluate("e => e.width") == other.evaluate("e => e.width"))
    for one in both:
        expect(one).to_have_attribute("data-is-exact", "true")
    half = main.evaluate("e => e.width")
    compare = page.get_by_role("group", name="Compare", exact=True)
    compare.get_by_role("button", name="Difference").click()
    wait_until(lambda: all(one.evaluate("e => e.width") > 1.5 * half for one in both))  # No longer beside each other.
    for one in both:
        expect(one).to_have_attribute("data-is-exact", "true")
    wait_until(
        lambda: middle_of(page, ".over").max() <= 12
    )  # The same scene twice, but for the noise of video and JPEG.
    compare.get_by_role("button", name="Swipe").click()
    whole = middle_of(page, ".over")
    page.get_by_role("group", name="Scene to edit").get_by_role("button", name="Before").click()
    page.get_by_role("button", name=re.compile("^Hide ")).first.click()
    wait_until(lambda: scene(page)["other"]["volumes"][0]["is_visible"] is False)
    wait_until(lambda: other.get_attribute("data-is-exact") == "true" and middle_of(page, ".over")[:, -1].std() < 1)
    line = page.get_by_role("slider", name="Between the two scenes")
    assert line.get_attribute("aria-valuenow") == "50"
    halves = middle_of(page, ".over")
    middle = whole.shape[1] // 2
    assert abs(halves[:, : middle - 8] - whole[:, : middle - 8]).mean() < 2
    assert whole[:, middle + 8 :].std() > 5 > halves[:, middle + 8 :].std()
    line.focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    assert float(line.get_attribute("aria-valuenow") or 0) == 65
    compare.get_by_role("button", name="Side by side").click()
    expect(line).to_have_count(0)
    page.keyboard.press("b")
    expect(other).to_have_count(0)


def test_a_screenshot_is_saved_at_the_size_asked_for(page: Page) -> None:
    page.keyboard.press("p")
    page.get_by_role("combobox", name="Size").select_option("own")
    for name, size in (("Width", "320"), ("Height", "200")):
        page.get_by_label(name, exact=True).fill(size)
        page.keyboard.press("Enter")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save image").click()
    image = Image.open(io.BytesIO(Path(saved.value.path()).read_bytes()))
    assert image.size == (320, 200)


def test_a_file_is_found_and_opened(page: Page) -> None:
    page.keyboard.press("o")
    page.get_by_placeholder("Search").fill("second")
    see(page, "16 × 32 × 32 (x, y, z) uint16")
    page.get_by_role("button", name="second.npy").click()
    expect(page).to_have_title("second.npy · Pellucid")
    wait_for_scene(page, "scene.volumes[0].source.includes('second')")
    assert peak_signal(pixels(page), drawn(page)) > 45


def test_help_and_statistics(page: Page) -> None:
    page.keyboard.press("?")
    see(page, "rotate around the clicked point")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.keyboard.press("i")
    drag(page, 60, 0)
    wait_for_rest(page, after=number(page) - 1)
    for stage in ("input", "render", "encode", "wire", "decode", "paint"):
        expect(page.get_by_role("row", name=stage).first).to_contain_text("ms")


def test_two_browsers_see_the_same(page: Page, browser: Browser, viewer: Viewer) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    other = context.new_page()
    opened(other, viewer.url)
    shown = number(other)
    drag(page, -120, 30)
    wait_for_rest(page, after=number(page))
    wait_for_rest(other, after=shown)
    assert scene(other)["scene"]["camera"] == scene(page)["scene"]["camera"]
    context.close()
