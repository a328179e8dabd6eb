"""Pixels of single frames that are NaN or infinite: filled in wherever frames are read, and counted."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.missing_pixels import fill_missing, filled_sentences
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.pipeline.reconstruct import OutputOptions, RunOptions, reconstruct
from pellucid.tomo.pipeline.slabs import SlabStatistics
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.report import read_warnings
from pellucid.tomo.scan import Frames
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan
from tests.tomo.small_scan import AXIS, MU_PER_CM, PIXEL_UM, write_scan

ROWS, VIEWS = 4, 72
RECIPE = Recipe(center=AXIS, rings=RingSettings("none"))
OPTIONS = ScanOptions(pixel_size_um=PIXEL_UM)


def made(path: Path, recipe: Recipe = RECIPE) -> tuple[Voxels, list[str]]:
    target = path.with_suffix(".zarr")
    with reconstruct(path, target, recipe, OutputOptions(), OPTIONS, RunOptions(device="cpu")) as volume:
        return volume.read(), read_warnings(volume.location)


def scan_with(path: Path, value: float, dataset: str = "data") -> Path:
    """A scan with one such pixel where the sample is, in one frame."""
    write_scan(path, rows=ROWS, views=VIEWS)
    with h5py.File(path, "a") as file:
        file[f"exchange/{dataset}"][1, 2, 24] = value
    return path


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Voxels:
    return made(write_scan(tmp_path_factory.mktemp("scan") / "good.h5", rows=ROWS, views=VIEWS))[0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_one_pixel_makes_no_streak_and_is_reported(value: float, expected: Voxels, tmp_path: Path) -> None:
    found, warnings = made(scan_with(tmp_path / "scan.h5", value))
    assert np.abs(found - expected).max() < 0.005 * MU_PER_CM
    assert filled_sentences(1)[0] in warnings
    assert not any("underexposed" in warning for warning in warnings)


@pytest.mark.parametrize("dataset", ["data_white", "data_dark"])
def test_one_pixel_of_a_flat_or_a_dark_makes_no_ring(dataset: str, expected: Voxels, tmp_path: Path) -> None:
    found, _ = made(scan_with(tmp_path / "scan.h5", np.nan, dataset))
    assert np.abs(found - expected).max() < 0.005 * MU_PER_CM


def test_a_pixel_is_counted_once_where_projections_are_binned(tmp_path: Path) -> None:
    _, warnings = made(
        scan_with(tmp_path / "scan.h5", np.nan), Recipe(center=AXIS, rings=RingSettings("none"), binning=2)
    )
    assert filled_sentences(1)[0] in warnings


def test_a_pixel_is_counted_in_memory(tmp_path: Path) -> None:
    account = SlabStatistics()
    scan = open_scan(scan_with(tmp_path / "scan.h5", np.nan), OPTIONS)
    reconstruct_array(scan, RECIPE, device="cpu", account=account)
    assert (account.filled, account.clipped) == (1, 0)


def test_rows_without_most_of_their_pixels_are_left_to_the_other_views(expected: Voxels, tmp_path: Path) -> None:
    path = write_scan(tmp_path / "scan.h5", rows=ROWS, views=VIEWS)
    with h5py.File(path, "a") as file:
        file["exchange/data"][7, 1, 4:] = np.nan
    found, warnings = made(path)
    assert np.abs(found - expected).max() < 0.05 * MU_PER_CM
    assert any("replaced by their neighbours: 7." in warning for warning in warnings)


def test_a_scan_of_nothing_but_nan_is_refused(tmp_path: Path) -> None:
    path = write_scan(tmp_path / "scan.h5", rows=ROWS, views=VIEWS)
    with h5py.File(path, "a") as file:
        file["exchange/data"][:] = np.nan
    with pytest.raises(InvalidInput, match="no light or no value"):
        made(path)


def test_frames_in_memory_are_not_changed() -> None:
    frames = np.ones((2, 3, 8), np.float32)
    frames[1, 2, 5] = np.nan
    found, count = Frames.from_array(frames).read_filled()
    assert (count, float(found[1, 2, 5])) == (1, 1.0)
    assert np.isnan(frames[1, 2, 5])


def test_neighbours_of_different_frames_and_rows_do_not_mix() -> None:
    ramp = (
        np.broadcast_to(np.arange(10.0), (2, 3, 10)) + 100 * np.arange(3)[:, None] + 1000 * np.arange(2)[:, None, None]
    )
    broken = ramp.copy()
    broken[0, 0, 4:7] = broken[1, 2, 3] = np.nan
    broken[1, 1, 1:9] = np.inf
    found, count = fill_missing(broken.copy())
    wanted = ramp.copy()
    wanted[1, 1, 1:9] = np.inf  # Most of the row: it is left.
    np.testing.assert_array_equal(found, wanted)
    assert count == 4


def test_whole_numbers_and_huge_values_are_left() -> None:
    huge = np.full((1, 2, 4), 3e38, np.float32)
    assert fill_missing(huge)[1] == 0
    whole = np.full((1, 2, 4), 65535, np.uint16)
    assert fill_missing(whole)[0] is whole
