"""From a scan to a slice on the page: what goes in, settings tried, before and after, parameters to repeat it."""

import json
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from pellucid.device import choose
from pellucid.tomo.correction.phase import Paganin
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.pipeline.preview import SlicePreview
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan
from tests.waiting import TIMEOUT_MS
from tests.web.browsing import peak_signal, see
from tests.web.reconstruction.workbench import (
    AXIS,
    COLUMNS,
    RECIPE,
    ROWS,
    VIEWS,
    asked_with,
    center_of,
    exact,
    fill,
    own,
)


def test_what_goes_in_and_what_would_come_out(workbench: Page, preview: SlicePreview) -> None:
    see(workbench, f"{VIEWS} views")
    found = center_of(workbench)
    assert found == pytest.approx(AXIS, abs=0.3)
    pixels = exact(workbench, "slice", f"Number(shown.center) === {found}")
    assert peak_signal(pixels, own(workbench, preview, replace(RECIPE, center=found))) > 45
    assert exact(workbench, "projection").shape == (ROWS, COLUMNS)
    assert exact(workbench, "sinogram").shape == (VIEWS, COLUMNS)


def test_the_axis_is_dragged_and_the_slice_follows(workbench: Page, preview: SlicePreview) -> None:
    before = exact(workbench, "slice")
    line = workbench.get_by_role("slider", name="Axis").first
    place = line.bounding_box()
    image = workbench.locator('canvas[data-place="projection"]').bounding_box()
    assert place is not None and image is not None
    x, y = place["x"] + place["width"] / 2, place["y"] + 20
    workbench.mouse.move(x, y)
    workbench.mouse.down()
    workbench.mouse.move(x + 5 * image["width"] / COLUMNS, y, steps=5)
    workbench.mouse.up()
    expect(workbench.get_by_label("Column, number")).not_to_have_value(re.compile(r"^45\."))
    moved = center_of(workbench)
    assert moved == pytest.approx(AXIS + 5, abs=1)
    after = exact(workbench, "slice", f"Number(shown.center) === {moved}")
    assert peak_signal(before, after) < 30
    assert peak_signal(after, own(workbench, preview, replace(RECIPE, center=moved))) > 45
    line.focus()
    workbench.keyboard.press("ArrowLeft")
    expect(workbench.get_by_label("Column, number")).to_have_value(f"{moved - 0.25:.2f}")
    workbench.get_by_role("button", name="Find automatically").click()
    exact(workbench, "slice", f"Math.abs(Number(shown.center) - {AXIS}) < 0.3")


def test_rings_before_and_after(workbench: Page, preview: SlicePreview) -> None:
    center = center_of(workbench)
    workbench.get_by_role("combobox", name="Ring removal").select_option("vo-all")
    workbench.get_by_role("group", name="Compare with").get_by_role("button", name="Rings").click()
    before = exact(workbench, "before")
    after = exact(workbench, "slice")
    recipe = replace(RECIPE, center=center)
    assert peak_signal(before, own(workbench, preview, recipe, "before")) > 45
    assert peak_signal(after, own(workbench, preview, replace(recipe, rings=RingSettings("vo-all")))) > 45
    assert peak_signal(before, after) < 40
    split = workbench.get_by_role("slider", name="Before and after")
    split.focus()
    workbench.keyboard.press("Shift+ArrowRight")
    expect(split).to_have_attribute("aria-valuenow", "60")


