"""Make the images of the page in docs/how-to/everyday.md again: ``python tools/page_pictures.py [NAME ...]``.

Here: what each image shows, from which file, done in a real Chromium: opening, first images, slices, labels, measures,
a phone.
Not here: the five tasks and their times (benchmarks.everyday), images without the page (pictures).

Data are looked for in shared/data beside the checkout, or in TEST_DATA_FOLDER.
"""

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

import pellucid
from benchmarks.sample_scans import SHARED
from benchmarks.viewer_page import FLAGS, HAS_IMAGE, PROGRAMS, TIMEOUT_MS
from pellucid.client.launch import start
from pellucid.client.viewer import Viewer

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
FIRST_IMAGES = ROOT / "tests" / "web" / "first_images"
WIDE, PHONE = ViewportSize(width=1440, height=900), ViewportSize(width=390, height=844)
SHOWN_WIDTH = 1080
QUALITY = 82
SETTLE_MS = 2500
CAPTION_HEIGHT = 20
CAPTIONS = {
    "hot_voxel": "one hot voxel",
    "padded_ct": "CT padded with -3024",
    "labels": "int32 labels",
    "smooth_ball": "fades out",
    "two_slices": "two slices",
    "missing_values": "NaN",
    "projections": "projections of a scan",
}


def shot(page: Page) -> Image.Image:
    """The page, when its images are exact."""
    page.wait_for_timeout(SETTLE_MS)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def ready(page: Page) -> None:
    page.wait_for_function(HAS_IMAGE, timeout=TIMEOUT_MS)


def opening(browser: Browser, folder: Path) -> Image.Image:
    """The start page: files, a raw file with its slice, recent files."""
    with pellucid.open(folder / "engine.nii.gz") as volume:
        volume.read().tofile(folder / "scan.raw")
    for name in ("fibsem_2.h5:/raw", "stroke_T1.nii.gz", "engine.nii.gz"):
        with start(roots=[folder]) as viewer:
            viewer.load(folder / name)
            with browser.new_page(viewport=WIDE) as page:
                page.goto(viewer.url)
                ready(page)
                page.wait_for_timeout(SETTLE_MS)  # The thumbnail.
    with start(roots=[folder]) as viewer, browser.new_page(viewport=WIDE) as page:
        page.goto(viewer.url)
        page.locator(".file", has_text="scan.raw").click()
        for axis, length in zip("zyx", (128, 256, 256), strict=True):
            page.get_by_label(f"Voxels along {axis}").fill(str(length))
            page.keyboard.press("Enter")
        page.locator(".raw-slice").wait_for()
        return shot(page)


