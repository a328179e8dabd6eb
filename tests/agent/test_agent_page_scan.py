"""A scan on the agent's page, in a real browser: its reconstruction opens in a viewer, on this machine or on a node."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import tifffile
from playwright.sync_api import Browser, Page, expect

from tests.agent.processes import AgentProcess, agent
from tests.slurm_cluster import SlurmCluster
from tests.tomo.small_scan import write_scan
from tests.waiting import TIMEOUT_MS

SLURM = """
scheduler = "slurm"
partition = "main"
time_limit_minutes = 10
poll_s = 0.3
"""


SIZES = [(1440, 900), (1024, 700), (390, 844)]


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    folder = tmp_path / "scans"
    folder.mkdir()
    write_scan(folder / "scan.h5", rows=4, views=36)
    return folder


@contextmanager
def chosen(browser: Browser, running: AgentProcess) -> Iterator[Page]:
    """The page with the scan selected; no fault of it is tolerated."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(running.url)
    page.locator("#entries").get_by_role("button", name="scan.h5", exact=True).click(timeout=TIMEOUT_MS)
    expect(page.locator("#chosen")).to_contain_text("Projections", timeout=TIMEOUT_MS)
    yield page
    assert faults == []
    page.close()


def press_reconstruct(page: Page) -> Page:
    """The tab that opens."""
    with page.expect_popup() as popup:
        page.get_by_role("button", name="Reconstruct", exact=True).click()
    return popup.value


def see_workbench(viewer: Page, name: str = "scan.h5") -> None:
    workbench = viewer.get_by_role("region", name="Reconstruction")
    expect(workbench.get_by_role("heading", name=f"Reconstruct {name}")).to_be_visible(timeout=TIMEOUT_MS)
    expect(workbench.get_by_label("Column, number")).to_be_visible(timeout=TIMEOUT_MS)
    assert "#" not in viewer.url and viewer.evaluate("window.opener") is None


def test_reconstruct_opens_the_scan_in_a_viewer_which_makes_the_volume(
    browser: Browser, tmp_path: Path, scans: Path
) -> None:
    with (
        agent(tmp_path, f'roots = ["{scans}"]', PELLUCID_DEVICE="cpu") as running,
        chosen(browser, running) as page,
    ):
        viewer = press_reconstruct(page)
        see_workbench(viewer)
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("article", name="Reconstruction of scan.h5")).to_be_visible()
        viewer.get_by_role("button", name="Reconstruct all slices").click()
        expect(viewer.get_by_role("button", name="Open volume")).to_be_visible(timeout=TIMEOUT_MS)
        assert [path.name for path in scans.iterdir() if path.is_dir()]
        viewer.get_by_role("button", name="Close reconstruction").click()
        expect(viewer.get_by_role("region", name="Reconstruction")).to_have_count(0)
        viewer.close()
        again = press_reconstruct(page)
        see_workbench(again)
        expect(page.locator("#jobs").get_by_role("article", name="Reconstruction of scan.h5")).to_have_count(1)
        again.close()


def write_folder(folder: Path, *, has_darks: bool = True) -> None:
    """A scan as beamlines write it: TIFF files, told apart by their names."""
    folder.mkdir()
    random = np.random.default_rng(1)
    for number in range(20):
        tifffile.imwrite(folder / f"raw_{number:04d}.tif", random.integers(400, 600, (8, 32), np.uint16))
    tifffile.imwrite(folder / "flat_0001.tif", np.full((8, 32), 1000, np.uint16))
    if has_darks:
        tifffile.imwrite(folder / "dark_0001.tif", np.full((8, 32), 10, np.uint16))
    np.savetxt(folder / "angles.txt", np.arange(20) * 9.0)


@pytest.mark.parametrize("size", SIZES)
def test_a_folder_of_tiff_files_is_reconstructed(
    browser: Browser, tmp_path: Path, scans: Path, size: tuple[int, int]
) -> None:
    write_folder(scans / "beads")
    with agent(tmp_path, f'roots = ["{scans}"]', PELLUCID_DEVICE="cpu") as running:
        page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        page.goto(running.url)
        page.locator("#entries").get_by_role("button", name="beads", exact=True).click(timeout=TIMEOUT_MS)
        selection = page.locator("#chosen")
        expect(selection).to_contain_text("Scan (TIFF folder)", timeout=TIMEOUT_MS)
        expect(selection).to_contain_text("20 over 180°, 1 flat, 1 dark")
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        viewer = press_reconstruct(page)
        see_workbench(viewer, "beads")
        viewer.close()
        page.close()


def test_on_slurm_it_asks_for_resources_and_the_card_opens_the_scan(
    browser: Browser, slurm: SlurmCluster, tmp_path: Path, scans: Path
) -> None:
    with (
        agent(tmp_path, f'{SLURM}roots = ["{scans}"]', PELLUCID_DEVICE="cpu", **slurm.environment) as running,
        chosen(browser, running) as page,
    ):
        page.get_by_role("button", name="Reconstruct", exact=True).click()
        request = page.get_by_role("dialog", name="Reconstruct scan.h5")
        request.get_by_label("GPUs").fill("0")
        request.get_by_label("Memory").fill("1 GiB")
        request.get_by_role("button", name="Start").click()
        card = page.get_by_role("article", name="Reconstruction of scan.h5")
        with page.expect_popup() as popup:
            card.get_by_role("button", name="Open", exact=True).click(timeout=TIMEOUT_MS)
        see_workbench(popup.value)
        popup.value.close()


def test_a_viewer_that_cannot_start_closes_its_tab_and_shows_why(browser: Browser, tmp_path: Path, scans: Path) -> None:
    with (
        agent(tmp_path, f'roots = ["{scans}"]', PELLUCID_DEVICE="cpu") as running,
        chosen(browser, running) as page,
    ):
        lacking = {"scan": str(scans / "scan.h5"), "state": "no such state"}
        page.route("**/api/instances", lambda route: route.continue_(post_data=lacking))
        viewer = press_reconstruct(page)
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("stopped before its page could be opened", timeout=TIMEOUT_MS)
        expect(alert).to_contain_text("no such state")
        assert viewer.is_closed()


def test_what_a_scan_lacks_is_said_without_options_of_the_command_line(
    browser: Browser, tmp_path: Path, scans: Path
) -> None:
    write_folder(scans / "beads", has_darks=False)
    with agent(tmp_path, f'roots = ["{scans}"]', PELLUCID_DEVICE="cpu") as running:
        page = browser.new_page()
        page.goto(running.url)
        page.locator("#entries").get_by_role("button", name="beads", exact=True).click(timeout=TIMEOUT_MS)
        selection = page.locator("#chosen")
        expect(selection).to_contain_text("has no darks. Reconstruct asks for it.", timeout=TIMEOUT_MS)
        assert "--" not in selection.inner_text()
        page.close()
