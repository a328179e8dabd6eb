"""Projections taken in any order of their angles make the slices that the sorted ones make."""

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.device import choose
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.flat_field import Calibration, attenuate, mending
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.geometry.axis import METHODS, find_axis
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.pipeline.live import LiveSlices
from pellucid.tomo.pipeline.preview import SlicePreview
from pellucid.tomo.pipeline.reconstruct import OutputOptions, reconstruct
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Frames, Scan
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.tomo.simulation.detector import Detector, Faults, simulate
from pellucid.tomo.simulation.phantoms import foam
from tests.tomo.small_scan import write_simulated

AXIS, OFFSET = 25.25, 38.25
FAULTS = Faults(is_noisy=True, rings=3, zingers=10, black=(17,))
HALF = simulate(foam(20, 8), Detector(3, 48, axis_column=AXIS), np.arange(64) * np.pi / 64, FAULTS)
FULL = simulate(foam(30, 8), Detector(3, 48, axis_column=OFFSET), np.arange(96) * np.pi / 48, FAULTS)
RECIPES = [
    Recipe(center=AXIS, rings=RingSettings("vo-all"), zingers=0.3),
    Recipe(center=AXIS, method="gridding", rings=RingSettings("fourier-wavelet")),
    Recipe(center="auto", rings=RingSettings("titarenko")),
    Recipe(center=AXIS, method="sirt", iterations=3),
    Recipe(center=AXIS, method="cgls", iterations=3),
    Recipe(center="auto", is_offset=True),
    Recipe(center=OFFSET, is_offset=True, rings=RingSettings("vo-dead")),
]


def shuffled(scan: Scan, seed: int) -> Scan:
    order = np.random.default_rng(seed).permutation(scan.count)
    return replace(scan, projections=scan.projections.choose(order), angles_rad=scan.angles_rad[order])


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: f"{recipe.method}-{recipe.rings.method}-{recipe.center}")
def test_slices_do_not_depend_on_the_order(recipe: Recipe) -> None:
    scan = FULL if recipe.is_offset else HALF
    wanted = reconstruct_array(scan, recipe, device="cpu")
    np.testing.assert_array_equal(reconstruct_array(shuffled(scan, 1), recipe, device="cpu"), wanted)
    preview = SlicePreview(shuffled(scan, 2), choose("cpu"))
    np.testing.assert_allclose(preview.whole_slice(1, recipe), wanted[1], atol=1e-5 * wanted.max())


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.sampled_from(sorted(METHODS)))
def test_the_axis_does_not_depend_on_the_order(seed: int, method: str) -> None:
    assert find_axis(shuffled(HALF, seed), method) == find_axis(HALF, method)
    assert shuffled(FULL, seed).step_rad == pytest.approx(FULL.step_rad)


def test_golden_angles_are_sorted_and_turns_one_after_the_other_are_not() -> None:
    golden = np.arange(64) * np.pi * (3 - np.sqrt(5))
    scan = simulate(foam(20, 8), Detector(3, 48, axis_column=AXIS), golden)
    assert find_axis(scan).column == pytest.approx(AXIS, abs=0.5)
    ordered = scan.in_angle_order()
    assert (np.diff(ordered.angles_rad) > 0).all() and "are sorted" in ordered.assumptions[-1]
    order = np.argsort(np.mod(golden, 2 * np.pi))
    np.testing.assert_array_equal(ordered.projections.indices, scan.projections.indices[order])
    twice = simulate(foam(20, 8), Detector(3, 48), np.arange(80) * np.pi / 20)
    assert twice.in_angle_order() is twice


@settings(max_examples=10)
@given(st.integers(0, 2**32))
def test_live_slices_do_not_depend_on_the_order(seed: int) -> None:
    def cross(order: Voxels) -> Voxels:
        slices = LiveSlices(3, 48, AXIS, Recipe(center=AXIS, padding="none"), choose("cpu"))
        for some in np.split(order, [10, 42]):
            slices.add(np.ascontiguousarray(found[:, some]), HALF.angles_rad[some])
        return slices.cross().xy

    found = attenuate(HALF.projections.read(), HALF.projections.times, Calibration.of(HALF), choose("cpu")).sinograms
    wanted = cross(np.arange(64))
    np.testing.assert_allclose(
        cross(np.random.default_rng(seed).permutation(64)), wanted, atol=1e-5 * np.abs(wanted).max()
    )


def test_a_shuffled_file_makes_the_volume_of_a_sorted_one(tmp_path: Path) -> None:
    volumes = []
    for name, scan in (("sorted", HALF), ("shuffled", shuffled(HALF, 3))):
        path = write_simulated(tmp_path / f"{name}.h5", scan)
        recipe = Recipe(rings=RingSettings("vo-all"))
        volumes.append(reconstruct(path, tmp_path / f"{name}.zarr", recipe, OutputOptions()).read())
    np.testing.assert_array_equal(volumes[0], volumes[1])


def test_a_growing_file_keeps_the_order_in_which_it_came(tmp_path: Path) -> None:
    path = write_simulated(tmp_path / "a.h5", shuffled(HALF, 4))
    with h5py.File(path) as file:
        stored = np.deg2rad(file["exchange/theta"][()])
    np.testing.assert_allclose(open_scan(path, is_growing=True).angles_rad, stored)
    np.testing.assert_allclose(open_scan(path).angles_rad, np.sort(stored))


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 80))
def test_frames_are_read_in_the_order_that_is_asked_for(seed: int, count: int) -> None:
    frames = np.random.default_rng(seed).random((90, 2, 3))
    order = np.random.default_rng(seed).permutation(90)[:count]
    chosen = Frames.from_array(frames).choose(order)
    np.testing.assert_array_equal(chosen.read(), frames[order])
    np.testing.assert_array_equal(chosen.read(frames=(0, 1), rows=(1, 2)), frames[order[:1], 1:2])


def test_black_views_come_from_their_neighbours_by_angle() -> None:
    angles = np.array([2.0, 0.0, 3.0, 1.0])
    found = mending(np.array([False, False, False, True]), angles)
    assert [part.tolist() for part in found] == [[3], [1], [0], [0.5]]
