"""What a person does and sees where a scan is reconstructed.

Here: choosing a scan, filling in, the images, and what they should be.
Not here: the page and the viewer (browsing), tests.
"""

import io
import json
from base64 import b64decode

import numpy as np
from PIL import Image
from playwright.sync_api import Page, expect

from pellucid.formats.protocol import Voxels
from pellucid.tomo.pipeline.preview import SlicePreview
from pellucid.tomo.recipe import Recipe
from pellucid.volume.slice_sheet import grey_levels
from tests.waiting import TIMEOUT_MS
from tests.web.browsing import POLL_MS

COLUMNS, ROWS, VIEWS, AXIS = 96, 12, 120, 45.3
RECIPE = Recipe(center=AXIS)


def settled(page: Page) -> Voxels:
    """The slice with the axis where it was found."""
    expect(page.get_by_label("Column, number")).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.get_by_text("refining")).to_have_count(0, timeout=TIMEOUT_MS)
    return exact(page, "slice", f"Number(shown.center) === {center_of(page)}")


def choose_scan(page: Page, name: str) -> None:
    page.keyboard.press("o")
    page.get_by_placeholder("Search").fill(name)
    page.get_by_role("button", name=name).click()


def exact(page: Page, place: str, claim: str = "true") -> Voxels:
    """The exact image of a place, once a claim in JavaScript about ``shown`` is true of it."""
    script = f"""() => {{ const canvas = document.querySelector('canvas[data-place="{place}"]');
        const shown = canvas?.dataset ?? {{}};
        return shown.isExact === "true" && ({claim}) ? canvas.toDataURL("image/png") : null; }}"""
    encoded = page.wait_for_function(script, timeout=TIMEOUT_MS, polling=POLL_MS).json_value()
    return np.asarray(Image.open(io.BytesIO(b64decode(encoded.partition(",")[2]))).convert("L"))


def own(page: Page, preview: SlicePreview, recipe: Recipe, place: str = "slice", row: int = ROWS // 2) -> Voxels:
    """The library's own slice, in the greys of the page's."""
    shown = page.locator(f'canvas[data-place="{place}"]')
    low, high = (float(shown.get_attribute(f"data-{end}") or 0) for end in ("low", "high"))
    return grey_levels(preview.slice(row, recipe), low, high)


def center_of(page: Page) -> float:
    return float(page.get_by_label("Column, number").input_value())


def asked_with(**settings: object) -> str:
    """The claim that an image was asked for with some settings of the recipe."""
    return " && ".join(f"JSON.parse(shown.recipe).{name} === {json.dumps(value)}" for name, value in settings.items())


def fill(page: Page, name: str, text: str) -> None:
    page.get_by_label(name, exact=True).fill(text)
    page.keyboard.press("Enter")
