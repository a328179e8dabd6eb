"""From a scan to its volume on the page: what goes in, settings tried on a slice, before and after, the run."""

import io
import json
import re
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from pellucid.device import choose
from pellucid.formats.protocol import Voxels
from pellucid.tomo.phantoms import foam
from pellucid.tomo.phase import Paganin
from pellucid.tomo.reading.assembly import ScanOptions
from pellucid.tomo.reading.opening import open_scan
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.rings import RingSettings
from pellucid.tomo.simulation import Detector, Faults, simulate
from pellucid.tomo.trial import Trial
from pellucid.volume.sample import sample
from pellucid.volume.volume import open_volume
from pellucid.workers.trials import grey
from tests.web.browsing import PATIENCE_MS, Viewer, peak_signal, scene, see, wait_for_rest

COLUMNS, ROWS, VIEWS, AXIS = 96, 12, 120, 45.3
RECIPE = Recipe(center=AXIS)


@pytest.fixture(scope="module")
def viewer(beamline: Path) -> Iterator[Viewer]:
    np.save(beamline / "first.npy", sample(16))
    started = Viewer(beamline / "first.npy")
    started.start("--root", str(beamline))
    yield started
    started.kill()


@pytest.fixture(scope="module")
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


@pytest.fixture(scope="module")
def trial(beamline: Path) -> Iterator[Trial]:
    opened = Trial(open_scan(beamline / "foam.h5"), choose("cpu"))
    yield opened
    opened.close()


@pytest.fixture
def bench(page: Page, scan: Path) -> Page:
    """The page, with the scan chosen in the file browser."""
    choose_scan(page, scan.name)
    settled(page)
    return page


def settled(page: Page) -> Voxels:
    """The slice with the axis where it was found."""
    expect(page.get_by_label("Column, number")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("looking closer")).to_have_count(0, timeout=PATIENCE_MS)
    return exact(page, "slice", f"Number(shown.center) === {center_of(page)}")


def choose_scan(page: Page, name: str) -> None:
    page.keyboard.press("o")
    page.get_by_placeholder("Search").fill(name)
    page.get_by_role("button", name=name).click()


def exact(page: Page, place: str, claim: str = "true") -> Voxels:
    """The exact picture of a place, once a claim in JavaScript about ``shown`` is true of it."""
    script = f"""() => {{ const canvas = document.querySelector('canvas[data-place="{place}"]');
        const shown = canvas?.dataset ?? {{}};
        return shown.isExact === "true" && ({claim}) ? canvas.toDataURL("image/png") : null; }}"""
    encoded = page.wait_for_function(script, timeout=PATIENCE_MS).json_value()
    return np.asarray(Image.open(io.BytesIO(b64decode(encoded.partition(",")[2]))).convert("L"))


