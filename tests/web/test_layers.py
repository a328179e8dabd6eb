"""Several things in one scene: volumes, points, labels, time; added, chosen, hidden and taken away."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from pellucid.volume.sample_volume import sample
from tests.web.browsing import TOKEN, drawn, peak_signal, pixels, scene, see, wait_for_scene

EDGE = 32


@pytest.fixture(scope="module")
def layers(folder: Path) -> Path:
    """Files beside the volume that the viewer was started with."""
    place = folder / "layers"
    place.mkdir(exist_ok=True)
    voxels = sample(EDGE)
    random = np.random.default_rng(1)
    np.save(place / "shifted.npy", np.roll(voxels, 8, axis=2))
    np.save(place / "cloud.npy", np.column_stack([random.uniform(0, EDGE, (40, 3)), random.uniform(0.5, 2, 40)]))
    np.save(place / "marks.npy", (voxels > voxels.max() // 2).astype(np.uint8))
    np.save(place / "misfit.npy", np.ones((20, EDGE, EDGE), np.uint8))
    np.save(place / "series.npy", np.stack([np.roll(voxels, 6 * step, axis=2) for step in range(3)]))
    return place


@pytest.fixture
def scene_page(page: Page, layers: Path) -> Iterator[Page]:
    """The page with the first volume alone."""
    put(page, layers.parent / "first.npy", "replace")
    wait_for_scene(page, "scene.volumes.length === 1 && scene.points.length === 0")
    yield page


def put(page: Page, path: Path, how: str) -> None:
    """As the file browser does it."""
    request = {"path": str(path), "how": how}
    script = f"""(body) => fetch("api/load", {{ method: "POST", body: JSON.stringify(body),
        headers: {{ "Content-Type": "application/json", ...{TOKEN} }} }}).then((answer) => answer.status)"""
    assert page.evaluate(script, request) == 200


def test_a_second_volume_is_added_hidden_shown_and_taken_away(scene_page: Page, layers: Path) -> None:
    page = scene_page
    alone = pixels(page)
    page.keyboard.press("o")
    page.get_by_placeholder("Search").fill("shifted")
    expect(page.get_by_role("button", name="shifted.npy")).to_be_visible()
    page.get_by_role("button", name="More options").click()
    page.get_by_role("button", name="Add as a layer").click()
    wait_for_scene(page, "scene.volumes.length === 2")
    assert peak_signal(pixels(page), drawn(page)) > 45
    page.get_by_role("button", name="Hide shifted.npy").click()
    wait_for_scene(page, "!scene.volumes[1].is_visible")
    np.testing.assert_array_equal(pixels(page), alone)
    page.get_by_role("button", name="Show shifted.npy").click()
    wait_for_scene(page, "scene.volumes[1].is_visible")
    page.get_by_role("button", name="Remove shifted.npy").click()
    wait_for_scene(page, "scene.volumes.length === 1")
    np.testing.assert_array_equal(pixels(page), alone)


@pytest.mark.parametrize(("name", "is_warned"), [("misfit.npy", True), ("marks.npy", False)])
def test_labels_that_do_not_fit_are_shown_with_a_warning(scene_page: Page, name: str, is_warned: bool) -> None:
    page = scene_page
    page.keyboard.press("o")
    page.get_by_placeholder("Search").fill(name)
    expect(page.get_by_role("button", name=name)).to_be_visible()
    page.get_by_role("button", name="More options").click()
    page.get_by_role("button", name="Open as labels").click()
    warning = page.get_by_text(
        "The labels have 32 × 32 × 20 voxels (x, y, z), which does not fit the volume of 32 × 32 × 32."
    )
    if is_warned:  # For some seconds.
        expect(warning).to_be_visible()
    wait_for_scene(page, "scene.volumes.length === 2")
    assert is_warned or warning.count() == 0


def test_what_two_volumes_cannot_be_is_told_and_taken_back(scene_page: Page, layers: Path) -> None:
    page = scene_page
    put(page, layers / "shifted.npy", "add")
    wait_for_scene(page, "scene.volumes.length === 2")
    page.get_by_role("button", name="Max", exact=True).click()
    see(page, "Several volumes can be rendered in composite mode only.")
    expect(page.get_by_role("button", name="Composite", exact=True)).to_have_attribute("aria-pressed", "true")
    assert scene(page)["scene"]["volumes"][0]["mode"] == "composite"


def test_points_have_a_radius_and_a_range_of_values(scene_page: Page, layers: Path) -> None:
    page = scene_page
    put(page, layers / "cloud.npy", "add")
    wait_for_scene(page, "scene.points.length === 1")
    page.get_by_role("button", name="cloud.npy", exact=False).first.click()
    radius = scene(page)["scene"]["points"][0]["radius_scale"]
    page.get_by_role("slider", name="Radius per unit of value").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    wait_for_scene(page, "scene.points[0].radius_scale > given", radius)
    assert peak_signal(pixels(page), drawn(page)) > 45
    shown = pixels(page)
    page.get_by_role("slider", name="Minimum value shown").focus()
    for _ in range(5):
        page.keyboard.press("PageUp")
    wait_for_scene(page, "scene.points[0].transfer.opacities[0][1] === 0")
    assert peak_signal(pixels(page), shown) < 40
    assert peak_signal(pixels(page), drawn(page)) > 45


def test_labels_lie_over_a_volume_as_opaque_as_is_wanted(scene_page: Page, layers: Path) -> None:
    page = scene_page
    put(page, layers / "marks.npy", "labels")
    wait_for_scene(page, "scene.volumes[1]?.labels !== undefined && scene.volumes[1].labels !== null")
    page.get_by_role("button", name="marks.npy", exact=False).first.click()
    page.get_by_role("slider", name="Opacity", exact=True).focus()
    page.keyboard.press("Home")
    wait_for_scene(page, "scene.volumes[1].labels.opacity === 0")
    page.keyboard.press("End")
    wait_for_scene(page, "scene.volumes[1].labels.opacity === 1")
    assert peak_signal(pixels(page), drawn(page)) > 45


def test_time_goes_by_slider_and_by_playing(scene_page: Page, layers: Path) -> None:
    page = scene_page
    put(page, layers / "series.npy", "replace")
    wait_for_scene(page, "scene.volumes[0].source.includes('series')")
    slider = page.get_by_role("slider", name="Time step")
    expect(slider).to_have_attribute("max", "2")
    slider.focus()
    page.keyboard.press("ArrowRight")
    wait_for_scene(page, "scene.time === 1")
    assert peak_signal(pixels(page), drawn(page)) > 45
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("""() => document.querySelector('[aria-label="Time step"]').value === "2" """)
    page.get_by_role("button", name="Pause", exact=True).click()
