"""What is done all day with a scan of a patient and its labels, at three sizes of the window.

Here: directions, spacing and unit; labels over slices; the value under the cursor in the histogram; every kind of
measure; full-size slices and layouts by keys.
Not here: each of these in depth (test_slices, test_labels, test_measures, test_everyday).
"""

import io
import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import nibabel
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, expect

from pellucid.formats.protocol import Voxels
from pellucid.volume.sample_volume import sample
from tests.waiting import wait_until
from tests.web.browsing import TOKEN, Viewer, opened, scene, wait_for_scene

EDGE = 24
SIZES = ((1440, 900), (1024, 700), (390, 844))
KINDS = {"Distance": 2, "Angle": 3, "Path": 3, "Area": 3, "Box": 2, "Sphere": 2, "Note": 1}
OPEN_ENDED = ("Path", "Area")


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """Axes that run to the right, to the front and up; a ball of label 7 in the middle."""
    folder = tmp_path_factory.mktemp("patient")
    image = nibabel.Nifti1Image(sample(EDGE).T, np.diag([0.5, 0.5, 0.5, 1.0]))
    image.header.set_xyzt_units("mm")
    nibabel.save(image, folder / "head.nii")
    z, y, x = np.indices((EDGE, EDGE, EDGE)) - (EDGE - 1) / 2
    np.save(folder / "ball.npy", np.where(z**2 + y**2 + x**2 < 64, 7, 0).astype(np.int32))
    started = Viewer(folder / "head.nii")
    started.start("--root", str(folder))
    yield started
    started.kill()


