"""A beamline with a foam, a viewer that sees it, and the page with the foam in front."""

from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from playwright.sync_api import Page, expect

from pellucid.device import choose
from pellucid.tomo.pipeline.preview import SlicePreview
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.tomo.simulation.detector import Detector, Faults, simulate
from pellucid.tomo.simulation.phantoms import foam
from pellucid.volume.sample_volume import sample
from tests.web.browsing import Viewer
from tests.web.reconstruction.workbench import AXIS, COLUMNS, ROWS, VIEWS, choose_scan, settled


@pytest.fixture(scope="module")
def viewer(beamline: Path) -> Iterator[Viewer]:
    started = Viewer(beamline / "first.npy")
    started.start("--root", str(beamline))
    yield started
    started.kill()


@pytest.fixture(scope="session")
def beamline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a foam with rings, as a beamline would write it; and the same without flats."""
    beamline = tmp_path_factory.mktemp("beamline")
    angles = np.arange(VIEWS) * np.pi / VIEWS
    detector = Detector(ROWS, COLUMNS, axis_column=AXIS)
    made = simulate(foam(36, bubbles=20), detector, angles, Faults(rings=5, ring_strength=0.1))
    for name in ("foam.h5", "bare.h5"):
        with h5py.File(beamline / name, "w") as file:
            file["exchange/data"], file["exchange/theta"] = made.projections.read(), np.degrees(angles)
            if name == "foam.h5" and made.flats and made.darks:
                file["exchange/data_white"], file["exchange/data_dark"] = made.flats.read(), made.darks.read()
    np.save(beamline / "first.npy", sample(16))
    return beamline


@pytest.fixture
def scan(beamline: Path, request: pytest.FixtureRequest) -> Path:
    """The foam under a name of its own: what is set up for a scan stays with the viewer."""
    own = beamline / f"{request.node.name}.h5"
    own.hardlink_to(beamline / "foam.h5")
    return own


@pytest.fixture
def page(page: Page) -> Page:
    """Without what the test before left open."""
    if page.get_by_role("region", name="Reconstruction").count():
        page.keyboard.press("Escape")
        expect(page.get_by_role("region", name="Reconstruction")).to_have_count(0)
    return page


@pytest.fixture(scope="session")
def preview(beamline: Path) -> Iterator[SlicePreview]:
    opened = SlicePreview(open_scan(beamline / "foam.h5"), choose("cpu"))
    yield opened
    opened.close()


@pytest.fixture
def workbench(page: Page, scan: Path) -> Page:
    """The page, with the scan chosen in the file browser."""
    choose_scan(page, scan.name)
    settled(page)
    return page
