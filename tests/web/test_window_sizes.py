"""Windows of all sizes, and two of different sizes on one viewer."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.waiting import TIMEOUT_MS
from tests.web.browsing import CANVAS, Viewer, number, opened, opened_alone, show_slices, wait_for_rest

WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture
def pair(browser: Browser, viewer: Viewer) -> Iterator[tuple[Page, Page]]:
    """A wide page, and a phone that has taken the controls from it."""
    wide = browser.new_context(viewport={"width": 1280, "height": 800})
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    pages = wide.new_page(), phone.new_page()
    for page in pages:
        opened(page, viewer.url)
    take_controls(pages[1])
    yield pages
    wide.close()
    phone.close()


def take_controls(page: Page) -> None:
    page.get_by_role("button", name="Request control").click()
    expect(page.get_by_role("button", name="Request control")).to_have_count(0)


def width_over_height(page: Page, selector: str) -> float:
    place = page.locator(selector).bounding_box()
    assert place is not None
    return place["width"] / place["height"]


def video_frames(page: Page) -> None:
    """Count the frames of video that arrive from now on."""
    page.evaluate("""() => { window.videoFrames = 0; const decode = VideoDecoder.prototype.decode;
        VideoDecoder.prototype.decode = function (chunk) { window.videoFrames += 1; decode.call(this, chunk); }; }""")


def turned(page: Page, pages: tuple[Page, Page]) -> None:
    """Turn the scene on one page, and wait for the exact frame on both."""
    before = [number(one) for one in pages]
    page.locator(CANVAS).focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    for one, shown in zip(pages, before, strict=True):
        wait_for_rest(one, after=shown)


def test_slices_on_a_phone_leave_room_for_the_scene_and_video_for_all(pair: tuple[Page, Page]) -> None:
    wide, phone = pair
    shown = number(phone)
    show_slices(phone)
    wait_for_rest(phone, after=shown)
    place = phone.locator(CANVAS).bounding_box()
    assert place is not None and place["width"] == PHONE["width"] and place["height"] > PHONE["height"] / 2
    phone.get_by_role("button", name="Enlarge the slice across y").click()
    tools, large = (phone.locator(name).bounding_box() for name in (".toolbar", ".slice-panel"))
    assert tools is not None and large is not None and large["y"] + large["height"] <= tools["y"]
    phone.get_by_role("button", name="Show all slices").click()
    expect(phone.get_by_role("slider", name="Slice across")).to_have_count(3)
    for page in pair:
        video_frames(page)
    turned(phone, pair)
    take_controls(wide)
    turned(wide, pair)
    assert [page.evaluate("window.videoFrames > 0") for page in pair] == [True, True]
    show_slices(wide, False)


def test_who_watches_sees_all_of_a_frame_of_another_shape(pair: tuple[Page, Page]) -> None:
    wide, phone = pair
    show_slices(phone, False)
    stage = phone.locator(".views").bounding_box()
    assert stage is not None
    frame = stage["width"] / stage["height"]
    has_its_shape = f"""(shape) => {{ const {{ width, height }} = document.querySelector('{CANVAS}');
        return Math.abs(width / height / shape - 1) < 0.02; }}"""
    for page in pair:
        page.wait_for_function(has_its_shape, arg=frame, timeout=TIMEOUT_MS)
    assert width_over_height(wide, CANVAS) == pytest.approx(frame, rel=0.02)
    bar = wide.locator(".scale-bar > div").bounding_box()
    same = phone.locator(".scale-bar > div").bounding_box()
    assert bar is not None and same is not None
    # The same length of the same frame, which is as high as either stage.
    assert bar["width"] / WIDE["height"] == pytest.approx(same["width"] / stage["height"], rel=0.02)


def test_the_panel_of_a_phone_is_closed_at_first_and_opens_below_the_scene(pair: tuple[Page, Page]) -> None:
    _, phone = pair
    panel = phone.get_by_label("Rendering settings")
    expect(panel).to_have_count(0)
    phone.get_by_role("button", name="Panel").click()
    place = panel.bounding_box()
    assert place is not None and place["y"] >= PHONE["height"] * 0.4 and place["width"] > PHONE["width"] * 0.9


def cut_off(page: Page) -> list[str]:
    """Controls that reach over the sides of the window, or of the panel that they are in."""
    script = """() => [...document.querySelectorAll("button, input, select, textarea")]
        .filter((one) => one.checkVisibility())
        .filter((one) => {
            const at = one.getBoundingClientRect();
            const around = one.closest(".pane")?.getBoundingClientRect() ?? { left: 0, right: innerWidth };
            return at.left < Math.max(around.left, 0) - 1 || at.right > Math.min(around.right, innerWidth) + 1;
        })
        .map((one) => one.outerHTML.slice(0, 90))"""
    found: list[str] = page.evaluate(script)
    return found


def test_nothing_is_cut_off_at_the_sides(page: Page) -> None:
    page.keyboard.press("o")
    expect(page.locator(".file").first).to_be_visible()
    fit_every_size(page)
    page.keyboard.press("Escape")
    fit_every_size(page)


def fit_every_size(page: Page) -> None:
    for width, height in ((390, 844), (900, 600), (1280, 800)):
        page.set_viewport_size({"width": width, "height": height})
        assert cut_off(page) == []


def test_a_shading_is_shown_whole_and_the_line_of_a_mistake_said_once(page: Page) -> None:
    page.get_by_role("button", name="Custom shading").click()
    text = page.get_by_label("Source of the shading")
    text.fill("//@ gain = 1 in 0 .. 2\n\n// " + 12 * "a long remark " + "\nreturn color * oops;\n")
    for width, height in ((1280, 800), (390, 844), (900, 600)):
        page.set_viewport_size({"width": width, "height": height})
        assert text.evaluate("(field) => field.scrollWidth <= field.clientWidth")
        assert text.evaluate("(field) => field.scrollHeight <= field.clientHeight + 1")
        # The number of a line stands where the line begins, however often those above it are wrapped.
        heights = [box["height"] for line in page.locator(".code li").all() if (box := line.bounding_box())]
        assert heights[2] >= 2 * heights[3] and heights[0] == heights[1] == heights[3] == heights[4]
        own, listed = text.bounding_box(), page.locator(".code ol").bounding_box()
        assert own == listed
        assert cut_off(page) == []
    page.get_by_role("button", name="Compile and use").click()
    message = page.locator(".compiler-message")
    expect(message).to_contain_text("Line 4", timeout=TIMEOUT_MS)
    assert message.inner_text().count("Line 4") == 1


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1024, 700), (1440, 900)])
def test_all_of_the_share_dialog_is_on_the_screen(page: Page, width: int, height: int) -> None:
    page.get_by_role("button", name="Share").first.click()
    page.set_viewport_size({"width": width, "height": height})
    dialog = page.get_by_role("dialog", name="Share")
    page.get_by_role("button", name="View only", exact=True).click()
    page.get_by_role("button", name="Create a short link").click()
    expect(dialog.get_by_text("restores this scene; can control")).to_be_visible()
    for part in (*dialog.get_by_role("button").all(), *dialog.locator(".address .hint").all()):
        place = part.bounding_box()
        assert place is not None and place["x"] >= 0 and place["x"] + place["width"] <= width, part
    cut = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).length"
    assert dialog.locator(".address .label").evaluate_all(cut) == 0
    for link in reversed(dialog.get_by_role("button", name="Revoke").all()):
        link.click()
    expect(dialog.get_by_role("button", name="Revoke")).to_have_count(0)


def test_a_phone_that_is_turned_has_its_panel_beside_the_scene_and_swipes(browser: Browser, viewer: Viewer) -> None:
    context = browser.new_context(viewport=ViewportSize(width=390, height=844))
    page = context.new_page()
    opened_alone(page, viewer.url)
    panel = page.get_by_label("Rendering settings")
    expect(panel).to_have_count(0)
    page.set_viewport_size({"width": 1024, "height": 700})
    expect(panel).to_be_visible()
    page.keyboard.press("b")
    swipe = page.get_by_role("group", name="Compare", exact=True).get_by_role("button", name="Swipe")
    swipe.click()
    expect(page.get_by_role("slider", name="Between the two scenes")).to_be_visible()
    assert cut_off(page) == []
    page.keyboard.press("b")
    expect(page.locator('canvas[data-view="other"]')).to_have_count(0)
    context.close()
