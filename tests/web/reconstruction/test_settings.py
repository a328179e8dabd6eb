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
from pellucid.tomo.phase import Paganin
from pellucid.tomo.reading.assembly import ScanOptions
from pellucid.tomo.reading.opening import open_scan
from pellucid.tomo.rings import RingSettings
from pellucid.tomo.trial import Trial
from tests.web.browsing import PATIENCE_MS, peak_signal, see
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


def test_what_goes_in_and_what_would_come_out(bench: Page, trial: Trial) -> None:
    see(bench, f"{VIEWS} views")
    found = center_of(bench)
    assert found == pytest.approx(AXIS, abs=0.3)
    pixels = exact(bench, "slice", f"Number(shown.center) === {found}")
    assert peak_signal(pixels, own(bench, trial, replace(RECIPE, center=found))) > 45
    assert exact(bench, "projection").shape == (ROWS, COLUMNS)
    assert exact(bench, "sinogram").shape == (VIEWS, COLUMNS)


def test_the_axis_is_dragged_and_the_slice_follows(bench: Page, trial: Trial) -> None:
    before = exact(bench, "slice")
    line = bench.get_by_role("slider", name="Axis").first
    place = line.bounding_box()
    image = bench.locator('canvas[data-place="projection"]').bounding_box()
    assert place is not None and image is not None
    x, y = place["x"] + place["width"] / 2, place["y"] + 20
    bench.mouse.move(x, y)
    bench.mouse.down()
    bench.mouse.move(x + 5 * image["width"] / COLUMNS, y, steps=5)
    bench.mouse.up()
    expect(bench.get_by_label("Column, number")).not_to_have_value(re.compile(r"^45\."))
    moved = center_of(bench)
    assert moved == pytest.approx(AXIS + 5, abs=1)
    after = exact(bench, "slice", f"Number(shown.center) === {moved}")
    assert peak_signal(before, after) < 30
    assert peak_signal(after, own(bench, trial, replace(RECIPE, center=moved))) > 45
    line.focus()
    bench.keyboard.press("ArrowLeft")
    expect(bench.get_by_label("Column, number")).to_have_value(f"{moved - 0.25:.2f}")
    bench.get_by_role("button", name="Find automatically").click()
    exact(bench, "slice", f"Math.abs(Number(shown.center) - {AXIS}) < 0.3")


def test_rings_before_and_after(bench: Page, trial: Trial) -> None:
    center = center_of(bench)
    bench.get_by_role("combobox", name="Ring removal").select_option("vo-all")
    bench.get_by_role("group", name="Compare with").get_by_role("button", name="Rings").click()
    before = exact(bench, "before")
    after = exact(bench, "slice")
    recipe = replace(RECIPE, center=center)
    assert peak_signal(before, own(bench, trial, recipe, "before")) > 45
    assert peak_signal(after, own(bench, trial, replace(recipe, rings=RingSettings("vo-all")))) > 45
    assert peak_signal(before, after) < 40
    split = bench.get_by_role("slider", name="Before and after")
    split.focus()
    bench.keyboard.press("Shift+ArrowRight")
    expect(split).to_have_attribute("aria-valuenow", "60")