def own(page: Page, trial: Trial, recipe: Recipe, place: str = "slice", row: int = ROWS // 2) -> Voxels:
    """The library's own slice, in the greys of the page's."""
    shown = page.locator(f'canvas[data-place="{place}"]')
    low, high = (float(shown.get_attribute(f"data-{end}") or 0) for end in ("low", "high"))
    return grey(trial.slice(row, recipe), low, high)


def center_of(page: Page) -> float:
    return float(page.get_by_label("Column, number").input_value())


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
    picture = bench.locator('canvas[data-place="projection"]').bounding_box()
    assert place is not None and picture is not None
    x, y = place["x"] + place["width"] / 2, place["y"] + 20
    bench.mouse.move(x, y)
    bench.mouse.down()
    bench.mouse.move(x + 5 * picture["width"] / COLUMNS, y, steps=5)
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
    bench.get_by_role("button", name="Find it").click()
    exact(bench, "slice", f"Math.abs(Number(shown.center) - {AXIS}) < 0.3")


def test_rings_before_and_after(bench: Page, trial: Trial) -> None:
    center = center_of(bench)
    bench.get_by_role("combobox", name="Rings").select_option("vo-all")
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


def asked_with(**settings: object) -> str:
    """The claim that a picture was asked for with some settings of the recipe."""
    return " && ".join(f"JSON.parse(shown.recipe).{name} === {json.dumps(value)}" for name, value in settings.items())


def fill(page: Page, name: str, text: str) -> None:
    page.get_by_label(name, exact=True).fill(text)
    page.keyboard.press("Enter")


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
    bench.get_by_role("button", name="Repeat it").click()
    expect(bench.locator("[data-command]")).to_contain_text(f"--center {center:g} --roll=-3.0 --bin 2")
    with bench.expect_download() as saved:
        bench.get_by_role("button", name="Save").click()
    said = json.loads(Path(saved.value.path()).read_text())["recipe"]
    assert (said["roll_deg"], said["binning"], said["tilt"]) == (-3, 2, 0)
    with bench.expect_file_chooser() as asked:
        bench.get_by_role("button", name="Read").click()
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
    expect(bench.get_by_label("Retrieve it (Paganin)")).to_be_disabled()
    bench.get_by_role("button", name="The scan").click()
    fill(bench, "Pixel, µm", "5")
    bench.get_by_label("Retrieve it (Paganin)").check()
    fill(bench, "Energy", "25")
    phase = Paganin(25, 100, 5.0, 200)
    see(bench, f"It smooths over {phase.radius_px:.3f} pixels.")
    see(bench, f"phase smooths over {phase.radius_px:.3f} pixels")
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
    see(bench, "The slice is made with all iterations")


def test_many_iterations_are_shown_coarsely_and_given_up(bench: Page, trial: Trial) -> None:
    recipe = replace(RECIPE, center=center_of(bench))
    methods = bench.get_by_role("group", name="Method")
    methods.get_by_role("button", name="SIRT").click()
    fill(bench, "Iterations", "2000")
    methods.get_by_role("button", name="Fast").click()  # What takes long is given up for it.
    fast = exact(bench, "slice", asked_with(method="gridding"))
    assert peak_signal(fast, own(bench, trial, replace(recipe, method="gridding"))) > 45
    methods.get_by_role("button", name="SIRT").click()
    see(bench, "3 × 3 voxels are one")
    assert exact(bench, "slice", asked_with(iterations=2000)).shape == (COLUMNS // 3, COLUMNS // 3)


def test_parameters_are_a_line_and_a_file(bench: Page, scan: Path) -> None:
    bench.get_by_role("combobox", name="Filter").select_option("hann")
    bench.get_by_role("button", name="Repeat it").click()
    expect(bench.locator("[data-command]")).to_contain_text(f"pellucid reconstruct {scan}")
    expect(bench.locator("[data-command]")).to_contain_text("--filter hann")
    with bench.expect_download() as saved:
        bench.get_by_role("button", name="Save").click()
    text = Path(saved.value.path()).read_text()
    assert json.loads(text)["recipe"]["filter"] == "hann"
    bench.get_by_role("combobox", name="Filter").select_option("chesler")
    with bench.expect_file_chooser() as asked:
        bench.get_by_role("button", name="Read").click()
    asked.value.set_files({"name": "a.json", "mimeType": "application/json", "buffer": text.encode()})
    expect(bench.get_by_role("combobox", name="Filter")).to_have_value("hann")


def test_all_slices_are_made_and_opened(bench: Page, trial: Trial, scan: Path) -> None:
    target, center = scan.with_name("made.zarr"), center_of(bench)
    bench.get_by_label("Volume").fill(str(target))
    bench.keyboard.press("Enter")
    bench.get_by_role("button", name="Reconstruct all slices").click()
    expect(bench.get_by_role("progressbar", name="Reconstruction", exact=True)).to_be_visible()
    opener = bench.get_by_role("button", name="Open the volume")
    expect(opener).to_be_visible(timeout=PATIENCE_MS)
    assert scene(bench)["scene"]["volumes"][0]["source"].startswith("memory:")  # Slices were seen as they came.
    opener.click()
    expect(bench.get_by_role("region", name="Reconstruction")).to_have_count(0)
    assert scene(bench)["scene"]["volumes"][0]["source"] == str(target)
    with open_volume(target) as volume:
        made, wanted = volume.read()[ROWS // 2], trial.slice(ROWS // 2, replace(RECIPE, center=center))
    assert np.abs(made - wanted).max() < 1e-4 * np.ptp(wanted)


def test_another_page_goes_on_with_what_was_set_up(bench: Page, viewer: Viewer, scan: Path) -> None:
    bench.get_by_role("combobox", name="Filter").select_option("parzen")
    bench.get_by_role("combobox", name="Rings").select_option("titarenko")
    number = bench.get_by_label("Column, number")
    number.fill("44.5")
    number.press("Enter")
    exact(bench, "slice", "Number(shown.center) === 44.5")
    bench.reload()
    second = bench.context.new_page()
    second.goto(viewer.url)
    for page in (bench, second):
        expect(page.get_by_role("combobox", name="Filter")).to_have_value("parzen", timeout=PATIENCE_MS)
        expect(page.get_by_role("combobox", name="Rings")).to_have_value("titarenko")
        assert center_of(page) == 44.5
        exact(page, "slice", "Number(shown.center) === 44.5")
    second.keyboard.press("Escape")
    expect(second.get_by_role("region", name="Reconstruction")).to_have_count(0)
    second.reload()  # It was put aside: what was set up is there again when the scan is.
    wait_for_rest(second)
    expect(second.get_by_role("region", name="Reconstruction")).to_have_count(0)
    choose_scan(second, scan.name)
    expect(second.get_by_role("combobox", name="Filter")).to_have_value("parzen")


def test_a_run_is_there_on_another_page(bench: Page, viewer: Viewer, scan: Path) -> None:
    second = bench.context.new_page()
    second.goto(viewer.url)  # Open before anything runs.
    expect(second.get_by_label("Column, number")).to_be_visible(timeout=PATIENCE_MS)
    bench.get_by_role("combobox", name="Filter").select_option("cosine")
    bench.get_by_label("Volume").fill(str(scan.with_name("seen.zarr")))
    bench.keyboard.press("Enter")
    bench.get_by_role("button", name="Reconstruct all slices").click()
    expect(second.get_by_role("progressbar", name="Reconstruction", exact=True)).to_be_visible(timeout=PATIENCE_MS)
    bench.reload()
    expect(bench.get_by_label("Volume")).to_have_value(str(scan.with_name("seen.zarr")), timeout=PATIENCE_MS)
    expect(bench.get_by_role("combobox", name="Filter")).to_have_value("cosine")
    for page in (bench, second):
        expect(page.get_by_role("button", name="Open the volume")).to_be_visible(timeout=PATIENCE_MS)
    bench.reload()  # It has ended meanwhile.
    expect(bench.get_by_role("button", name="Open the volume")).to_be_visible(timeout=PATIENCE_MS)


def choose_parts(page: Page, **parts: str) -> None:
    for label, value in parts.items():
        page.get_by_role("combobox", name=label).select_option(value)


def test_a_plain_file_is_reconstructed_once_its_datasets_are_named(page: Page, beamline: Path, trial: Trial) -> None:
    with h5py.File(beamline / "plain.h5", "w") as file, closing(open_scan(beamline / "foam.h5")) as foam:
        assert foam.flats and foam.darks
        for name, frames in (("images", foam.projections), ("white", foam.flats), ("dark", foam.darks)):
            file[f"raw/{name}"] = frames.read()
        file["stage/position"], file["stage/temperature"] = np.degrees(foam.angles_rad), np.full(VIEWS + 3, 21.0)
    choose_scan(page, "plain.h5")
    page.get_by_role("button", name="Reconstruct…").click()
    see(page, "What are its datasets?")
    for label, name in (("Projections", "/raw/images"), ("Flats", "/raw/white"), ("Darks", "/raw/dark")):
        expect(page.get_by_role("combobox", name=label)).to_have_value(name)
    expect(page.get_by_role("combobox", name="Angles")).to_have_value("/stage/position")
    choose_parts(page, Angles="/stage/temperature")
    page.get_by_role("button", name="Read it as a scan").click()
    see(page, f"holds {VIEWS + 3} angles and there are {VIEWS} projections")
    choose_parts(page, Flats="other", Darks="none")
    expect(page.get_by_role("button", name="Read it as a scan")).to_be_disabled()  # Not all is said.
    fill(page, "Flats are", "/raw/white")
    choose_parts(page, Angles="/stage/position", Darks="/raw/dark")
    page.get_by_role("button", name="Read it as a scan").click()
    seen = settled(page)
    assert peak_signal(seen, own(page, trial, replace(RECIPE, center=center_of(page)))) > 45
    page.get_by_role("button", name="Repeat it").click()
    named = "--projections /raw/images --flats /raw/white --darks /raw/dark --angles /stage/position"
    expect(page.locator("[data-command]")).to_contain_text(named)


def test_a_scan_that_lacks_something_says_so(page: Page) -> None:
    choose_scan(page, "bare.h5")
    see(page, "has no flats")
    for name in ("Flats", "Darks"):
        page.get_by_label(name, exact=True).fill("none")
        page.keyboard.press("Enter")
    exact(page, "slice")
    expect(page.get_by_text("has no flats")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Reconstruction")).to_have_count(0)
