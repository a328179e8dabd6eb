"""A viewer for every module, a page for every test."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from pellucid.volume.sample_volume import sample
from tests.web.browsing import Viewer, opened_alone

EDGE = 32
SIZE = ViewportSize(width=1280, height=720)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scans")
    np.save(folder / "first.npy", sample(EDGE))
    (folder / "inside").mkdir()
    np.save(folder / "inside" / "second.npy", sample(EDGE)[:, ::-1, : EDGE // 2].copy())
    return folder


@pytest.fixture(scope="module")
def viewer(folder: Path) -> Iterator[Viewer]:
    """Shared by the tests of a module: none may count on what the scene was before."""
    started = Viewer(folder / "first.npy")
    started.start("--root", str(folder))
    yield started
    started.kill()


@pytest.fixture
def page(browser: Browser, viewer: Viewer) -> Iterator[Page]:
    """The page, with its first exact image; nothing may go wrong in it unseen."""
    context = browser.new_context(viewport=SIZE, accept_downloads=True)
    faults: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    opened_alone(page, viewer.url)
    yield page
    context.close()
    assert faults == []
