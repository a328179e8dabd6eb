"""Samples that are wider than the detector are reported, with what to do; others are not."""

from pathlib import Path

import numpy as np
import pytest

from pellucid.formats.protocol import Voxels
from pellucid.tomo.geometry.field_of_view import border_shares, width_warnings
from pellucid.tomo.pipeline.reconstruct import RunOptions, reconstruct
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.report import read_warnings
from pellucid.tomo.scan import Frames, Scan
from pellucid.tomo.scan_files.registry import open_scan
from tests.shared_data import shared
from tests.tomo.analytic import ellipse_sinogram, even_angles
from tests.tomo.small_scan import write_simulated

ROWS, COLUMNS, VIEWS, BEAM = 3, 96, 60, 20_000.0
MIDDLE = (COLUMNS - 1) / 2


def scan_of(
    half_axes: tuple[float, float], axis: float = MIDDLE, turn: float = np.pi, beam: float = 1.0, level: float = 1.0
) -> Scan:
    """An ellipse that attenuates by level, in a beam that has become weaker since the flats; with noise."""
    random, angles = np.random.default_rng(0), even_angles(VIEWS, turn)
    lengths = ellipse_sinogram(angles, COLUMNS, axis, half_axes) * level / (2 * min(half_axes))
    counts = random.poisson(beam * BEAM * np.exp(-np.repeat(lengths[:, None], ROWS, axis=1)))
    flats = random.poisson(BEAM, (4, ROWS, COLUMNS)).astype(np.float32)
    frames: list[Voxels] = [counts.astype(np.float32), flats, np.zeros_like(flats)]
    projections, flat, dark = (Frames.from_array(part) for part in frames)
    return Scan("ellipse", "array", projections, angles, flat, dark)


def warnings(scan: Scan, recipe: Recipe | None = None, axis: float = MIDDLE) -> list[str]:
    return width_warnings(scan, recipe or Recipe(center=axis), (axis, 0.0), (0, ROWS))


@pytest.mark.parametrize("radius", [52.0, 60.0, 80.0, 100.0])
@pytest.mark.parametrize("level", [0.3, 1.0, 3.0])
def test_a_disc_that_is_wider_than_the_detector(radius: float, level: float) -> None:
    (sentence,) = warnings(scan_of((radius, radius), level=level))
    assert "beyond both borders of the detector in " in sentence
    assert "the circle of 48 pixels around the axis" in sentence and sentence.endswith("and use --offset.")


@pytest.mark.parametrize("beam", [1.0, 0.99, 0.7, 1.05])
@pytest.mark.parametrize("half_axes", [(40.0, 40.0), (40.0, 10.0), (4.0, 4.0)])
def test_samples_inside_the_detector_are_not_mentioned(beam: float, half_axes: tuple[float, float]) -> None:
    assert warnings(scan_of(half_axes, beam=beam)) == []


def test_a_long_sample_is_cut_off_in_some_views() -> None:
    found = border_shares(scan_of((60.0, 12.0)), (0, ROWS))
    assert 0.1 < found.left < 0.6 and found.left == pytest.approx(found.right, abs=0.1)


@pytest.mark.parametrize(
    ("turn", "remedy"), [(np.pi, "Use --no-circle to keep"), (2 * np.pi, "Use --offset to join opposite views")]
)
@pytest.mark.parametrize("side", [-1, 1])
def test_a_sample_that_is_cut_off_on_the_side_of_the_axis(side: int, turn: float, remedy: str) -> None:
    axis = MIDDLE + 16 * side
    scan = scan_of((38.0, 38.0), axis, turn)
    (sentence,) = warnings(scan, axis=axis)
    name = "left" if side < 0 else "right"
    assert f"beyond the {name} border" in sentence and "the circle of 32 pixels" in sentence and remedy in sentence
    if turn > 4:
        assert warnings(scan, Recipe(center=axis, is_offset=True), axis) == []


def test_an_offset_scan_and_a_square_are_told_something_else() -> None:
    axis = 20.0
    scan = scan_of((90.0, 90.0), axis, 2 * np.pi)
    (sentence,) = warnings(scan, Recipe(center=axis, is_offset=True), axis)
    assert "beyond the right border" in sentence and "Move the axis" in sentence
    (sentence,) = warnings(scan_of((60.0, 60.0)), Recipe(center=MIDDLE, is_circle=False))
    assert "Leave out --no-circle" in sentence


def test_no_sample_and_other_rows_are_not_mentioned() -> None:
    assert warnings(scan_of((60.0, 60.0), level=0.0)) == []
    assert border_shares(scan_of((60.0, 60.0)), (ROWS, ROWS + 1)).sides == []


@pytest.mark.parametrize("name", ["ct/tooth.h5", "ct/savu_tiff", "ct/k11_diad/k11-18014.nxs"])
def test_real_scans_that_are_not_cut_off(name: str) -> None:
    scan = open_scan(shared(name))
    assert border_shares(scan, (0, scan.rows)).sides == []
    scan.close()


def test_the_report_has_it(tmp_path: Path) -> None:
    source = write_simulated(tmp_path / "scan.h5", scan_of((60.0, 60.0)))
    running = RunOptions(device="cpu")
    with reconstruct(source, tmp_path / "out.zarr", Recipe(center=MIDDLE), running=running) as volume:
        found = read_warnings(volume.location)
    assert len([text for text in found if "beyond both borders" in text]) == 1
