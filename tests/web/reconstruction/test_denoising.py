"""A scan is denoised on the page: regions drawn, the training watched, ended, the volume opened."""

import os
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, expect

from pellucid.volume.volume import open_volume
from tests.waiting import TIMEOUT_MS
from tests.web.browsing import POLL_MS, scene
from tests.web.reconstruction.workbench import COLUMNS, ROWS, fill

CLEAN = "canvas[data-side=after]"
"""PyTorch is imported, slices are reconstructed, the network learns."""


def draw(page: Page, name: str, share: tuple[float, float, float, float]) -> None:
    """left, top, right, bottom of the slice."""
    page.get_by_role("button", name=f"Draw {name}").click()
    box = page.locator(".region-drawing").bounding_box()
    assert box is not None
    left, top, right, bottom = share
    page.mouse.move(box["x"] + left * box["width"], box["y"] + top * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + right * box["width"], box["y"] + bottom * box["height"], steps=3)
    page.mouse.up()
    expect(page.locator(f".drawn-region.is-{name}")).to_be_visible()


def seen_side(page: Page, left: float) -> str:
    """Which of the two images is on top, at a share of the width."""
    script = """(left) => { const canvases = [...document.querySelectorAll('canvas[data-side]')];
        const box = canvases[0].getBoundingClientRect();
        const x = box.left + left * box.width, y = box.top + box.height / 4;
        return document.elementsFromPoint(x, y).find((one) => one.dataset.side)?.dataset.side; }"""
    return str(page.evaluate(script, left))


def test_a_scan_is_denoised_from_regions_to_a_volume(workbench: Page, scan: Path) -> None:
    page, target = workbench, scan.with_name("clean.zarr")
    page.get_by_role("button", name="Denoise", exact=True).click()
    draw(page, "material", (0.4, 0.4, 0.6, 0.5))
    expect(page.get_by_role("button", name="Train and denoise")).to_be_disabled()  # Air is missing.
    draw(page, "air", (0.02, 0.4, 0.1, 0.6))
    expect(page.get_by_text("air: slices 2 to 10, 20 × 8 voxels")).to_be_visible()
    picture(page, "regions")
    fill(page, "Steps", "3000")
    fill(page, "Output", str(target))
    page.get_by_role("button", name="Train and denoise").click()
    expect(page.get_by_role("progressbar", name="Denoising", exact=True)).to_be_visible()
    page.wait_for_selector(f"{CLEAN}[data-version]", timeout=TIMEOUT_MS)
    first = page.locator(CLEAN).get_attribute("data-version")
    page.wait_for_function(
        f"(first) => document.querySelector('{CLEAN}').dataset.version !== first", arg=first, timeout=TIMEOUT_MS,
        polling=POLL_MS,
    )  # fmt: skip
    expect(page.get_by_role("img", name="Loss")).to_be_visible(timeout=TIMEOUT_MS)
    assert (seen_side(page, 0.25), seen_side(page, 0.75)) == ("before", "after")
    page.get_by_role("slider", name="Before and after").press("PageDown")
    page.get_by_role("slider", name="Before and after").press("Shift+ArrowLeft")
    picture(page, "training")
    assert seen_side(page, 0.45) == "after"
    page.reload()  # It goes on, and a page that comes later sees it.
    page.get_by_role("button", name="Stop and keep").click(timeout=TIMEOUT_MS)
    expect(page.get_by_text("Signal to noise", exact=False).nth(1)).to_be_visible(timeout=TIMEOUT_MS)
    picture(page, "finished")
    page.get_by_role("button", name="Open volume").click()
    expect(page.get_by_role("region", name="Reconstruction")).to_have_count(0)
    assert scene(page)["scene"]["volumes"][0]["source"] == str(target)
    with open_volume(target) as volume:
        assert volume.shape == (ROWS, COLUMNS, COLUMNS) and np.isfinite(volume.read()).all()
    assert scan.with_name("clean.network").is_dir()


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("DENOISING_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")
