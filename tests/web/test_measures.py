"""Measures in the page: distances with their profile, boxes with statistics, notes; names, undo, files."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.browsing import Viewer, opened_alone, scene, wait_for_scene

SIZES = [(1440, 900), (1024, 700), (390, 844)]
POINTS = ((0.48, 0.45), (0.52, 0.55), (0.48, 0.46))


def click(page: Page, count: int) -> None:
    """On visible points of the object, near the middle of the image."""
    box = page.locator('canvas[data-view="main"]').bounding_box()
    assert box is not None
    points = page.locator(".measures circle").count()
    for number, (x, y) in enumerate(POINTS[:count], 1):
        page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
        expect(page.locator(".measures circle")).to_have_count(points + number)


def test_what_is_measured_is_listed_named_undone_and_saved_as_csv(page: Page, tmp_path: Path) -> None:
    page.get_by_role("button", name="Measure", exact=True).click()
    click(page, 2)
    wait_for_scene(page, "scene.measures.length === 1")
    (measure,) = scene(page)["scene"]["measures"]
    length = float(np.linalg.norm(np.subtract(*measure["points"])))
    shown = page.locator(".measure-head b").text_content() or ""
    assert float(shown.split()[0]) == pytest.approx(length, rel=1e-3)
    expect(page.get_by_label("Values along the line")).to_be_visible()
    name = page.get_by_label("Name of measure 1")
    name.fill("wall")
    name.press("Enter")
    wait_for_scene(page, "scene.measures[0].name === 'wall'")
    expect(page.locator(".measures text")).to_have_text(re.compile("^wall: "))
    page.get_by_role("button", name="Box", exact=True).click()
    click(page, 2)
    wait_for_scene(page, "scene.measures.length === 2")
    expect(page.locator(".region dt")).to_have_text(["mean", "σ", "n"])
    page.get_by_role("button", name="Note", exact=True).click()
    click(page, 1)
    wait_for_scene(page, "scene.measures.length === 3")
    note = page.get_by_label("Text of note 3")
    note.fill("a pore")
    note.press("Enter")
    wait_for_scene(page, "scene.measures[2].text === 'a pore'")
    with page.expect_download() as started:
        page.get_by_role("button", name="Download the measures as CSV").click()
    started.value.save_as(tmp_path / "measures.csv")
    with (tmp_path / "measures.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["kind"] for row in rows] == ["distance", "box", "note"]
    assert (
        rows[0]["name"] == "wall" and float(rows[0]["length"]) == pytest.approx(length) and rows[2]["text"] == "a pore"
    )
    assert int(rows[1]["voxels"]) > 0
    page.get_by_role("button", name="Remove measure 2").click()
    wait_for_scene(page, "scene.measures.length === 2")
    page.get_by_role("button", name="Undo").click()
    wait_for_scene(page, "scene.measures.length === 3")
    page.get_by_role("button", name="Done").click()
    page.keyboard.press("m")
    page.get_by_role("button", name="Path", exact=True).click()
    click(page, 3)
    page.keyboard.press("Enter")
    wait_for_scene(page, "scene.measures[3]?.kind === 'polyline' && scene.measures[3].points.length === 3")


@pytest.mark.parametrize("size", SIZES)
def test_the_list_is_in_sight_at_every_size(browser: Browser, viewer: Viewer, size: tuple[int, int]) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = context.new_page()
    opened_alone(page, viewer.url)
    page.keyboard.press("m")  # Also on a phone, where the panel is closed at first, it shows what can be measured.
    expect(page.get_by_label("Rendering settings")).to_be_visible()
    for name in ("Distance", "Note"):
        found = page.get_by_role("button", name=name, exact=True).bounding_box()
        assert found is not None
        assert found["x"] >= 0 and found["x"] + found["width"] <= size[0] and found["y"] + found["height"] <= size[1]
    context.close()
