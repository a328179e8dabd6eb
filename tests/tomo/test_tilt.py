"""A tilted axis is measured in many rows, corrected where it is clear, and never found in a scan without one."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.cli.main import main
from pellucid.device import choose
from pellucid.errors import InvalidInput
from pellucid.tomo.geometry.axis import AxisLine
from pellucid.tomo.geometry.tilt import find_line, fit_line
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.pipeline.planning import plan_slabs
from pellucid.tomo.pipeline.preview import SlicePreview
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Scan
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.tomo.simulation.detector import Detector, Faults, simulate, write_nxtomo
from pellucid.tomo.simulation.phantoms import Ellipsoid, Phantom, beads, foam, shepp_logan
from tests.shared_data import shared

ROWS = 40
LEANING = Phantom(tuple(Ellipsoid(0.02, (z, 0.6 * z, -0.4 * z), (6, 10, 8)) for z in range(-24, 25, 4)))
SAMPLES = (foam(45, 60), beads(42, 20), shepp_logan(45), LEANING)


def tilted_scan(
    pixels: float, sample: Phantom = SAMPLES[0], axis: float = 61.3, counts: float = 5000, seed: int = 0
) -> Scan:
    """The axis moves by so many columns from the first row to the last."""
    detector = Detector(ROWS, 128, axis_column=axis, tilt=pixels / (ROWS - 1), counts=counts)
    return simulate(sample, detector, np.arange(181) * np.pi / 180, Faults(is_noisy=True, rings=3, seed=seed))


@settings(max_examples=12, derandomize=True)
@given(st.sampled_from(SAMPLES), st.floats(1.5, 5), st.booleans(), st.floats(56, 72), st.integers(0, 1000))
def test_a_tilt_is_found(sample: Phantom, size: float, is_left: bool, axis: float, seed: int) -> None:
    pixels = -size if is_left else size
    found = find_line(tilted_scan(pixels, sample, axis, seed=seed))
    assert found.tilt is not None and found.tilt.is_clear
    assert found.tilt.pixels == pytest.approx(pixels, abs=0.4)
    assert found.tilt.degrees == pytest.approx(np.degrees(np.arctan(pixels / (ROWS - 1))), abs=0.6)
    rows = np.arange(ROWS, dtype=np.float64)
    wanted = axis + pixels * (rows / (ROWS - 1) - 0.5)
    np.testing.assert_allclose(found.line.at(rows), wanted, atol=0.4)


@settings(max_examples=12, derandomize=True)
@given(st.sampled_from(SAMPLES), st.floats(56, 72), st.sampled_from([300.0, 1000.0, 20_000.0]), st.integers(0, 1000))
def test_no_tilt_is_found_where_none_is(sample: Phantom, axis: float, counts: float, seed: int) -> None:
    """However noisy the scan is, and where the sample itself leans."""
    found = find_line(tilted_scan(0.0, sample, axis, counts, seed))
    assert found.tilt is not None and not found.tilt.is_clear


@pytest.mark.parametrize("name", ["ct/savu_tiff", "ct/k11_diad/k11-18014.nxs"])
def test_real_scans_that_are_upright(name: str) -> None:
    """A metal tip whose upper rows hold little, and a crop of 26 columns: some rows have a wrong axis."""
    with closing(open_scan(shared(name))) as scan:
        found = find_line(scan)
    assert found.tilt is not None and not found.tilt.is_clear and found.tilt.sentence() == ""


@settings(max_examples=50)
@given(
    st.floats(-0.5, 0.5), st.floats(0, 0.1), st.lists(st.integers(0, 14), max_size=4, unique=True), st.integers(0, 99)
)
def test_a_line_is_not_bent_by_rows_that_are_wrong(slope: float, noise: float, wrong: list[int], seed: int) -> None:
    random, rows = np.random.default_rng(seed), np.arange(15.0)
    columns = 100 + slope * rows + noise * random.normal(size=15)
    columns[wrong] += random.choice([-1, 1], len(wrong)) * random.uniform(20, 90, len(wrong))
    fit = fit_line(rows, columns)
    assert not any(fit.used[row] for row in wrong)
    assert fit.line.slope == pytest.approx(slope, abs=6 * fit.slope_error)
    assert fit.slope_error < 0.03


def test_too_few_rows_say_nothing() -> None:
    assert fit_line(np.array([0.0, 1.0]), np.array([5.0, 7.0])).line == AxisLine(6.0)
    scan = simulate(SAMPLES[0], Detector(3, 128, axis_column=61.0), np.arange(60) * np.pi / 60)
    assert find_line(scan).tilt is None
    asked, usual = (plan_slabs(scan, recipe, choose("cpu")).axis_warnings for recipe in (Recipe(tilt="auto"), Recipe()))
    assert asked == (
        "The tilt of the axis was not measured: fewer than 8 rows show the sample. Pass it as a number if it is known.",
    )
    assert usual == ()


CLEAR = "The axis is tilted by 2.7"


def test_a_clear_tilt_is_corrected_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scan = tilted_scan(2.7, counts=20_000)
    write_nxtomo(scan, tmp_path / "scan.nxs")
    sure = Recipe(center=61.3, tilt=2.7 / (ROWS - 1))
    wanted = reconstruct_array(scan, sure, device="cpu")
    found = reconstruct_array(scan, Recipe(), device="cpu")
    crooked = reconstruct_array(scan, replace(sure, tilt=0.0), device="cpu")
    error, without = (float(np.abs(one - wanted)[[0, -1]].mean()) for one in (found, crooked))
    assert error < 0.2 * without
    arguments = ["reconstruct", str(tmp_path / "scan.nxs"), "--device", "cpu", "--rows", "0:4"]
    assert main([*arguments, "-o", str(tmp_path / "out.zarr")]) == 0
    out, err = capsys.readouterr()
    assert CLEAR in out + err and "which is corrected" in out + err
    report = json.loads((tmp_path / "out.zarr.report.json").read_text())
    assert report["tilt"]["pixels"] == pytest.approx(2.7, abs=0.3) and report["tilt"]["is_corrected"]
    assert main([*arguments, "--preview", "5", "-o", str(tmp_path / "look.zarr")]) == 0
    assert CLEAR in capsys.readouterr().err
    assert main([*arguments, "--tilt", "0", "-o", str(tmp_path / "upright.zarr")]) == 0
    report = json.loads((tmp_path / "upright.zarr.report.json").read_text())
    assert report["tilt"] is None and report["axis"][0] == report["axis"][1]


def test_settings_are_tried_with_the_tilt_that_the_volume_will_have() -> None:
    with closing(SlicePreview(tilted_scan(2.7), choose("cpu"))) as preview:
        column, slope = preview.axis(Recipe())
        assert column == pytest.approx(61.3, abs=0.2) and slope == pytest.approx(2.7 / (ROWS - 1), abs=0.01)
        assert preview.axis(Recipe(tilt=0.0))[1] == 0
        assert preview.axis(Recipe(center=60.0)) == (60.0, 0.0)


def test_a_tilt_that_is_not_clear_is_corrected_when_asked_for() -> None:
    with closing(SlicePreview(tilted_scan(0.3), choose("cpu"))) as preview:
        assert preview.axis(Recipe())[1] == 0
        assert preview.axis(Recipe(tilt="auto"))[1] != 0


def test_what_a_tilt_may_be() -> None:
    with pytest.raises(InvalidInput, match="Unknown tilt 'maybe'"):
        Recipe(tilt="maybe")
    with pytest.raises(InvalidInput, match="tilt and roll cannot be combined"):
        Recipe(tilt="auto", roll_deg=1.0)
    assert Recipe(roll_deg=1.0).tilt == Recipe(is_offset=True).tilt == "when-clear"
