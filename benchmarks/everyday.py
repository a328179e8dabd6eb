"""Five tasks of everyday work on the page, done in a real browser: how long does each take?

Here: opening a file, finding a value, measuring a wall, correcting a label, reconstructing a folder; images of them.
Not here: how fast images follow the mouse (viewer_page).

    python -m benchmarks.everyday [--quick] [--json FILE]

Chromium at 1440 × 900 does what docs/how-to/everyday.md says, from the start page to the result. A person takes longer
than a script: HUMAN_S is added for every click, key and drag. Scans are looked for in shared/data beside the checkout;
images for the documentation are written to the folder in PICTURES, if it is set.
"""

import io
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from benchmarks.sample_scans import SHARED
from benchmarks.table import TARGET, Row, options, report, seconds_of, shorter, unavailable
from benchmarks.viewer_page import FLAGS, HAS_IMAGE, PROGRAMS, TIMEOUT_MS
from pellucid.client.launch import start

HUMAN_S = 2.0
TARGET_S = 60.0
SIZE = ViewportSize(width=1440, height=900)
COPIED = ("volumes/engine.nii.gz", "volumes/stroke_T1.nii.gz", "em/fibsem_2.h5", "ct/savu_tiff")


class Person:
    """What a user does on the page, counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.actions = 0

    def click(self, name: str) -> None:
        self.actions += 1
        self.page.get_by_role("button", name=name).first.click()

    def press(self, key: str) -> None:
        self.actions += 1
        self.page.keyboard.press(key)

    def fill(self, label: str, text: str) -> None:
        self.actions += 1
        self.page.get_by_label(label).first.fill(text)
        self.page.keyboard.press("Enter")

    def open(self, name: str) -> None:
        """From the start page or the file browser."""
        self.actions += 1
        self.page.get_by_role("button", name=name).first.click()
        self.page.wait_for_function(HAS_IMAGE, timeout=TIMEOUT_MS)

    def on_slice(self, axis: str, across: float, down: float) -> tuple[float, float]:
        place = self.page.get_by_role("slider", name=f"Slice across {axis}").bounding_box()
        if place is None:
            raise RuntimeError(f"The slice across {axis} is not shown.")
        self.actions += 1
        return place["x"] + across * place["width"], place["y"] + down * place["height"]


def open_a_file(person: Person, _: Path) -> None:
    person.open("engine.nii.gz")


def find_a_value(person: Person, _: Path) -> None:
    person.open("stroke_T1.nii.gz")
    person.press("3")
    person.click("Enlarge the slice across z")
    person.page.mouse.move(*person.on_slice("z", 0.45, 0.6))
    person.page.locator(".slice-value").wait_for()


def measure_a_wall(person: Person, _: Path) -> None:
    person.open("engine.nii.gz")
    person.press("3")
    person.press("m")
    person.page.mouse.move(*person.on_slice("z", 0.27, 0.3))
    person.page.locator(".slice-value").wait_for()
    person.page.mouse.click(*person.on_slice("z", 0.27, 0.3))
    person.page.locator(".slice-overlay .is-begun circle").first.wait_for()
    person.page.mouse.click(*person.on_slice("z", 0.31, 0.3))
    person.page.get_by_label("Values along the line").wait_for()


def correct_a_label(person: Person, folder: Path) -> None:
    person.page.get_by_role("button", name="fibsem_2.h5").first.click()
    labels = person.page.locator("option", has_text="labels").first.get_attribute("value")
    person.page.get_by_label("Dataset").select_option(labels)
    person.page.get_by_role("button", name="Open", exact=True).click()
    person.actions += 3
    person.page.wait_for_function(HAS_IMAGE, timeout=TIMEOUT_MS)
    person.press("3")
    person.click("Paint")
    person.fill("Label of the brush", "115")
    person.page.mouse.move(*person.on_slice("z", 0.45, 0.4))
    person.page.get_by_text("voxel (x, y, z)").first.wait_for()
    person.page.mouse.down()
    person.page.mouse.move(*person.on_slice("z", 0.55, 0.45), steps=5)
    person.page.mouse.up()
    person.click("Save labels…")
    person.page.get_by_label("File for the labels").fill(str(folder / "corrected.zarr"))
    person.page.get_by_role("button", name="Save", exact=True).click()
    person.actions += 2
    person.page.get_by_text("The labels were saved").wait_for()


def reconstruct_a_folder(person: Person, _: Path) -> None:
    person.actions += 1
    person.page.locator(".file", has_text="savu_tiff").first.click()
    person.actions += 1
    person.page.get_by_role("button", name="Reconstruct", exact=True).click()
    person.page.get_by_role("button", name="Reconstruct all slices").wait_for()
    person.page.get_by_text("refining").wait_for(state="hidden", timeout=TIMEOUT_MS)
    person.click("Reconstruct all slices")
    person.page.get_by_role("button", name="Open volume").wait_for(timeout=TIMEOUT_MS)
    person.click("Open volume")
    person.page.wait_for_function(HAS_IMAGE, timeout=TIMEOUT_MS)


TASKS: dict[str, Callable[[Person, Path], None]] = {
    "open a file": open_a_file,
    "find a value": find_a_value,
    "measure a wall": measure_a_wall,
    "correct a label": correct_a_label,
    "reconstruct a folder": reconstruct_a_folder,
}


def main() -> None:
    given = options("Five tasks of everyday work on the page.")
    if absent := [name for name in COPIED if not (SHARED / name).exists()]:
        report("everyday", [unavailable(name, "ours", f"{', '.join(absent)} absent") for name in TASKS], "-", given)
        return
    program = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for name in COPIED:
            (shutil.copytree if (SHARED / name).is_dir() else shutil.copy)(SHARED / name, Path(folder, Path(name).name))
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        rows = [row for name in TASKS for row in done(browser, name, Path(folder))]
        browser.close()
    report("everyday", rows, f"1440 × 900, {HUMAN_S:g} s added for every action of a person", given)


def done(browser: Browser, name: str, folder: Path) -> list[Row]:
    with chdir(folder), start(roots=[folder]) as viewer:  # The page begins in the folder that it was started in.
        page = browser.new_context(viewport=SIZE).new_page()
        page.goto(viewer.url)
        page.locator(".file").first.wait_for()
        page.set_default_timeout(TIMEOUT_MS)
        person = Person(page)
        machine = seconds_of(lambda: TASKS[name](person, folder))
        _save_image(page, name)
        page.context.close()
    return [
        shorter(name, "s", machine + HUMAN_S * person.actions, TARGET, TARGET_S),
        Row(name, "actions", "", person.actions, "", None, None),
        Row(name, "of the machine", "s", machine, "", None, None),
    ]


def _save_image(page: Page, name: str) -> None:
    if folder := os.environ.get("PICTURES"):
        page.wait_for_timeout(3000)  # The exact images.
        image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        image.resize((1080, 675)).save(Path(folder, f"task-{name.split(maxsplit=1)[0]}.jpg"), quality=82, optimize=True)


if __name__ == "__main__":
    main()