@pytest.fixture(params=SIZES, ids=["wide", "small", "phone"])
def patient(browser: Browser, viewer: Viewer, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page at one of the sizes, as the file was opened."""
    context = browser.new_context(viewport=ViewportSize(width=request.param[0], height=request.param[1]))
    page = context.new_page()
    opened(page, viewer.url)
    assert viewer.file is not None
    load(page, viewer.file, "replace")
    wait_for_scene(page, "scene.volumes.length === 1 && scene.volumes[0].transform.scale.every((one) => one > 0)")
    yield page
    context.close()


def load(page: Page, path: Path, how: str) -> None:
    script = f"""(body) => fetch("api/load", {{ method: "POST", body: JSON.stringify(body),
        headers: {{ "Content-Type": "application/json", ...{TOKEN} }} }}).then((answer) => answer.status)"""
    assert page.evaluate(script, {"path": str(path), "how": how}) == 200


def open_panel(page: Page) -> None:
    """On a phone it is closed at first, and a sheet."""
    if page.get_by_label("Rendering settings").count() == 0:
        page.get_by_role("button", name="Panel").click()
    expect(page.get_by_label("Rendering settings")).to_be_visible()


def letters(page: Page, axis: str) -> dict[str, str]:
    sides = ("left", "right", "top", "bottom")
    place = page.locator(f".slice.is-{axis} .slice-letters")
    return {side: place.locator(f".is-{side}").inner_text() for side in sides}


def slice_image(page: Page, axis: str) -> Voxels:
    wait_until(lambda: page.evaluate(f"document.querySelector('.slice.is-{axis} canvas')?.dataset.isExact === 'true'"))
    encoded = page.evaluate(f"document.querySelector('.slice.is-{axis} canvas').toDataURL('image/png')")
    return np.asarray(Image.open(io.BytesIO(b64decode(encoded.partition(",")[2]))).convert("RGB")).astype(int)


def enlarge(page: Page, axis: str) -> None:
    page.get_by_role("button", name=f"Enlarge the slice across {axis}").click()
    expect(page.locator(f".slice.is-{axis} .slice-letters .is-right")).to_be_visible()


def test_directions_spacing_and_unit_can_be_corrected(patient: Page) -> None:
    page = patient
    page.keyboard.press("3")
    enlarge(page, "y")
    sides = {"left": "L", "right": "R", "top": "S", "bottom": "I"}
    assert letters(page, "y") == sides
    open_panel(page)
    page.get_by_role("button", name="Spacing and axes").click()
    page.get_by_role("button", name="Flip").nth(2).click()
    wait_for_scene(page, "scene.volumes[0].transform.scale[2] < 0")
    assert letters(page, "y") == sides  # Up stays up: the slice is turned over.
    page.get_by_label("Spacing along x").fill("2")
    page.keyboard.press("Enter")
    wait_for_scene(page, "Math.abs(scene.volumes[0].transform.scale[0] - 4) < 1e-9")
    unit = page.get_by_title("Unit of the spacing")
    unit.fill("cm")
    unit.press("Enter")
    wait_for_scene(page, "scene.volumes[0].unit === 'cm'")
    for _ in range(3):
        page.keyboard.press("Control+z")
    wait_for_scene(page, "scene.volumes[0].transform.scale.every((one) => one > 0)")


def test_labels_lie_over_slices_with_their_number_under_the_cursor(patient: Page, viewer: Viewer) -> None:
    page = patient
    assert viewer.file is not None
    page.keyboard.press("3")
    grey = slice_image(page, "z")
    assert (grey == grey[..., :1]).all()
    load(page, viewer.file.with_name("ball.npy"), "labels")
    wait_for_scene(page, "scene.volumes.length === 2")
    wait_until(lambda: bool(np.ptp(slice_image(page, "z"), axis=2).max() > 30))
    colored = np.ptp(slice_image(page, "z"), axis=2) > 30
    middle = colored.shape[0] // 2, colored.shape[1] // 2
    assert colored[middle] and not colored[0, 0]
    place = page.get_by_role("slider", name="Slice across z").bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + place["width"] / 2 + 1, place["y"] + place["height"] / 2 + 1)
    if page.viewport_size == {"width": 390, "height": 844}:
        expect(page.locator(".slice-value")).to_be_visible()
    else:
        expect(page.locator(".status")).to_contain_text("label 7")


def test_the_histogram_has_ticks_and_the_value_under_the_cursor(patient: Page) -> None:
    page = patient
    open_panel(page)
    curve = page.locator(".curve-box")
    expect(page.locator(".transfer .tick, .transfer .ticks span").first).to_be_visible()
    place = curve.bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    expect(page.locator(".curve-value")).to_contain_text("voxels")


def test_every_kind_of_measure_is_made_on_a_slice_and_saved_as_json(patient: Page, tmp_path: Path) -> None:
    page = patient
    page.keyboard.press("4")
    page.keyboard.press("m")
    panel = page.get_by_role("slider", name="Slice across z")
    for number, (kind, clicks) in enumerate(KINDS.items(), 1):
        button = page.get_by_role("button", name=kind, exact=True)
        if button.get_attribute("aria-pressed") != "true":
            button.click()
        place = panel.bounding_box()
        assert place is not None
        for x, y in ((0.4, 0.4), (0.6, 0.4), (0.6, 0.6))[:clicks]:
            page.mouse.click(place["x"] + x * place["width"], place["y"] + y * place["height"])
            page.wait_for_timeout(100)
        if kind in OPEN_ENDED:
            page.keyboard.press("Enter")
        wait_for_scene(page, f"scene.measures.length === {number}")
        page.locator("body").press("Shift")  # The text of a note has the focus.
    made = scene(page)["scene"]["measures"]
    assert [one["kind"] for one in made] == ["distance", "angle", "polyline", "area", "box", "sphere", "note"]
    with page.expect_download() as started:
        page.get_by_role("button", name="JSON", exact=True).click()
    started.value.save_as(tmp_path / "measures.json")
    saved = json.loads((tmp_path / "measures.json").read_text())
    assert len(saved["rows"]) == len(KINDS)
    for control in ("Remove measure 1", "Hide measure 1"):
        found = page.get_by_role("button", name=control)
        if found.count():
            found.scroll_into_view_if_needed()
            box, size = found.bounding_box(), page.viewport_size
            assert box is not None and size is not None and box["x"] + box["width"] <= size["width"]
