"""Flats and darks that differ from the others are left out and named; ordinary sets are used whole."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.flat_field import Calibration
from pellucid.tomo.correction.frame_check import frame_warnings, good_flats, rejected_darks, rejected_flats
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.pipeline.reconstruct import reconstruct
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Frames, Scan
from pellucid.tomo.simulation.detector import Detector, Faults, simulate, write_nxtomo
from pellucid.tomo.simulation.phantoms import disc

ANGLES = np.arange(60) * np.pi / 60
SAMPLE, RECIPE = disc(12, 0.02), Recipe(center=19.5, filter="ramachandran", tilt=0.0)
DETECTOR = Detector(8, 40, flats=5)


def with_frames(scan: Scan, flats: Voxels | None = None, darks: Voxels | None = None) -> Scan:
    assert scan.flats is not None and scan.darks is not None
    changed_flats = scan.flats if flats is None else replace(Frames.from_array(flats), times=scan.flats.times)
    changed_darks = scan.darks if darks is None else replace(Frames.from_array(darks), times=scan.darks.times)
    return replace(scan, flats=changed_flats, darks=changed_darks)


def flats_of(scan: Scan) -> Voxels:
    assert scan.flats is not None
    return np.array(scan.flats.read())


def darks_of(scan: Scan) -> Voxels:
    assert scan.darks is not None
    return np.array(scan.darks.read())


def spoiled(fault: str, flat: Voxels, projection: Voxels) -> Voxels:
    match fault:
        case "shutter closed":
            return np.full_like(flat, 100)
        case "beam lost":
            return (100 + 0.6 * (flat - 100.0)).astype(flat.dtype)
        case "not numbers":
            return np.full_like(flat, np.nan)
        case _:
            return projection


@pytest.mark.parametrize("fault", ["shutter closed", "beam lost", "sample in it", "not numbers"])
@pytest.mark.parametrize("number", [0, 2, 7])
def test_a_bad_flat_changes_nothing(fault: str, number: int) -> None:
    clean = simulate(SAMPLE, DETECTOR, ANGLES, Faults(beam_loss=0.05))
    flats = flats_of(clean)
    flats[number] = spoiled(fault, flats[number], clean.projections.read()[3])
    scan = with_frames(clean, flats)
    assert rejected_flats(scan).tolist() == [number]
    assert f"not used: {number}." in frame_warnings(scan)[0]
    truth, image = (reconstruct_array(one, RECIPE, device="cpu") for one in (clean, scan))
    assert np.abs(image - truth).max() < 2e-3 * truth.max()


@pytest.mark.parametrize("number", [0, 4])
def test_a_dark_with_light_changes_nothing(number: int) -> None:
    clean = simulate(SAMPLE, DETECTOR, ANGLES)
    darks = darks_of(clean)
    darks[number] = flats_of(clean)[0]
    scan = with_frames(clean, darks=darks)
    assert rejected_darks(scan).tolist() == [number]
    assert "darks" in frame_warnings(scan)[0]
    truth, image = (reconstruct_array(one, RECIPE, device="cpu") for one in (clean, scan))
    np.testing.assert_allclose(image, truth, atol=1e-6 * truth.max())


def test_of_two_flats_the_one_without_beam_is_left_out() -> None:
    clean = simulate(SAMPLE, replace(DETECTOR, flats=1), ANGLES)
    flats = flats_of(clean)
    flats[0] = 100
    assert rejected_flats(with_frames(clean, flats)).tolist() == [0]


def test_no_good_flat_is_an_error() -> None:
    clean = simulate(SAMPLE, replace(DETECTOR, flats=1), ANGLES)
    closed = np.asarray(np.random.default_rng(4).poisson(100.5, flats_of(clean).shape), np.uint16)
    darks = np.asarray(np.random.default_rng(5).poisson(100, darks_of(clean).shape), np.uint16)
    scan = with_frames(clean, closed, darks)
    with pytest.raises(InvalidInput, match=r"All 2 flats .* are unusable"):
        good_flats(scan)
    with pytest.raises(InvalidInput, match=r"All 2 flats .* are unusable"):
        reconstruct_array(scan, RECIPE, device="cpu")


def test_the_report_names_them(tmp_path: Path) -> None:
    clean = simulate(SAMPLE, DETECTOR, ANGLES)
    flats = flats_of(clean)
    flats[[1, 6]] = 100
    write_nxtomo(with_frames(clean, flats), tmp_path / "scan.nxs")
    reconstruct(tmp_path / "scan.nxs", tmp_path / "volume.zarr", RECIPE).close()
    warnings = json.loads((tmp_path / "volume.zarr.report.json").read_text())["warnings"]
    assert any("10 flats (counted from 0)" in warning and "not used: 1, 6." in warning for warning in warnings)


def test_a_slow_drift_is_interpolated_in_time() -> None:
    scan = simulate(SAMPLE, DETECTOR, ANGLES, Faults(beam_loss=0.01))
    assert rejected_flats(scan).tolist() == []
    flats = Calibration.of(scan).flats
    assert len(flats) == 2
    np.testing.assert_allclose(flats[1] / flats[0], 1 - 0.01 * 65 / 69, atol=1e-3)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_noise_of_darks_is_ordinary_in_a_weak_beam(count: int) -> None:
    random, shape = np.random.default_rng(0), (1, 12)
    flats, projections = np.full((2, *shape), 60, np.uint16), np.full((10, *shape), 50, np.uint16)
    for _ in range(100):
        darks = random.poisson(20, (count, *shape)).astype(np.uint16)
        frames = [Frames.from_array(part) for part in (projections, flats, darks)]
        scan = Scan("noisy", "array", frames[0], np.arange(10.0), frames[1], frames[2])
        assert rejected_darks(scan).tolist() == []


@settings(deadline=None, max_examples=50)
@given(
    seed=st.integers(0, 2**32),
    counts=st.sampled_from([60.0, 1000.0, 20_000.0]),
    flats=st.integers(1, 12),
    rows=st.integers(1, 12),
    columns=st.integers(12, 90),
    drift=st.floats(-0.4, 0.4),
    flicker=st.sampled_from([0.0, 0.002, 0.01]),
    shape=st.floats(0.0, 0.01),
)
def test_ordinary_sets_are_used_whole(
    *, seed: int, counts: float, flats: int, rows: int, columns: int, drift: float, flicker: float, shape: float
) -> None:
    """Noise, a beam that drifts and flickers, and one that changes its shape a little from frame to frame."""
    random = np.random.default_rng(seed)
    across, count = np.linspace(-1, 1, columns), 2 * flats
    beam = counts * (1 - 0.3 * across**2) * np.linspace(1, 1 - drift, count)[:, None, None]
    wobble = 1 + flicker * random.standard_normal((count, 1, 1)) + shape * random.uniform(-1, 1, (count, 1, 1)) * across
    noisy = Frames.from_array(random.poisson(np.ones((rows, 1)) * beam * wobble + 20).astype(np.uint16))
    times = np.concatenate([np.arange(flats), 100.0 + np.arange(flats)])
    darks = Frames.from_array(random.poisson(20, (flats, rows, columns)).astype(np.uint16)).untimed()
    projections = Frames.from_array(np.full((10, rows, columns), 50, np.uint16), 40.0)
    scan = Scan("noisy", "array", projections, np.arange(10.0), replace(noisy, times=times), darks)
    assert rejected_flats(scan).tolist() == []
    assert rejected_darks(scan).tolist() == []


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    flats=st.integers(3, 12),
    columns=st.integers(40, 90),
    fault=st.sampled_from(["shutter closed", "beam lost", "sample in it"]),
    drift=st.floats(0.0, 0.2),
)
def test_one_bad_flat_among_good_ones_is_found(seed: int, flats: int, columns: int, fault: str, drift: float) -> None:
    angles = np.arange(10) * np.pi / 10
    scan = simulate(
        disc(columns / 4, 0.04),
        Detector(6, columns, flats=flats),
        angles,
        Faults(is_noisy=True, beam_loss=drift, seed=seed),
    )
    found, number = flats_of(scan), seed % (2 * flats)
    found[number] = spoiled(fault, found[number], scan.projections.read()[seed % 10])
    assert rejected_flats(with_frames(scan, found)).tolist() == [number]