def test_an_axis_that_leans_and_larger_voxels(workbench: Page, preview: SlicePreview, scan: Path) -> None:
    center, last = center_of(workbench), ROWS - 1
    row = workbench.get_by_role("slider", name="Row", exact=True)
    row.focus()
    workbench.keyboard.press("PageUp")
    expect(row).to_have_attribute("aria-valuenow", str(last))
    recipe = replace(RECIPE, center=center)
    upright = exact(workbench, "slice", f"Number(shown.index) === {last}")
    fill(workbench, "Tilt", "0.4")
    tilted = exact(workbench, "slice", asked_with(tilt=0.4))
    assert peak_signal(tilted, own(workbench, preview, replace(recipe, tilt=0.4), row=last)) > 45
    assert peak_signal(tilted, upright) < 35
    fill(workbench, "Roll", "-3")
    turned = exact(workbench, "slice", asked_with(roll_deg=-3, tilt=0))
    assert peak_signal(turned, own(workbench, preview, replace(recipe, roll_deg=-3.0), row=last)) > 45
    fill(workbench, "Binning", "2")
    binned = exact(workbench, "slice", asked_with(binning=2))
    assert binned.shape == (COLUMNS // 2, COLUMNS // 2)
    assert peak_signal(binned, own(workbench, preview, replace(recipe, roll_deg=-3.0, binning=2), row=last)) > 45
    see(workbench, f"row {last}, slice {last // 2}")
    workbench.get_by_role("button", name="Reproduce").click()
    expect(workbench.locator("[data-command]")).to_contain_text(f"--center {center:g} --tilt 0.0 --roll=-3.0 --bin 2")
    with workbench.expect_download() as saved:
        workbench.get_by_role("button", name="Save").click()
    text = json.loads(Path(saved.value.path()).read_text())["recipe"]
    assert (text["roll_deg"], text["binning"], text["tilt"]) == (-3, 2, 0)
    with workbench.expect_file_chooser() as request:
        workbench.get_by_role("button", name="Load").click()
    sought = json.dumps({"recipe": {"center": "auto", "roll_deg": "auto"}}).encode()
    request.value.set_files({"name": "a.json", "mimeType": "application/json", "buffer": sought})
    found = exact(
        workbench,
        "slice",
        'JSON.parse(shown.recipe).roll_deg !== -3 && typeof JSON.parse(shown.recipe).roll_deg === "number"',
    )
    roll = float(workbench.get_by_label("Roll", exact=True).input_value())
    recipe = replace(RECIPE, center=center_of(workbench), roll_deg=roll, binning=2)
    assert peak_signal(found, own(workbench, preview, recipe, row=last)) > 45
    workbench.get_by_role("button", name="Find", exact=True).first.click()
    expect(workbench.get_by_label("Roll", exact=True)).to_have_value("0", timeout=TIMEOUT_MS)
    assert abs(float(workbench.get_by_label("Tilt", exact=True).input_value())) < 0.1
    assert center_of(workbench) == pytest.approx(AXIS, abs=0.5)
    fill(workbench, "Binning", "13")
    expect(workbench.get_by_label("Binning", exact=True)).to_have_value(str(ROWS))  # No more than there are rows.


def test_phase_before_and_after(workbench: Page, scan: Path) -> None:
    center = center_of(workbench)
    workbench.get_by_role("button", name="Phase", expanded=False).click()
    expect(workbench.get_by_label("Phase retrieval (Paganin)")).to_be_disabled()
    workbench.get_by_role("button", name="Scan", exact=True).click()
    fill(workbench, "Pixel (µm)", "5")
    workbench.get_by_label("Phase retrieval (Paganin)").check()
    fill(workbench, "Energy", "25")
    phase = Paganin(25, 100, 5.0, 200)
    see(workbench, f"Smoothing radius: {phase.radius_px:.3f} pixels.")
    see(workbench, f"phase smoothing radius {phase.radius_px:.3f} pixels")
    workbench.get_by_role("group", name="Compare with").get_by_role("button", name="Phase").click()
    before = exact(workbench, "before")
    after = exact(workbench, "slice", "JSON.parse(shown.recipe).phase?.energy_kev === 25")
    with closing(SlicePreview(open_scan(scan, ScanOptions(pixel_size_um=5.0)), choose("cpu"))) as preview:
        recipe = replace(RECIPE, center=center)
        assert peak_signal(after, own(workbench, preview, replace(recipe, phase=phase))) > 45
        assert peak_signal(before, own(workbench, preview, recipe, "before")) > 45
    assert np.abs(np.diff(after.astype(int), axis=1)).mean() < 0.7 * np.abs(np.diff(before.astype(int), axis=1)).mean()
    fill(workbench, "Distance", "500000")
    see(workbench, "This phase filter smooths over")


@pytest.mark.parametrize("method", ["SIRT", "CGLS"])
def test_iterations_are_seen_in_the_slice(workbench: Page, preview: SlicePreview, method: str) -> None:
    recipe = replace(RECIPE, center=center_of(workbench))
    workbench.get_by_role("group", name="Method").get_by_role("button", name=method).click()
    fill(workbench, "Iterations", "4")
    seen = exact(workbench, "slice", asked_with(method=method.lower(), iterations=4))
    assert peak_signal(seen, own(workbench, preview, replace(recipe, method=method.lower(), iterations=4))) > 45
    see(workbench, "The preview uses all data and iterations")


def test_many_iterations_are_shown_coarsely_and_given_up(workbench: Page, preview: SlicePreview) -> None:
    recipe = replace(RECIPE, center=center_of(workbench))
    methods = workbench.get_by_role("group", name="Method")
    methods.get_by_role("button", name="SIRT").click()
    fill(workbench, "Iterations", "2000")
    methods.get_by_role("button", name="Gridding").click()  # What takes long is given up for it.
    fast = exact(workbench, "slice", asked_with(method="gridding"))
    assert peak_signal(fast, own(workbench, preview, replace(recipe, method="gridding"))) > 45
    methods.get_by_role("button", name="SIRT").click()
    see(workbench, "2 × 2 pixels binned, 1000 iterations")
    assert exact(workbench, "slice", asked_with(iterations=2000)).shape == (COLUMNS // 2, COLUMNS // 2)


def test_parameters_are_a_line_and_a_file(workbench: Page, scan: Path) -> None:
    workbench.get_by_role("combobox", name="Filter").select_option("hann")
    workbench.get_by_role("button", name="Reproduce").click()
    expect(workbench.locator("[data-command]")).to_contain_text(f"pellucid reconstruct {scan}")
    expect(workbench.locator("[data-command]")).to_contain_text("--filter hann")
    with workbench.expect_download() as saved:
        workbench.get_by_role("button", name="Save").click()
    text = Path(saved.value.path()).read_text()
    assert json.loads(text)["recipe"]["filter"] == "hann"
    workbench.get_by_role("combobox", name="Filter").select_option("chesler")
    with workbench.expect_file_chooser() as request:
        workbench.get_by_role("button", name="Load").click()
    request.value.set_files({"name": "a.json", "mimeType": "application/json", "buffer": text.encode()})
    expect(workbench.get_by_role("combobox", name="Filter")).to_have_value("hann")


def test_on_a_phone_everything_is_as_wide_as_the_window(workbench: Page) -> None:
    size = workbench.viewport_size
    assert size is not None
    workbench.set_viewport_size({"width": 390, "height": 844})
    for name in ("Close reconstruction", "Reconstruct all slices"):
        button = workbench.get_by_role("button", name=name)
        button.scroll_into_view_if_needed()
        place = button.bounding_box()
        assert place is not None and place["x"] >= 0 and place["x"] + place["width"] <= 390
    workbench.set_viewport_size(size)