def first_images(_browser: Browser, _folder: Path) -> Image.Image:
    """What the tests compare, side by side."""
    tiles = []
    for name, caption in CAPTIONS.items():
        with Image.open(FIRST_IMAGES / f"{name}.png") as image:
            tile = image.convert("RGB").resize((270, round(270 * image.height / image.width)), Image.Resampling.LANCZOS)
        framed = Image.new("RGB", (tile.width, tile.height + CAPTION_HEIGHT), (8, 9, 11))
        framed.paste(tile, (0, CAPTION_HEIGHT))
        ImageDraw.Draw(framed).text((8, 5), caption, fill=(210, 216, 226))
        tiles.append(framed)
    height = max(tile.height for tile in tiles)
    sheet = Image.new("RGB", (4 * 270, 2 * height), (8, 9, 11))
    for place, tile in enumerate(tiles):
        sheet.paste(tile, (place % 4 * 270, place // 4 * height))
    return sheet


def show_neurons(viewer: Viewer, folder: Path) -> None:
    viewer.load(f"{folder / 'fibsem_2.h5'}:/raw")
    viewer.load(f"{folder / 'fibsem_2.h5'}:/labels", how="labels")


def slices(browser: Browser, folder: Path) -> Image.Image:
    """Four equal views with labels on top, an oblique slice, a slab, and the value under the cursor."""
    with start(roots=[folder]) as viewer, browser.new_page(viewport=WIDE) as page:
        show_neurons(viewer, folder)
        viewer.change("volumes", 1, "is_visible", value=True)
        page.goto(viewer.url)
        ready(page)
        page.keyboard.press("3")
        page.get_by_role("button", name="Oblique slice", exact=True).click()
        handle = page.get_by_role("slider", name="Tilt of the oblique plane")
        handle.focus()
        for _ in range(6):
            page.keyboard.press("ArrowRight")
        page.get_by_role("button", name="Display of the slice across y").click()
        page.get_by_label("Thickness (slices), number").fill("9")
        page.keyboard.press("Enter")
        page.wait_for_timeout(SETTLE_MS)
        page.get_by_role("slider", name="Slice across z").hover(position={"x": 150, "y": 170})
        return shot(page)


def labels(browser: Browser, folder: Path) -> Image.Image:
    """Named, recoloured and isolated labels, their list and legend."""
    with start(roots=[folder]) as viewer, browser.new_page(viewport=WIDE) as page:
        show_neurons(viewer, folder)
        rows = sorted(viewer.labels.table(), key=lambda row: -row.voxels)[:6]
        names = ("axon", "dendrite", "glia", "soma", "spine", "bouton")
        for row, name in zip(rows, names, strict=False):
            viewer.labels.set(row.label, name=name)
        viewer.labels.set(rows[1].label, color=(0.95, 0.55, 0.15))
        viewer.labels.isolate(*(row.label for row in rows[:4]))
        viewer.layers.hide(0)
        viewer.layers.set_opacity(1, 0.95)
        page.goto(viewer.url)
        ready(page)
        page.locator(".layer", has_text="labels").locator("button").first.click()
        page.get_by_label("Find a label").fill("o")
        return shot(page)


def measures(browser: Browser, folder: Path) -> Image.Image:
    """A distance with its values, an angle, a box, a sphere and a note, and their list."""
    with start(roots=[folder]) as viewer, browser.new_page(viewport=WIDE) as page:
        viewer.load(folder / "engine.nii.gz")
        viewer.measures.add("distance", [(60, 75, 64), (95, 75, 64)], name="wall")
        viewer.measures.add("angle", [(60, 150, 64), (110, 150, 64), (110, 190, 64)], name="rib")
        viewer.measures.add("sphere", [(150, 120, 64), (165, 120, 64)], name="bore")
        viewer.measures.note((180, 60, 64), "check this seam")
        page.goto(viewer.url)
        ready(page)
        page.keyboard.press("3")
        page.keyboard.press("m")
        return shot(page)


def phone(browser: Browser, folder: Path) -> Image.Image:
    """The scene, the panel as a sheet, slices, and the share dialog, as wide as a phone."""
    shots = []
    with start(roots=[folder]) as viewer, browser.new_page(viewport=PHONE) as page:
        viewer.load(folder / "engine.nii.gz")
        page.goto(viewer.url)
        ready(page)
        shots.append(shot(page))
        page.get_by_role("button", name="Panel").click()
        shots.append(shot(page))
        page.get_by_role("button", name="Panel").click()
        page.keyboard.press("3")
        shots.append(shot(page))
        page.keyboard.press("1")
        page.get_by_role("button", name="Share").first.click()
        shots.append(shot(page))
    sheet = Image.new("RGB", (4 * PHONE["width"] + 60, PHONE["height"]), (60, 64, 72))
    for place, one in enumerate(shots):
        sheet.paste(one, (place * (PHONE["width"] + 20), 0))
    return sheet


IMAGES: dict[str, Callable[[Browser, Path], Image.Image]] = {
    "page-open": opening,
    "page-first-images": first_images,
    "page-slices": slices,
    "page-labels": labels,
    "page-measures": measures,
    "page-phone": phone,
}
COPIED = ("volumes/engine.nii.gz", "volumes/stroke_T1.nii.gz", "em/fibsem_2.h5")


def main() -> None:
    wanted = sys.argv[1:] or list(IMAGES)
    program = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place, "data")
        folder.mkdir()
        os.environ["PELLUCID_STATE_FOLDER"] = str(Path(place, "state"))  # Recent files are those of these images.
        for name in COPIED:
            shutil.copy(SHARED / name, folder)
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        with chdir(folder):
            for name in wanted:
                save(IMAGES[name](browser, folder), FOLDER / f"{name}.jpg")
        browser.close()


def save(image: Image.Image, path: Path) -> None:
    if image.width > SHOWN_WIDTH:
        image = image.resize((SHOWN_WIDTH, round(SHOWN_WIDTH * image.height / image.width)), Image.Resampling.LANCZOS)
    image.save(path, quality=QUALITY, optimize=True)
    sys.stdout.write(f"{path.name}: {path.stat().st_size / 1000:.0f} kB, {image.width} × {image.height}\n")


if __name__ == "__main__":
    main()
