"""A PyTorch model on the page: drawn while it is evaluated, with its batch size and the samples of a ray."""

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from pellucid.formats.protocol import Voxels
from tests.web.browsing import Viewer, opened, pixels, wait_for_scene
from tests.web.conftest import SIZE

SOURCE = """
import torch

class Shell(torch.nn.Module):
    shape = (48, 48, 48)

    def forward(self, points):
        if len(points) > 9000:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        ripples = torch.sin(12 * points).prod(dim=1)
        return torch.exp(-40 * (points.norm(dim=1) - 0.7) ** 2) + 0.3 * ripples
"""


@pytest.fixture(scope="module")
def model_viewer(tmp_path_factory: pytest.TempPathFactory) -> "Viewer":
    folder = tmp_path_factory.mktemp("models")
    (folder / "shell.py").write_text(SOURCE)
    return Viewer(Path(f"{folder / 'shell.py'}:Shell"))


def shell() -> Voxels:
    z, y, x = np.meshgrid(*[np.linspace(-1, 1, 48)] * 3, indexing="ij")
    ripples = np.sin(12 * z) * np.sin(12 * y) * np.sin(12 * x)
    return np.exp(-40 * (np.sqrt(z**2 + y**2 + x**2) - 0.7) ** 2) + 0.3 * ripples


def test_a_model_is_viewed_and_its_controls_work(browser: Browser, model_viewer: Viewer) -> None:
    model_viewer.start()
    try:
        context = browser.new_context(viewport=SIZE)
        page = context.new_page()
        opened(page, model_viewer.url)
        check_page(page)
        context.close()
    finally:
        model_viewer.kill()


def check_page(page: Page) -> None:
    expect(page.get_by_text("shell.py:Shell").first).to_be_visible()
    section = page.locator(".section", has=page.get_by_role("heading", name="Model"))
    expect(section.get_by_text("shell.py:Shell on cpu", exact=True)).to_be_visible()
    expect(section.get_by_text("There is not enough memory for more.")).to_be_visible()
    batch = section.get_by_label("Points at once")
    expect(batch).to_have_value("8192")
    batch.select_option("2048")
    expect(batch).to_have_value("2048")
    expect(section.get_by_text("There is not enough memory for more.")).to_have_count(0)
    samples = section.get_by_label("Samples per ray, number")
    expect(samples).to_have_value("96")
    before = pixels(page)
    samples.fill("24")
    samples.press("Enter")
    wait_for_scene(page, "scene.step === 2")
    assert before.std() > 5
