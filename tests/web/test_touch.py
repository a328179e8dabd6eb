"""Fingers instead of a mouse, and a file that is dropped on the page."""

import io
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

from pellucid.formats.protocol import Voxels
from pellucid.volume.sample_volume import sample
from tests.web.browsing import (
    Viewer,
    drawn,
    number,
    opened_alone,
    peak_signal,
    pixels,
    scene,
    wait_for_rest,
    wait_for_scene,
)

MIDDLE = (400.0, 360.0)
Place = tuple[float, float]


@pytest.fixture
def touched(browser: Browser, viewer: Viewer) -> Iterator[Page]:
    """The page on a screen that is touched."""
    context = browser.new_context(viewport={"width": 820, "height": 720}, has_touch=True)
    page = context.new_page()
    opened_alone(page, viewer.url)
    yield page
    context.close()


class Fingers:
    """Where they lie; every move takes some steps, as a hand does."""

    def __init__(self, page: Page) -> None:
        self._devtools: CDPSession = page.context.new_cdp_session(page)

    def press(self, *places: Place) -> None:
        self._send("touchStart", places)

    def move(self, before: list[Place], after: list[Place], steps: int = 6) -> None:
        for step in range(1, steps + 1):
            share = step / steps
            self._send("touchMove", [_between(a, b, share) for a, b in zip(before, after, strict=True)])

    def lift(self) -> None:
        self._send("touchEnd", [])

    def _send(self, kind: str, places: Any) -> None:
        points = [{"x": x, "y": y, "id": finger} for finger, (x, y) in enumerate(places)]
        self._devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def _between(a: Place, b: Place, share: float) -> Place:
    return a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share


def camera(page: Page) -> tuple[Voxels, Voxels]:
    """Position and target."""
    found = scene(page)["scene"]["camera"]
    return np.array(found["position"]), np.array(found["target"])


def test_one_finger_turns(touched: Page) -> None:
    (position, target), shown = camera(touched), number(touched)
    fingers = Fingers(touched)
    fingers.press(MIDDLE)
    fingers.move([MIDDLE], [(520.0, 380.0)])
    fingers.lift()
    wait_for_rest(touched, after=shown)
    turned, around = camera(touched)
    np.testing.assert_allclose(around, target, atol=1e-6)
    assert np.linalg.norm(turned - target) == pytest.approx(np.linalg.norm(position - target))
    assert np.linalg.norm(turned - position) > 0.3 * np.linalg.norm(position - target)
    assert peak_signal(pixels(touched), drawn(touched)) > 45


def test_two_fingers_zoom_and_move(touched: Page) -> None:
    (position, target), shown = camera(touched), number(touched)
    fingers, apart = Fingers(touched), [(350.0, 360.0), (450.0, 360.0)]
    fingers.press(*apart)
    fingers.move(apart, [(300.0, 360.0), (500.0, 360.0)])
    fingers.lift()
    wait_for_rest(touched, after=shown)
    near, around = camera(touched)
    # What is twice as far apart is twice as near.
    assert np.linalg.norm(near - around) == pytest.approx(np.linalg.norm(position - target) / 2, rel=0.02)
    shown = number(touched)
    fingers.press(*apart)
    fingers.move(apart, [(350.0, 460.0), (450.0, 460.0)])
    fingers.lift()
    wait_for_rest(touched, after=shown)
    moved, beside = camera(touched)
    np.testing.assert_allclose(moved - beside, near - around, atol=1e-3 * float(np.linalg.norm(near - around)))
    assert np.linalg.norm(beside - around) > 0.01 * np.linalg.norm(near - around)


def test_a_point_of_the_opacity_follows_a_finger(touched: Page) -> None:
    before = scene(touched)["scene"]["volumes"][0]["transfer"]["opacities"][-1][1]
    place = touched.get_by_role("slider", name="Opacity point").last.bounding_box()
    assert place is not None
    at = (place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    fingers = Fingers(touched)
    fingers.press(at)
    fingers.move([at], [(at[0], at[1] + 40)])
    fingers.lift()
    wait_for_scene(touched, "scene.volumes[0].transfer.opacities.at(-1)[1] < given - 0.15", before)


DROP = """({ name, content, isShift }) => {
    const bytes = Uint8Array.from(atob(content), (one) => one.charCodeAt(0));
    const carried = new DataTransfer();
    carried.items.add(new File([bytes], name));
    for (const kind of ["dragover", "drop"]) {
        const how = { dataTransfer: carried, bubbles: true, cancelable: true, shiftKey: isShift };
        const event = new DragEvent(kind, how);
        document.querySelector("canvas").dispatchEvent(event);
        if (kind === "dragover" && !event.defaultPrevented) throw new Error("The page does not want it.");
    }
}"""


def drop(page: Page, name: str, content: bytes, is_shift: bool = False) -> None:
    page.evaluate(DROP, {"name": name, "content": b64encode(content).decode(), "isShift": is_shift})


def saved(array: Voxels) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_a_file_that_is_dropped_is_opened(page: Page, folder: Path) -> None:
    drop(page, "dropped.npy", saved(sample(20)[:, :, :12].copy()))
    wait_for_scene(page, "scene.volumes.length === 1 && scene.volumes[0].source.includes('dropped')")
    expect(page.get_by_text("12 × 20 × 20").first).to_be_visible()
    assert peak_signal(pixels(page), drawn(page)) > 45
    drop(page, "beside.npy", saved(sample(20)), is_shift=True)
    wait_for_scene(page, "scene.volumes.length === 2 && scene.volumes[1].source.includes('beside')")


def test_a_file_that_is_nothing_is_told(page: Page) -> None:
    drop(page, "letter.txt", b"hello")
    expect(page.locator(".notification.is-error").first).to_be_visible()
    assert "letter" not in str(scene(page)["scene"]["volumes"])
