"""A network on the page: chosen, applied, and its labels drawn."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from pellucid.volume.sample_volume import sample
from tests.infer.small_networks import convolution
from tests.waiting import TIMEOUT_MS
from tests.web.browsing import pixels, wait_for_scene
from tests.web.conftest import EDGE


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """Label 1 where a voxel is brighter than half of the brightest."""
    return convolution(tmp_path / "bright.onnx", np.full((1, 1, 1, 1), 1 / float(sample(EDGE).max())))


def test_a_network_is_chosen_and_its_labels_are_drawn(page: Page, network: Path) -> None:
    before = pixels(page)
    page.get_by_role("button", name="Network", exact=True).click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a network").click()
    chooser.value.set_files(network)
    expect(page.get_by_text("bright.onnx")).to_be_visible()
    page.get_by_text("Custom threshold").click()
    expect(page.get_by_label("Threshold", exact=True)).to_have_value("0.5")
    page.get_by_role("button", name="Apply to this volume").click()
    wait_for_scene(page, "scene.volumes.length === 2 && scene.volumes[1].labels !== null")
    name = page.get_by_text("bright.onnx of first.npy")
    expect(name.first).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.get_by_role("button", name="Apply to this volume")).to_be_enabled(timeout=TIMEOUT_MS)
    assert (pixels(page) != before).any()
    name.first.click()
    voxels = int((sample(EDGE) > sample(EDGE).max() / 2).sum())
    expect(page.locator(".label-row .hint").first).to_have_attribute("title", f"{voxels:,} voxels", timeout=TIMEOUT_MS)


def test_the_volume_is_drawn_only_where_the_network_found_something(page: Page, network: Path) -> None:
    """Its labels are its mask, not a layer over it; without the mask it is whole again."""
    page.get_by_role("button", name="Network", exact=True).click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a network").click()
    chooser.value.set_files(network)
    page.get_by_role("button", name="Apply to this volume").click()
    name = page.get_by_text("bright.onnx of first.npy").first
    expect(name).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.get_by_role("button", name="Apply to this volume")).to_be_enabled(timeout=TIMEOUT_MS)
    name.click()
    page.locator('[title^="Draw the values of volumes where labels are"]').click()
    wait_for_scene(page, "scene.volumes[1].labels.is_mask")
    masked = pixels(page)
    page.get_by_role("button", name="Show only label 1").click()
    wait_for_scene(page, "scene.volumes[1].labels.isolated.length === 1")
    assert np.abs(pixels(page).astype(int) - masked).max() <= 8
    page.locator('[title^="Draw the values of volumes where labels are"]').click()
    wait_for_scene(page, "!scene.volumes[1].labels.is_mask")
    assert (pixels(page) != masked).any()
