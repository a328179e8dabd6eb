"""What a person does with slices: layouts, zoom, grey windows, values, slabs, an oblique one, measures on them."""

import io
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import FloatRect, Locator, Page, expect

from pellucid.formats.protocol import Voxels
from pellucid.volume.interpolate import trilinear
from pellucid.volume.sample_volume import sample
from tests.shared_browser import SCALE
from tests.waiting import wait_until
from tests.web.browsing import scene, show_slices, wait_for_scene
from tests.web.conftest import EDGE

VOXELS = sample(EDGE)


@pytest.fixture
def slices(page: Page) -> Iterator[Page]:
    """A page that shows slices through the middle, as they are at first."""
    show_slices(page, is_shown=False)
    show_slices(page)
    if page.get_by_role("button", name="Close the oblique slice").count():
        page.get_by_role("button", name="Close the oblique slice").click()
    for axis in "zyx":
        expect(across(page, axis)).to_have_attribute("aria-valuenow", str(EDGE // 2))
    wait_until(lambda: is_exact(page, "z"))
    yield page


def across(page: Page, axis: str) -> Locator:
    return page.get_by_role("slider", name="Oblique slice" if axis == "oblique" else f"Slice across {axis}", exact=True)


def is_exact(page: Page, axis: str) -> bool:
    script = f"document.querySelector('.slice.is-{axis} canvas')?.dataset.isExact === 'true'"
    return bool(page.evaluate(script))


def image(page: Page, axis: str) -> Voxels:
    """(height, width, 3) as it is painted."""
    encoded = page.evaluate(f"document.querySelector('.slice.is-{axis} canvas').toDataURL('image/png')")
    return np.asarray(Image.open(io.BytesIO(b64decode(encoded.partition(",")[2]))).convert("RGB"))


def box_of(panel: Locator) -> FloatRect:
    box = panel.bounding_box()
    assert box is not None
    return box


def middle_of(panel: Locator) -> tuple[float, float]:
    box = box_of(panel)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_slice_has_a_grey_window_and_colours_on_request(slices: Page) -> None:
    page, voxels = slices, VOXELS[EDGE // 2]
    first = image(page, "z")
    assert (first == first[..., :1]).all() and first.any()
    page.get_by_role("button", name="Display of the slice across z").click()
    controls = page.get_by_role("dialog", name="Display of slices across z")
    controls.get_by_role("button", name="Min–max").click()
    claim = "JSON.stringify(scene.volumes[0].slice_options[0].window) === JSON.stringify(given)"
    wait_for_scene(page, claim, [float(voxels.min()), float(voxels.max())])
    controls.get_by_role("button", name="1–99 %").click()
    low, high = (float(value) for value in np.percentile(voxels, (1, 99)))
    wait_for_scene(page, claim, [low, high])
    controls.get_by_role("button", name="Auto").click()
    wait_for_scene(page, claim, None)
    controls.get_by_role("button", name="Colours").click()
    wait_for_scene(page, "scene.volumes[0].slice_options[0].colors === 'transfer'")
    wait_until(lambda: bool(((shown := image(page, "z")) != shown[..., :1]).any()))
    controls.get_by_role("button", name="Grey").click()
    wait_until(lambda: np.array_equal(image(page, "z"), first))


def test_a_thick_slice_is_the_mean_the_largest_or_the_smallest_of_several(slices: Page) -> None:
    page, thin = slices, image(slices, "y")
    page.get_by_role("button", name="Display of the slice across y").click()
    controls = page.get_by_role("dialog", name="Display of slices across y")
    controls.get_by_label("Thickness (slices), number").fill("9")
    page.keyboard.press("Enter")
    wait_for_scene(page, "scene.volumes[0].slice_options[1].thickness === 9")
    controls.get_by_role("button", name="Max", exact=True).click()
    wait_for_scene(page, "scene.volumes[0].slice_options[1].projection === 'max'")
    expect(page.locator(".slice.is-y .slice-name")).to_contain_text("max of 9")
    wait_until(lambda: image(page, "y").mean() > thin.mean() + 10)
    controls.get_by_role("button", name="Min", exact=True).click()
    wait_for_scene(page, "scene.volumes[0].slice_options[1].projection === 'min'")
    expect(page.locator(".slice.is-y .slice-name")).to_contain_text("min of 9")
    wait_until(lambda: image(page, "y").mean() < thin.mean() - 2)
    controls.get_by_label("Thickness (slices), number").fill("1")
    page.keyboard.press("Enter")
    wait_until(lambda: np.array_equal(image(page, "y"), thin))


def test_dragging_with_control_changes_the_window_of_one_slice(slices: Page) -> None:
    page = slices
    x, y = middle_of(across(page, "y"))
    voxel = across(page, "z").get_attribute("aria-valuenow")
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    page.mouse.down()
    page.mouse.move(x + 40, y, steps=3)
    page.mouse.up()
    page.keyboard.up("Control")
    wait_for_scene(page, "scene.volumes[0].slice_options[1].window !== null")
    shown = scene(page)
    low, high = shown["scene"]["volumes"][0]["slice_options"][1]["window"]
    facts = shown["layers"][0]["histogram"]
    assert high - low == pytest.approx((facts["high"] - facts["low"]) * np.exp(40 * 0.006), rel=1e-3)
    assert low + high == pytest.approx(facts["low"] + facts["high"], rel=1e-3)
    assert [one["window"] for one in shown["scene"]["volumes"][0]["slice_options"]][::2] == [None, None]
    assert across(page, "z").get_attribute("aria-valuenow") == voxel
    page.keyboard.press("Control+z")
    wait_for_scene(page, "scene.volumes[0].slice_options[1].window === null")


def test_a_large_slice_has_the_value_under_the_cursor_a_scale_and_the_voxels_themselves(slices: Page) -> None:
    page = slices
    page.get_by_role("button", name="Slices", exact=True).click()
    show_slices(page)  # Through the middle.
    page.get_by_role("button", name="Enlarge the slice across z").click()
    panel = across(page, "z")
    expect(page.get_by_role("slider", name="Slice across")).to_have_count(1)
    wait_until(lambda: box_of(panel)["width"] > 700 and is_exact(page, "z"))
    x, y = middle_of(panel)
    page.mouse.move(x + 1, y + 1)  # Just right of the middle, and below it.
    value = VOXELS[EDGE // 2, EDGE // 2, EDGE // 2]
    expect(page.locator(".slice-value")).to_have_text(str(value))
    expect(page.locator(".slice-name")).to_contain_text(f"{EDGE // 2}, {EDGE // 2}, {EDGE // 2}")
    # The bar is as long as it says.
    box = box_of(panel)
    fitted = min(box["width"], box["height"]) * 0.94 / EDGE
    bar = page.locator(".slice-scale")
    length = float((bar.text_content() or "").split()[0])
    assert box_of(bar.locator("div"))["width"] == pytest.approx(length * fitted, rel=0.02)
    expect(page.locator(".slice-letters .is-right")).to_have_text("x")
    page.keyboard.press("+")
    page.keyboard.press("+")
    wait_until(lambda: is_exact(page, "z"))
    # Zoomed: every voxel is a square of one grey.
    shown = image(page, "z")[..., 0].astype(int)
    voxel = fitted * 1.5**2 * SCALE
    assert (np.abs(np.diff(shown[shown.shape[0] // 2])) > 0).mean() < 2.5 / voxel
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(x - 60, y, steps=2)
    page.mouse.up()
    page.keyboard.up("Shift")
    wait_until(lambda: is_exact(page, "z") and not np.array_equal(image(page, "z")[..., 0], shown))
    page.keyboard.press("ArrowUp")
    expect(panel).to_have_attribute("aria-valuenow", str(EDGE // 2 + 1))
    page.mouse.wheel(0, 40)
    expect(panel).not_to_have_attribute("aria-valuenow", str(EDGE // 2 + 1))
    page.keyboard.press("0")
    page.keyboard.press("Escape")
    expect(page.get_by_role("slider", name="Slice across")).to_have_count(3)


def test_an_oblique_slice_is_dragged_and_tilted_in_the_scene(slices: Page) -> None:
    page = slices
    page.get_by_role("button", name="Oblique slice", exact=True).click()
    wait_for_scene(page, "scene.slices.length === 1")
    wait_until(lambda: page.locator(".slice.is-oblique canvas").count() == 1 and is_exact(page, "oblique"))
    first, began = image(page, "oblique"), scene(page)["scene"]["slices"][0]["point"]
    assert first.any()
    handle = page.get_by_role("slider", name="Oblique plane", exact=True)
    x, y = middle_of(handle)
    tilt = middle_of(page.get_by_role("slider", name="Tilt of the oblique plane"))
    way = np.subtract(tilt, (x, y)) / np.linalg.norm(np.subtract(tilt, (x, y))) * 30
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + way[0], y + way[1], steps=3)
    page.mouse.up()
    claim = "scene.slices[0].point.some((at, axis) => Math.abs(at - given[axis]) > 0.5)"
    wait_for_scene(page, claim, began)
    page.get_by_role("slider", name="Tilt of the oblique plane").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    wait_for_scene(page, "scene.slices[0].normal[0] > 0.1 || scene.slices[0].normal[0] < -0.1")
    wait_until(lambda: is_exact(page, "oblique") and not np.array_equal(image(page, "oblique"), first))
    # The plane of a slice across an axis is dragged too.
    page.get_by_role("slider", name="Plane across z").focus()
    page.keyboard.press("ArrowUp")
    expect(across(page, "z")).to_have_attribute("aria-valuenow", str(EDGE // 2 + 1))
    page.get_by_role("button", name="Close the oblique slice").click()
    wait_for_scene(page, "scene.slices.length === 0")
    expect(page.get_by_role("slider", name="Slice across")).to_have_count(3)


def test_an_oblique_slice_has_a_window_of_its_own_values(slices: Page) -> None:
    """Those of the plane that is cut, not of the volume or of a slice across an axis."""
    page = slices
    page.get_by_role("button", name="Oblique slice", exact=True).click()
    wait_for_scene(page, "scene.slices.length === 1")
    wait_until(lambda: page.locator(".slice.is-oblique canvas").count() == 1 and is_exact(page, "oblique"))
    before = image(page, "oblique")
    cut = scene(page)["scene"]["slices"][0]
    page.get_by_role("button", name="Display of the slice at an angle").click()
    controls = page.get_by_role("dialog", name="Display of the oblique slice")
    controls.get_by_role("button", name="1–99 %").click()
    wait_for_scene(page, "scene.slices[0].slice_options.window !== null")
    shown = scene(page)["scene"]
    assert shown["slices"][0]["slice_options"]["window"] == pytest.approx(percentiles_on_plane(cut, (1, 99)), rel=0.01)
    assert [one["window"] for one in shown["volumes"][0]["slice_options"]] == [None, None, None]
    wait_until(lambda: is_exact(page, "oblique") and not np.array_equal(image(page, "oblique"), before))
    narrow = shown["slices"][0]["slice_options"]["window"]
    controls.get_by_role("button", name="Min–max").click()
    claim = "scene.slices[0].slice_options.window[0] <= given[0] && scene.slices[0].slice_options.window[1] > given[1]"
    wait_for_scene(page, claim, narrow)
    controls.get_by_role("button", name="Auto").click()
    wait_for_scene(page, "scene.slices[0].slice_options.window === null")
    page.get_by_role("button", name="Close the oblique slice").click()
    wait_for_scene(page, "scene.slices.length === 0")


def percentiles_on_plane(cut: dict[str, Any], percents: tuple[float, float]) -> list[float]:
    """Of the values on a plane through the volume, from many places on it."""
    normal = np.asarray(cut["normal"]) / np.linalg.norm(cut["normal"])
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    first /= np.linalg.norm(first)
    at = np.arange(-EDGE, EDGE, 0.05)
    places = cut["point"] + at[:, None, None] * first + at[:, None] * np.cross(normal, first)
    zyx = places.reshape(-1, 3)[:, ::-1]
    inside = ((zyx >= -0.5) & (zyx <= EDGE - 0.5)).all(axis=1)
    found: list[float] = np.percentile(trilinear(VOXELS, zyx[inside]), percents).tolist()
    return found


def test_distances_are_measured_on_a_slice_with_their_profile(slices: Page) -> None:
    page = slices
    page.keyboard.press("3")
    page.keyboard.press("m")
    panel = across(page, "z")
    wait_until(lambda: is_exact(page, "z"))
    x, y = middle_of(panel)
    y -= 40  # Away from the slice across y.
    page.mouse.click(x - 40, y)
    expect(panel.locator(".slice-overlay .is-begun circle")).to_have_count(1)
    page.mouse.click(x + 40, y)
    wait_for_scene(page, "scene.measures.length === 1")
    (measure,) = scene(page)["scene"]["measures"]
    box = box_of(panel)
    unit = min(box["width"], box["height"]) * 0.94 / EDGE
    length = float(np.linalg.norm(np.subtract(*measure["points"])))
    assert length == pytest.approx(80 / unit, rel=0.03)
    assert [point[2] for point in measure["points"]] == [EDGE // 2] * 2
    expect(page.get_by_label("Values along the line")).to_be_visible()
    expect(page.locator(".slice.is-z .measures text")).to_have_count(1)
    expect(page.locator(".slice.is-y .measures text")).to_have_count(0)  # It lies in this slice only.
    page.get_by_role("button", name="Remove measure 1").click()
    wait_for_scene(page, "scene.measures.length === 0")
    page.keyboard.press("Escape")
    page.keyboard.press("2")


def test_slices_of_two_scenes_are_compared_beside_each_other_by_swiping_and_by_their_difference(slices: Page) -> None:
    page = slices
    page.keyboard.press("b")
    other = page.get_by_role("slider", name="Slice across z, before the changes")
    expect(other).to_have_count(1)
    wait_until(lambda: is_exact_at(page, ".is-other canvas") and is_exact(page, "z"))
    np.testing.assert_array_equal(painted(page, ".is-other canvas"), image(page, "z"))
    left, right = box_of(across(page, "z")), box_of(other)
    assert left["x"] + left["width"] <= right["x"] + 1 and abs(left["width"] - right["width"]) < 2
    other.focus()
    page.keyboard.press("ArrowUp")  # Locked: a step of one is a step of both.
    expect(across(page, "z")).to_have_attribute("aria-valuenow", str(EDGE // 2 + 1))
    claim = "(shown => shown[0].dataset.index === shown[1].dataset.index)(document.querySelectorAll('.is-z canvas'))"
    wait_until(lambda: bool(page.evaluate(claim)) and is_exact(page, "z"))
    compare = page.get_by_role("group", name="Compare", exact=True)
    compare.get_by_role("button", name="Difference").click()
    expect(other).to_have_count(0)
    wait_until(lambda: is_exact_at(page, "canvas[data-scene=other]") and max(half.max() for half in seen(page)) <= 12)
    page.get_by_role("button", name="Display of the slice across z").click()
    page.get_by_role("dialog", name="Display of slices across z").get_by_role("button", name="Colours").click()
    wait_until(lambda: max(half.max() for half in seen(page)) > 30)  # Only the scene that is edited has colours now.
    page.get_by_role("button", name="Display of the slice across z").click()
    compare.get_by_role("button", name="Swipe").click()
    wait_until(lambda: is_exact(page, "z") and is_exact_at(page, "canvas[data-scene=other]"))
    left_half, right_half = (np.ptp(half.astype(int), axis=2) > 20 for half in seen(page))
    assert left_half.any() and not right_half.any()
    page.keyboard.press("Control+z")
    compare.get_by_role("button", name="Side by side").click()
    page.keyboard.press("b")
    expect(other).to_have_count(0)


def is_exact_at(page: Page, selector: str) -> bool:
    return bool(page.evaluate(f"document.querySelector('.slice.is-z {selector}')?.dataset.isExact === 'true'"))


def painted(page: Page, selector: str) -> Voxels:
    """The canvas across z that a selector names, as it is painted."""
    encoded = page.evaluate(f"document.querySelector('.slice.is-z {selector}').toDataURL('image/png')")
    return np.asarray(Image.open(io.BytesIO(b64decode(encoded.partition(",")[2]))).convert("RGB"))


def seen(page: Page) -> tuple[Voxels, Voxels]:
    """Parts of both halves of the slice across z as the page shows them, without cross-hair and names."""
    shown = np.asarray(Image.open(io.BytesIO(page.locator(".slice.is-z .over").screenshot())).convert("RGB"))
    height, width = shown.shape[:2]
    rows = shown[3 * height // 10 : 45 * height // 100]
    return rows[:, width // 4 : 3 * width // 8], rows[:, 5 * width // 8 : 3 * width // 4]
