"""From a scan to a volume on the page: the run, other pages that go on with it, files that do not say everything."""

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from pellucid.tomo.pipeline.preview import SlicePreview
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.volume.volume import open_volume
from tests.waiting import TIMEOUT_MS
from tests.web.browsing import Viewer, opened, peak_signal, scene, see, wait_for_rest
from tests.web.conftest import SIZE
from tests.web.reconstruction.workbench import RECIPE, ROWS, VIEWS, center_of, choose_scan, exact, fill, own, settled


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 700), (390, 844)])
def test_all_slices_are_made_and_opened(
    workbench: Page, preview: SlicePreview, scan: Path, width: int, height: int
) -> None:
    workbench.set_viewport_size({"width": width, "height": height})
    target, center = scan.with_name(f"made-{width}.zarr"), center_of(workbench)
    workbench.get_by_label("Output", exact=True).fill(str(target))
    workbench.keyboard.press("Enter")
    workbench.get_by_role("button", name="Reconstruct all slices").click()
    expect(workbench.get_by_role("progressbar", name="Reconstruction", exact=True)).to_be_visible()
    expect(workbench.get_by_text(re.compile(r"about \d+ s left"))).to_be_in_viewport(ratio=1)
    opener = workbench.get_by_role("button", name="Open volume")
    expect(opener).to_be_visible(timeout=TIMEOUT_MS)
    done = workbench.get_by_role("status").get_by_text(re.compile(r"Done in [\d.]+ (s|min)"))
    expect(done).to_be_in_viewport(ratio=1)
    assert scene(workbench)["scene"]["volumes"][0]["source"].startswith("memory:")  # Slices were seen as they came.
    opener.click()
    expect(workbench.get_by_role("region", name="Reconstruction")).to_have_count(0)
    assert scene(workbench)["scene"]["volumes"][0]["source"] == str(target)
    with open_volume(target) as volume:
        made, wanted = volume.read()[ROWS // 2], preview.slice(ROWS // 2, replace(RECIPE, center=center))
    assert np.abs(made - wanted).max() < 1e-4 * np.ptp(wanted)


def test_another_page_goes_on_with_what_was_set_up(workbench: Page, viewer: Viewer, scan: Path) -> None:
    workbench.get_by_role("combobox", name="Filter").select_option("parzen")
    workbench.get_by_role("combobox", name="Ring removal").select_option("titarenko")
    number = workbench.get_by_label("Column, number")
    number.fill("44.5")
    number.press("Enter")
    exact(workbench, "slice", "Number(shown.center) === 44.5")
    workbench.reload()
    second = workbench.context.new_page()
    second.goto(viewer.url)
    for page in (workbench, second):
        expect(page.get_by_role("combobox", name="Filter")).to_have_value("parzen", timeout=TIMEOUT_MS)
        expect(page.get_by_role("combobox", name="Ring removal")).to_have_value("titarenko")
        assert center_of(page) == 44.5
        exact(page, "slice", "Number(shown.center) === 44.5")
    second.keyboard.press("Escape")
    expect(second.get_by_role("region", name="Reconstruction")).to_have_count(0)
    second.reload()  # It was put aside: what was set up is there again when the scan is.
    wait_for_rest(second)
    expect(second.get_by_role("region", name="Reconstruction")).to_have_count(0)
    choose_scan(second, scan.name)
    expect(second.get_by_role("combobox", name="Filter")).to_have_value("parzen")


def test_a_viewer_that_was_started_again_learns_what_is_set_up(browser: Browser, beamline: Path, scan: Path) -> None:
    alone = Viewer(beamline / "first.npy")
    alone.start("--root", str(beamline))
    context = browser.new_context(viewport=SIZE)
    try:
        page = context.new_page()
        opened(page, alone.url)
        choose_scan(page, scan.name)
        settled(page)
        page.get_by_role("combobox", name="Filter").select_option("hamming")
        port = alone.port
        alone.kill()
        see(page, "The viewer does not respond")
        alone.start("--root", str(beamline), "--port", str(port))
        expect(page.get_by_text("The viewer does not respond")).to_have_count(0, timeout=TIMEOUT_MS)
        second = context.new_page()
        second.goto(alone.url)
        expect(second.get_by_role("combobox", name="Filter")).to_have_value("hamming", timeout=TIMEOUT_MS)
    finally:
        context.close()
        alone.kill()


def test_a_run_is_there_on_another_page(workbench: Page, viewer: Viewer, scan: Path) -> None:
    second = workbench.context.new_page()
    second.goto(viewer.url)  # Open before anything runs.
    expect(second.get_by_label("Column, number")).to_be_visible(timeout=TIMEOUT_MS)
    workbench.get_by_role("combobox", name="Filter").select_option("cosine")
    workbench.get_by_label("Output", exact=True).fill(str(scan.with_name("seen.zarr")))
    workbench.keyboard.press("Enter")
    workbench.get_by_role("button", name="Reconstruct all slices").click()
    expect(second.get_by_role("progressbar", name="Reconstruction", exact=True)).to_be_visible(timeout=TIMEOUT_MS)
    workbench.reload()
    output = str(scan.with_name("seen.zarr"))
    expect(workbench.get_by_label("Output", exact=True)).to_have_value(output, timeout=TIMEOUT_MS)
    expect(workbench.get_by_role("combobox", name="Filter")).to_have_value("cosine")
    for page in (workbench, second):
        expect(page.get_by_role("button", name="Open volume")).to_be_visible(timeout=TIMEOUT_MS)
    workbench.reload()  # It has ended meanwhile.
    expect(workbench.get_by_role("button", name="Open volume")).to_be_visible(timeout=TIMEOUT_MS)


def test_there_is_a_way_back_from_a_run_that_is_watched(workbench: Page, scan: Path) -> None:
    workbench.get_by_role("group", name="Method").get_by_role("button", name="SIRT").click()
    fill(workbench, "Iterations", "20000")  # Nobody waits for its end.
    workbench.get_by_role("button", name="Reconstruct all slices").click()
    workbench.get_by_role("button", name="Watch").click()
    expect(workbench.get_by_role("region", name="Reconstruction")).to_have_count(0)
    workbench.reload()
    wait_for_rest(workbench)
    expect(workbench.get_by_role("region", name="Reconstruction")).to_have_count(0)
    workbench.get_by_role("button", name="Settings", exact=True).click(timeout=TIMEOUT_MS)
    expect(workbench.get_by_label("Iterations", exact=True)).to_have_value("20000", timeout=TIMEOUT_MS)
    expect(workbench.get_by_role("progressbar", name="Reconstruction", exact=True)).to_be_visible()
    workbench.get_by_role("button", name="Stop", exact=True).click()
    see(workbench, "The reconstruction was cancelled.")
    assert not scan.with_suffix(".zarr").exists()


def choose_parts(page: Page, **parts: str) -> None:
    for label, value in parts.items():
        page.get_by_role("combobox", name=label, exact=True).select_option(value)


def test_a_plain_file_is_reconstructed_once_its_datasets_are_named(
    page: Page, beamline: Path, preview: SlicePreview
) -> None:
    with h5py.File(beamline / "plain.h5", "w") as file, closing(open_scan(beamline / "foam.h5")) as foam:
        assert foam.flats and foam.darks
        for name, frames in (("images", foam.projections), ("white", foam.flats), ("dark", foam.darks)):
            file[f"raw/{name}"] = frames.read()
        file["stage/position"], file["stage/temperature"] = np.degrees(foam.angles_rad), np.full(VIEWS + 3, 21.0)
    choose_scan(page, "plain.h5")
    page.get_by_role("button", name="Reconstruct…").click()
    see(page, "Choose which of its datasets")
    for label, name in (("Projections", "/raw/images"), ("Flats", "/raw/white"), ("Darks", "/raw/dark")):
        expect(page.get_by_role("combobox", name=label, exact=True)).to_have_value(name)
    expect(page.get_by_role("combobox", name="Angle list")).to_have_value("/stage/position")
    choose_parts(page, **{"Angle list": "/stage/temperature"})
    page.get_by_role("button", name="Read as a scan").click()
    see(page, f"contains {VIEWS + 3} angles, but there are {VIEWS} projections")
    choose_parts(page, Flats="other", Darks="none")
    expect(page.get_by_role("button", name="Read as a scan")).to_be_disabled()  # Not all is said.
    fill(page, "Flats file", "/raw/white")
    choose_parts(page, **{"Angle list": "/stage/position"}, Darks="/raw/dark")
    page.get_by_role("button", name="Read as a scan").click()
    seen = settled(page)
    assert peak_signal(seen, own(page, preview, replace(RECIPE, center=center_of(page)))) > 45
    page.get_by_role("button", name="Reproduce").click()
    named = "--projections /raw/images --flats /raw/white --darks /raw/dark --angles /stage/position"
    expect(page.locator("[data-command]")).to_contain_text(named)


def test_what_a_scan_lacks_is_chosen_from_buttons_and_lists(page: Page) -> None:
    choose_scan(page, "bare.h5")
    see(page, "has no flats")
    expect(page.get_by_text("--flats")).to_have_count(0)
    expect(page.get_by_role("button", name="Read as a scan")).to_be_disabled()
    choose_parts(page, Flats="none", Darks="none")
    page.get_by_role("button", name="Read as a scan").click()
    exact(page, "slice")
    expect(page.get_by_text("has no flats")).to_have_count(0)
    page.get_by_role("button", name="Scan", exact=True).click()
    angles = page.get_by_role("group", name="Angles")
    angles.get_by_role("button", name="0–360°").click()
    see(page, f"{VIEWS} views, 0.0° to 357.0°")
    angles.get_by_role("button", name="Range").click()
    fill(page, "Last angle", "90")
    page.get_by_label("The last projection is at 90°").check()
    see(page, f"{VIEWS} views, 0.0° to 90.0°")
    page.get_by_role("button", name="Scan", exact=True).click()  # The browser remembers that it was closed.
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Reconstruction")).to_have_count(0)
