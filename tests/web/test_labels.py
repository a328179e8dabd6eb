"""Labels in the page: the list, picking, names, isolating, the legend, the table as a file; undo."""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from pellucid.formats.protocol import Voxels
from pellucid.volume.sample_volume import sample
from pellucid.volume.volume import open_volume
from tests.waiting import wait_until
from tests.web.browsing import TOKEN, Viewer, opened_alone, pixels, wait_for_scene
from tests.web.test_window_sizes import cut_off

EDGE = 24
SIZES = [(1440, 900), (1024, 700), (390, 844)]


@pytest.fixture(scope="module")
def marks(folder: Path) -> Path:
    """A ball of label 7 in the middle, and many small labels in a corner."""
    z, y, x = np.indices((EDGE, EDGE, EDGE)) - (EDGE - 1) / 2
    voxels = np.where(z**2 + y**2 + x**2 < 64, 7, 0).astype(np.int32)
    voxels[0, :10, :10] = np.arange(1000, 1100).reshape(10, 10)
    np.save(folder / "ball.npy", voxels)
    np.save(folder / "grey.npy", sample(EDGE))
    return folder / "ball.npy"


@pytest.fixture
def labels_page(page: Page, marks: Path) -> Iterator[Page]:
    show(page, marks)
    yield page


def show(page: Page, marks: Path) -> None:
    """The labels alone."""
    for path, how in ((marks.with_name("grey.npy"), "replace"), (marks, "labels")):
        script = f"""(body) => fetch("api/load", {{ method: "POST", body: JSON.stringify(body),
            headers: {{ "Content-Type": "application/json", ...{TOKEN} }} }}).then((answer) => answer.status)"""
        assert page.evaluate(script, {"path": str(path), "how": how}) == 200
    wait_for_scene(page, "scene.volumes.length === 2 && scene.volumes[1].labels.colors.length === 0")


def test_a_click_picks_a_label_which_is_named_isolated_and_in_the_legend(labels_page: Page) -> None:
    page = labels_page
    box = page.locator('canvas[data-view="main"]').bounding_box()
    assert box is not None
    page.get_by_role("button", name="Hide grey.npy").click()
    wait_for_scene(page, "!scene.volumes[0].is_visible")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator(".label-row.is-chosen .label-name")).to_have_attribute("title", "Label 7")
    expect(page.locator(".status")).to_contain_text("label 7")
    assert page.locator(".label-row").count() < 30  # Of 101: only those in sight are there.
    field = page.get_by_label("Name of label 7")
    field.fill("ball")
    field.press("Enter")
    wait_for_scene(page, "scene.volumes[1].labels.colors[0].name === 'ball'")
    expect(page.get_by_role("list", name="Legend")).to_have_text("ball")
    both = pixels(page)
    page.get_by_role("button", name="Show only label 7").click()
    wait_for_scene(page, "scene.volumes[1].labels.isolated[0] === 7")
    assert not np.array_equal(pixels(page), both)
    page.get_by_role("button", name="Undo").click()
    wait_for_scene(page, "scene.volumes[1].labels.isolated.length === 0")
    np.testing.assert_array_equal(pixels(page), both)
    page.get_by_role("button", name="Hide label 7").click()
    wait_for_scene(page, "!scene.volumes[1].labels.colors[0].is_visible")
    expect(page.get_by_role("list", name="Legend")).to_have_count(0)
    page.get_by_role("button", name="All", exact=True).click()
    wait_for_scene(page, "scene.volumes[1].labels.colors[0].is_visible")


def test_a_label_is_found_by_its_number_and_recoloured(labels_page: Page) -> None:
    page = labels_page
    page.locator(".layer", has_text="ball.npy").locator("button").first.click()
    page.get_by_label("Find a label").fill("1099")
    expect(page.locator(".label-row")).to_have_count(1)
    page.get_by_label("Colour of label 1099").fill("#ff8000")
    page.get_by_label("Find a label").focus()
    wait_for_scene(page, "scene.volumes[1].labels.colors[0]?.color?.[1] > 0.5")


