"""A scan to an array: the same values as in a file, whoever makes which slab."""

from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from pellucid import progress
from pellucid.device import Device
from pellucid.errors import InvalidInput
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.pipeline.reconstruct import OutputOptions, RunOptions, reconstruct
from pellucid.tomo.pipeline.slabs import SlabStatistics
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Scan
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.tomo.simulation.detector import Detector, simulate
from pellucid.tomo.simulation.phantoms import Ellipsoid, Phantom
from tests.tomo.small_scan import AXIS, COLUMNS, MU_PER_CM, PIXEL_UM, inside, write_scan

OPTIONS = ScanOptions(pixel_size_um=PIXEL_UM)
ROWS = 37
RECIPES = [Recipe(center=AXIS), Recipe(center=AXIS, method="gridding", rings=RingSettings("vo-sorting"))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_scan(tmp_path / "scan.h5", ROWS)


@pytest.fixture
def scan(path: Path) -> Scan:
    return open_scan(path, OPTIONS)


@pytest.mark.parametrize("recipe", RECIPES, ids=["direct", "gridding"])
def test_the_same_as_in_a_file(path: Path, scan: Scan, recipe: Recipe, device: Device, tmp_path: Path) -> None:
    account = SlabStatistics()
    made = reconstruct_array(scan, recipe, device=device.name, account=account)
    running = RunOptions(device=device.name)
    with reconstruct(path, tmp_path / "a.zarr", recipe, OutputOptions(), OPTIONS, running) as volume:
        np.testing.assert_allclose(made, volume.read(), rtol=0, atol=1e-4 * MU_PER_CM)
    assert inside(made[ROWS - 1]).mean() == pytest.approx(MU_PER_CM, rel=0.01)
    assert {"to device", "correct", "reconstruct", "hand over"} <= account.seconds.keys()


def test_an_array_that_is_given_is_filled(scan: Scan) -> None:
    out = np.full((ROWS, COLUMNS, COLUMNS), np.nan, np.float32)
    assert reconstruct_array(scan, RECIPES[0], device="cpu", out=out) is out
    assert np.isfinite(out).all()


def test_an_array_of_another_shape_is_refused(scan: Scan) -> None:
    with pytest.raises(InvalidInput, match=r"float32 array of shape \(37, 48, 48\)"):
        reconstruct_array(scan, RECIPES[0], device="cpu", out=np.empty((3, 4, 4), np.float32))


def test_what_needs_whole_projections_is_refused(scan: Scan) -> None:
    with pytest.raises(InvalidInput, match="does not support phase"):
        reconstruct_array(scan, Recipe(center=AXIS, binning=2), device="cpu")


@pytest.mark.parametrize(("turn_deg", "is_missing"), [(180.0, False), (120.0, True)])
def test_views_that_are_missing_are_reported(turn_deg: float, is_missing: bool, tmp_path: Path) -> None:
    path = write_scan(tmp_path / "scan.h5", rows=1, views=60, turn_rad=np.radians(turn_deg))
    said = StringIO()
    with progress.use(progress.Lines(said)):
        reconstruct_array(open_scan(path, OPTIONS), RECIPES[0], device="cpu")
    assert ("Views are missing over 60.0 degrees" in said.getvalue()) == is_missing


def test_a_full_turn_about_an_axis_at_the_border_is_a_warning() -> None:
    """As in a file: it may be an offset scan, of which only half of the sample would be right."""
    ball, angles = Phantom((Ellipsoid(0.02, (0.0, 0.0, 0.0), (12.0, 12.0, 12.0)),)), np.arange(90) * np.pi / 45
    said = StringIO()
    with progress.use(progress.Lines(said)):
        reconstruct_array(simulate(ball, Detector(1, 100, 20.0), angles), Recipe(center=20.0), device="cpu")
    assert "near the border of the detector" in said.getvalue()
