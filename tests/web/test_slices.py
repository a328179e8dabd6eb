"""What a person does with slices: grey windows, values, layouts."""

import io
from base64 import b64decode
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page

from pellucid.formats.protocol import Voxels
from pellucid.volume.sample_volume import sample
from tests.waiting import wait_until
from tests.web.browsing import scene, show_slices, wait_for_scene
from tests.web.conftest import EDGE


@pytest.fixture
def slices(page: Page) -> Iterator[Page]:
    """A page that shows slices through the middle, as they are at first."""
    show_slices(page)
    wait_until(lambda: image(page, "z") is not None)
    yield page


def across(page: Page, axis: str) -> Locator:
    return page.get_by_role("slider", name=f"Slice across {axis}")


def image(page: Page, axis: str) -> Voxels | None:
    """(height, width, 3) as it is painted; None before."""
    script = f"""(() => {{ const canvas = document.querySelector('.slice.is-{axis} canvas');
        return canvas.dataset.index === undefined ? null : canvas.toDataURL('image/png'); }})()"""
    encoded = page.evaluate(script)
    if encoded is None:
        return None
    return np.asarray(Image.open(io.BytesIO(b64decode(encoded.partition(",")[2]))).convert("RGB"))


def test_a_slice_has_a_grey_window_and_colours_on_request(slices: Page) -> None:
    page, voxels = slices, sample(EDGE)[EDGE // 2]
    first = image(page, "z")
    assert first is not None and (first == first[..., :1]).all()
    page.get_by_role("button", name="Grey window of the slice across z").click()
    controls = page.get_by_role("dialog", name="How slices across z are shown")
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
    wait_until(lambda: (shown := image(page, "z")) is not None and bool((shown != shown[..., :1]).any()))
    controls.get_by_role("button", name="Grey").click()
    wait_until(lambda: np.array_equal(np.asarray(image(page, "z")), first))


def test_dragging_with_control_changes_the_window_of_one_slice(slices: Page) -> None:
    page = slices
    box = across(page, "y").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
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