def check_table(page: Page, marks: Path, tmp_path: Path) -> None:
    """Its file has every label with the number of its voxels."""
    with page.expect_download() as started:
        page.get_by_role("button", name="Download the table as CSV").click()
    started.value.save_as(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open() as file:
        rows = {int(row["label"]): int(row["voxels"]) for row in csv.DictReader(file)}
    names, counts = np.unique(np.load(marks), return_counts=True)
    assert rows == dict(zip(names.tolist()[1:], counts.tolist()[1:], strict=True))


@pytest.mark.parametrize("size", SIZES)
def test_the_list_its_colours_and_its_table_are_there_at_every_size(
    browser: Browser, viewer: Viewer, marks: Path, size: tuple[int, int], tmp_path: Path
) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = context.new_page()
    opened_alone(page, viewer.url)
    show(page, marks)
    if size[0] < 760:
        page.get_by_role("button", name="Panel", exact=False).first.click()
    page.locator(".layer", has_text="ball.npy").locator("button").first.click()
    for control in ("Hide label 7", "Show only label 7"):
        found = page.get_by_role("button", name=control).bounding_box()
        assert found is not None
        assert found["x"] >= 0 and found["x"] + found["width"] <= size[0] and found["y"] + found["height"] <= size[1]
    check_table(page, marks, tmp_path)
    page.get_by_label("Colour of label 7").fill("#ff8000")
    page.get_by_label("Find a label").focus()
    wait_for_scene(page, "scene.volumes[1].labels.colors[0]?.color?.[1] > 0.5")
    context.close()


def voxels_now(page: Page, layer: int, shape: tuple[int, int, int]) -> Voxels:
    """The voxels of a layer of int32, as the instance has them."""
    script = f"""async (layer) => {{
        const reply = await fetch(`api/volume?layer=${{layer}}`, {{ headers: {TOKEN} }});
        return [...new Int32Array((await reply.arrayBuffer()).slice(-{int(np.prod(shape)) * 4}))]; }}"""
    return np.array(page.evaluate(script, layer), np.int32).reshape(shape)


def take_brush(page: Page) -> tuple[tuple[float, float], float]:
    """A disc of label 9, radius 2; where the middle of the volume is on the slice across z, and pixels per voxel."""
    page.locator(".layer", has_text="ball.npy").locator("button").first.click()
    expect(page.get_by_label("Find a label")).to_be_visible()
    page.keyboard.press("d")
    expect(page.get_by_role("slider", name="Slice across")).to_have_count(3)
    page.keyboard.press("4")
    page.wait_for_function("() => document.querySelector('.slice.is-z canvas').dataset.isExact === 'true'")
    page.get_by_label("Label of the brush").fill("9")
    page.keyboard.press("Enter")
    page.get_by_label("Radius (voxels), number").fill("2")
    page.keyboard.press("Enter")
    box = page.get_by_role("slider", name="Slice across z").bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    return middle, min(box["width"], box["height"]) * 0.94 / EDGE


def test_labels_are_corrected_with_brush_and_eraser_undone_and_saved(
    labels_page: Page, marks: Path, tmp_path: Path
) -> None:
    page, before = labels_page, np.load(marks)
    middle, unit = take_brush(page)

    def stroke(across: float) -> None:
        """From the middle of the volume, so many voxels to the right."""
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] + across * unit, middle[1], steps=4)
        page.mouse.up()

    stroke(6)
    wait_until(lambda: (voxels_now(page, 1, before.shape)[EDGE // 2, EDGE // 2, EDGE // 2 + 5]) == 9)
    painted = voxels_now(page, 1, before.shape)
    # A disc of the slice, as wide as it says; the slices beside it are as they were.
    assert (painted != before).any(axis=(1, 2)).nonzero()[0].tolist() == [EDGE // 2]
    rows = (painted[EDGE // 2] == 9).any(axis=1).nonzero()[0]
    assert np.ptp(rows) + 1 in (4, 5)
    page.keyboard.press("e")
    page.get_by_label("Ball (all slices that it reaches)").check()
    stroke(0)
    wait_until(lambda: voxels_now(page, 1, before.shape)[EDGE // 2 - 1, EDGE // 2, EDGE // 2] == 0)
    page.keyboard.press("Control+z")
    wait_until(lambda: np.array_equal(voxels_now(page, 1, before.shape), painted))
    page.get_by_role("button", name="Save labels…").click()
    path = marks.with_name("corrected.zarr")
    page.get_by_label("File for the labels").fill(str(path))
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text(f"The labels were saved to {path}.")).to_be_visible()
    np.testing.assert_array_equal(open_volume(path).read(), painted)
    page.keyboard.press("Control+z")
    wait_until(lambda: np.array_equal(voxels_now(page, 1, before.shape), before))
    page.keyboard.press("1")


@pytest.mark.parametrize("size", SIZES)
def test_a_label_is_painted_on_a_slice_at_every_size(
    browser: Browser, viewer: Viewer, marks: Path, size: tuple[int, int]
) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page, before = context.new_page(), np.load(marks)
    opened_alone(page, viewer.url)
    show(page, marks)
    if size[0] < 760:
        page.get_by_role("button", name="Panel", exact=False).first.click()
    take_brush(page)
    assert cut_off(page) == []
    if size[0] < 760:  # For all of the slices.
        page.get_by_role("button", name="Panel", exact=False).first.click()
        expect(page.get_by_label("Rendering settings")).to_have_count(0)
    page.wait_for_function("() => document.querySelector('.slice.is-z canvas').dataset.isExact === 'true'")
    box = page.get_by_role("slider", name="Slice across z").bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= size[0]
    assert box["y"] >= 0 and box["y"] + box["height"] <= size[1]
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    wait_until(lambda: (voxels_now(page, 1, before.shape)[EDGE // 2, EDGE // 2, EDGE // 2]) == 9)
    painted = voxels_now(page, 1, before.shape)
    assert set(painted[painted != before].tolist()) == {9}
    assert (painted != before).any(axis=(1, 2)).nonzero()[0].tolist() == [EDGE // 2]
    page.keyboard.press("Control+z")
    wait_until(lambda: np.array_equal(voxels_now(page, 1, before.shape), before))
    page.keyboard.press("1")
    context.close()
