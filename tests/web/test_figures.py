"""The window for images: preview, annotations, size on paper, and a file that opens the view again."""

import io
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect

from pellucid.rendering.figures.image_files import scene_in_image
from tests.web.browsing import wait_for_scene


def test_a_figure_is_previewed_saved_and_opened_again(page: Page, tmp_path: Path) -> None:
    page.keyboard.press("p")
    page.get_by_role("combobox", name="Size").select_option("column")
    expect(page.get_by_alt_text("Preview")).to_be_visible()
    first = page.get_by_alt_text("Preview").get_attribute("src")
    page.get_by_label("Colour bar").check()
    page.get_by_label("Unit of the values").fill("HU")
    expect(page.get_by_alt_text("Preview")).not_to_have_attribute("src", first or "")
    resolution = page.get_by_label("Pixels per inch on paper")
    resolution.fill("100")
    resolution.press("Enter")
    expect(page.get_by_text("335 × 236 pixels, 8.5 × 6.0 cm")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save image").click()
    path = tmp_path / "figure.png"
    path.write_bytes(Path(saved.value.path()).read_bytes())
    image = Image.open(io.BytesIO(path.read_bytes()))
    assert (image.size, round(image.info["dpi"][0])) == ((335, 236), 100)
    kept = scene_in_image(path)
    assert kept is not None and kept.annotations.value_unit == "HU"
    page.get_by_role("button", name="Max", exact=True).click()
    wait_for_scene(page, "scene.volumes[0].mode === 'max'")
    drop(page, path)
    wait_for_scene(page, "scene.volumes[0].mode === 'composite' && scene.annotations.value_unit === 'HU'")


def drop(page: Page, path: Path) -> None:
    """A file from outside, onto the page."""
    script = """(bytes) => { const carried = new DataTransfer();
        carried.items.add(new File([new Uint8Array(bytes)], "figure.png", { type: "image/png" }));
        for (const kind of ["dragover", "drop"])
            document.body.dispatchEvent(
                new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: carried })); }"""
    page.evaluate(script, list(path.read_bytes()))