def test_an_axis_that_leans_and_larger_voxels(bench: Page, trial: Trial, scan: Path) -> None:
    center, last = center_of(bench), ROWS - 1
    row = bench.get_by_role("slider", name="Row")
    row.focus()
    bench.keyboard.press("PageUp")
    expect(row).to_have_attribute("aria-valuenow", str(last))
    recipe = replace(RECIPE, center=center)
    upright = exact(bench, "slice", f"Number(shown.index) === {last}")
    fill(bench, "Tilt", "0.4")
    tilted = exact(bench, "slice", asked_with(tilt=0.4))
    assert peak_signal(tilted, own(bench, trial, replace(recipe, tilt=0.4), row=last)) > 45
    assert peak_signal(tilted, upright) < 35
    fill(bench, "Roll", "-3")
    turned = exact(bench, "slice", asked_with(roll_deg=-3, tilt=0))
    assert peak_signal(turned, own(bench, trial, replace(recipe, roll_deg=-3.0), row=last)) > 45
    fill(bench, "Binning", "2")
    binned = exact(bench, "slice", asked_with(binning=2))
    assert binned.shape == (COLUMNS // 2, COLUMNS // 2)
    assert peak_signal(binned, own(bench, trial, replace(recipe, roll_deg=-3.0, binning=2), row=last)) > 45
    see(bench, f"row {last}, slice {last // 2}")
    bench.get_by_role("button", name="Reproduce").click()
    expect(bench.locator("[data-command]")).to_contain_text(f"--center {center:g} --tilt 0.0 --roll=-3.0 --bin 2")
    with bench.expect_download() as saved:
        bench.get_by_role("button", name="Save").click()
    said = json.loads(Path(saved.value.path()).read_text())["recipe"]
    assert (said["roll_deg"], said["binning"], said["tilt"]) == (-3, 2, 0)
    with bench.expect_file_chooser() as asked:
        bench.get_by_role("button", name="Load").click()
    sought = json.dumps({"recipe": {"center": "auto", "roll_deg": "auto"}}).encode()
    asked.value.set_files({"name": "a.json", "mimeType": "application/json", "buffer": sought})
    found = exact(
        bench,
        "slice",
        'JSON.parse(shown.recipe).roll_deg !== -3 && typeof JSON.parse(shown.recipe).roll_deg === "number"',
    )
    roll = float(bench.get_by_label("Roll", exact=True).input_value())
    recipe = replace(RECIPE, center=center_of(bench), roll_deg=roll, binning=2)
    assert peak_signal(found, own(bench, trial, recipe, row=last)) > 45
    bench.get_by_role("button", name="Find", exact=True).first.click()
    expect(bench.get_by_label("Roll", exact=True)).to_have_value("0", timeout=PATIENCE_MS)
    assert abs(float(bench.get_by_label("Tilt", exact=True).input_value())) < 0.1
    assert center_of(bench) == pytest.approx(AXIS, abs=0.5)
    fill(bench, "Binning", "13")
    expect(bench.get_by_label("Binning", exact=True)).to_have_value(str(ROWS))  # No more than there are rows.


def test_phase_before_and_after(bench: Page, scan: Path) -> None:
    center = center_of(bench)
    bench.get_by_role("button", name="Phase", expanded=False).click()
    expect(bench.get_by_label("Phase retrieval (Paganin)")).to_be_disabled()
    bench.get_by_role("button", name="Scan", exact=True).click()
    fill(bench, "Pixel (µm)", "5")
    bench.get_by_label("Phase retrieval (Paganin)").check()
    fill(bench, "Energy", "25")
    phase = Paganin(25, 100, 5.0, 200)
    see(bench, f"Smoothing radius: {phase.radius_px:.3f} pixels.")
    see(bench, f"phase smoothing radius {phase.radius_px:.3f} pixels")
    bench.get_by_role("group", name="Compare with").get_by_role("button", name="Phase").click()
    before, after = exact(bench, "before"), exact(bench, "slice", "JSON.parse(shown.recipe).phase?.energy_kev === 25")
    with closing(Trial(open_scan(scan, ScanOptions(pixel_size_um=5.0)), choose("cpu"))) as trial:
        recipe = replace(RECIPE, center=center)
        assert peak_signal(after, own(bench, trial, replace(recipe, phase=phase))) > 45
        assert peak_signal(before, own(bench, trial, recipe, "before")) > 45
    assert np.abs(np.diff(after.astype(int), axis=1)).mean() < 0.7 * np.abs(np.diff(before.astype(int), axis=1)).mean()
    fill(bench, "Distance", "500000")
    see(bench, "This phase filter smooths over")


@pytest.mark.parametrize("method", ["SIRT", "CGLS"])
def test_iterations_are_seen_in_the_slice(bench: Page, trial: Trial, method: str) -> None:
    recipe = replace(RECIPE, center=center_of(bench))
    bench.get_by_role("group", name="Method").get_by_role("button", name=method).click()
    fill(bench, "Iterations", "4")
    seen = exact(bench, "slice", asked_with(method=method.lower(), iterations=4))
    assert peak_signal(seen, own(bench, trial, replace(recipe, method=method.lower(), iterations=4))) > 45
    see(bench, "The preview uses all data and iterations")


def test_many_iterations_are_shown_coarsely_and_given_up(bench: Page, trial: Trial) -> None:
    recipe = replace(RECIPE, center=center_of(bench))
    methods = bench.get_by_role("group", name="Method")
    methods.get_by_role("button", name="SIRT").click()
    fill(bench, "Iterations", "2000")
    methods.get_by_role("button", name="Gridding").click()  # What takes long is given up for it.
    fast = exact(bench, "slice", asked_with(method="gridding"))
    assert peak_signal(fast, own(bench, trial, replace(recipe, method="gridding"))) > 45
    methods.get_by_role("button", name="SIRT").click()
    see(bench, "2 × 2 pixels binned, 1000 iterations")
    assert exact(bench, "slice", asked_with(iterations=2000)).shape == (COLUMNS // 2, COLUMNS // 2)


def test_parameters_are_a_line_and_a_file(bench: Page, scan: Path) -> None:
    bench.get_by_role("combobox", name="Filter").select_option("hann")
    bench.get_by_role("button", name="Reproduce").click()
    expect(bench.locator("[data-command]")).to_contain_text(f"pellucid reconstruct {scan}")
    expect(bench.locator("[data-command]")).to_contain_text("--filter hann")
    with bench.expect_download() as saved:
        bench.get_by_role("button", name="Save").click()
    text = Path(saved.value.path()).read_text()
    assert json.loads(text)["recipe"]["filter"] == "hann"
    bench.get_by_role("combobox", name="Filter").select_option("chesler")
    with bench.expect_file_chooser() as asked:
        bench.get_by_role("button", name="Load").click()
    asked.value.set_files({"name": "a.json", "mimeType": "application/json", "buffer": text.encode()})
    expect(bench.get_by_role("combobox", name="Filter")).to_have_value("hann")
