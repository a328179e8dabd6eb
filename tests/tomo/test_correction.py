"""Correction is its definition on every device and lets nothing but numbers past; the tooth has its golden values."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.device import Device, choose, launch, primitives
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.flat_field import (
    Calibration,
    attenuate,
    bin_frames,
    group_shares,
    level_air,
    replace_bad_views,
)
from pellucid.tomo.correction.rings import RingSettings, remove_rings
from pellucid.tomo.kernels import correction as kernels
from pellucid.tomo.methods.direct import ParallelGeometry, back_project
from pellucid.tomo.methods.filters import filter_sinograms
from pellucid.tomo.reference import steps as reference
from pellucid.tomo.scan import Frames, Scan
from pellucid.tomo.scan_files.registry import open_scan
from tests.shared_data import shared

RANDOM = np.random.default_rng(3)
RAW = RANDOM.integers(0, 5000, (8, 3, 40)).astype(np.uint16)
DARKS = RANDOM.integers(90, 110, (2, 3, 40)).astype(np.uint16)
BEFORE = RANDOM.integers(4000, 6000, (2, 3, 40)).astype(np.uint16)
AFTER = RANDOM.integers(5000, 7000, (3, 3, 40)).astype(np.uint16)


def scan_between_flats(raw: Any = RAW) -> Scan:
    """Two flats, the projections, three flats; time is counted in frames."""
    flats = np.concatenate([BEFORE, AFTER])
    timed = Frames.from_array(flats)
    timed = Frames(timed.volume, timed.indices, np.array([0.0, 1, 10, 11, 12]))
    angles = np.arange(8) * np.pi / 8
    return Scan("s", "simulated", Frames.from_array(raw, 2.0), angles, timed, Frames.from_array(DARKS).untimed())


@pytest.mark.parametrize("dtype", [np.uint16, np.float32, np.int32, np.float64, np.uint8])
def test_flats_are_interpolated_in_time(dtype: Any, device: Device) -> None:
    raw = (RAW // 20 if dtype == np.uint8 else RAW).astype(dtype)
    scan = scan_between_flats(raw)
    calibration = Calibration.of(scan)
    found = attenuate(raw, scan.projections.times, calibration, device)
    dark = DARKS.mean(axis=0)
    share = ((np.arange(8) + 2 - 0.5) / 10.5)[:, None, None]
    flats = BEFORE.mean(axis=0) * (1 - share) + AFTER.mean(axis=0) * share - dark
    wanted, clipped = reference.attenuate(raw, flats, dark, calibration.floor)
    np.testing.assert_allclose(primitives(device).to_host(found.sinograms), wanted, atol=2e-5)
    np.testing.assert_array_equal(found.clipped, clipped)


def drifting(random: np.random.Generator, groups: int, level: float) -> tuple[Any, Frames]:
    """Groups of frames at random times, each group at a level of its own; means and frames."""
    starts = np.sort(random.choice(np.arange(-1, 60), groups, replace=False)) + 0.5
    frames = level * (1 + 0.2 * random.random((groups, 1, 2, 1)) + 0.01 * random.random((groups, 3, 2, 12)))
    times = starts[:, None] + [0.1, 0.2, 0.3]
    whole = Frames.from_array(frames.reshape(-1, 2, 12).astype(np.float32))
    order = random.permutation(whole.count)
    shuffled = Frames(whole.volume, whole.indices, times.ravel()).choose(order)
    return (times.mean(axis=1), frames.mean(axis=1)), shuffled


def between(times: Any, groups: Any) -> Any:
    """Linear in time between the groups, level beyond the first and the last: pixel by pixel."""
    at, frames = groups
    columns = [np.interp(times, at, pixel) for pixel in frames.reshape(len(at), -1).T]
    return np.stack(columns, axis=1).reshape(len(times), *frames.shape[1:])


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 2**31), st.booleans())
def test_flats_and_darks_anywhere_in_a_scan_are_interpolated(
    flats: int, darks: int, seed: int, is_kernel: bool
) -> None:
    """Any number of groups, at any positions, on the CPU and by the kernel of cards."""
    random = np.random.default_rng(seed)
    (white, flat_frames), (black, dark_frames) = drifting(random, flats, 5000), drifting(random, darks, 100)
    order = random.permutation(60)  # Views need not be in the order of time.
    dark = between(order, black)
    open_beam = between(order, (white[0], white[1] - between(white[0], black)))
    transmission = random.uniform(0.1, 1, (60, 2, 12))
    raw = (dark + open_beam * transmission).astype(np.float32)
    projections = Frames.from_array(raw)
    projections = Frames(projections.volume, projections.indices, order.astype(np.float64))
    calibration = Calibration.of(Scan("s", "simulated", projections, np.arange(60.0), flat_frames, dark_frames))
    if is_kernel:
        found = attenuated_by_kernel(raw, projections.times, calibration)
    else:
        found = np.asarray(attenuate(raw, projections.times, calibration, choose("cpu")).sinograms)
    np.testing.assert_allclose(found, -np.log(transmission).transpose(1, 0, 2), atol=1e-4)


def attenuated_by_kernel(raw: Any, times: Any, calibration: Calibration) -> Any:
    """What a card computes, on the CPU."""
    sinograms, clipped = (
        np.empty(raw.transpose(1, 0, 2).shape, np.float32),
        np.zeros((raw.shape[1], len(raw)), np.int32),
    )
    shares = (*group_shares(times, calibration.dark_times), *group_shares(times, calibration.times))
    inputs = [raw, calibration.darks, calibration.flats, *shares, calibration.floor]
    kernel = kernels.attenuate(raw.dtype)
    launch(kernel, raw.shape, inputs=inputs, outputs=[sinograms, clipped], device=choose("cpu"))
    assert not clipped.any()
    return sinograms


def test_nothing_but_numbers_comes_out(device: Device) -> None:
    raw = RAW.astype(np.float32)
    raw[0, 0, :5] = [np.nan, np.inf, -np.inf, -1e30, 0]
    raw[1, 1] = 0
    found = attenuate(raw, np.arange(8.0) + 2, Calibration.of(scan_between_flats()), device)
    assert np.isfinite(primitives(device).to_host(found.sinograms)).all()
    assert found.clipped[0, 0] >= 5 and found.bad[1, 1] and found.bad.sum() == 1
    assert (found.mended_views, found.black_rows, found.dim_rows) == ([1], [], [])


def test_black_rows_come_from_their_neighbours(device: Device) -> None:
    ramp = np.arange(6, dtype=np.float32)[None, :, None] * np.ones((2, 6, 4), np.float32)
    broken = ramp.copy()
    bad = np.zeros((2, 6), np.bool_)
    bad[0, [2, 3]] = bad[1, 0] = True
    broken[bad] = 99
    room = primitives(device)
    sinograms = room.to_device(broken)
    replace_bad_views(sinograms, bad, np.arange(6.0), device)
    ramp[1, 0] = 1  # nothing lies before the first: it becomes the next
    np.testing.assert_allclose(room.to_host(sinograms), ramp, atol=1e-6)
    replace_bad_views(sinograms, np.ones((2, 6), np.bool_), np.arange(6.0), device)
    np.testing.assert_allclose(room.to_host(sinograms), ramp, atol=1e-6)


def test_rows_are_corrected_the_same_alone_and_together() -> None:
    scan = scan_between_flats()
    whole = attenuate(RAW, scan.projections.times, Calibration.of(scan)).sinograms
    part = attenuate(scan.projections.read(rows=(1, 2)), scan.projections.times, Calibration.of(scan, (1, 2)))
    np.testing.assert_array_equal(part.sinograms, whole[1:2])
    with pytest.raises(InvalidInput, match="same rows"):
        attenuate(RAW, scan.projections.times, Calibration.of(scan, (1, 2)))


def test_a_scan_without_flats_is_transmission() -> None:
    frames = np.full((2, 1, 3), np.exp(-0.5), np.float32)
    scan = Scan("s", "simulated", Frames.from_array(frames), np.arange(2.0))
    found = attenuate(frames, scan.projections.times, Calibration.of(scan))
    np.testing.assert_allclose(found.sinograms, 0.5, atol=1e-6)
    assert not found.clipped.any()


def test_air_and_binning(device: Device) -> None:
    room = primitives(device)
    stack = RANDOM.normal(size=(2, 3, 30)).astype(np.float32)
    level = (stack[..., :4].mean(axis=2) + stack[..., -4:].mean(axis=2)) / 2
    leveled = room.to_device(stack.copy())
    level_air(leveled, 4, device)
    np.testing.assert_allclose(room.to_host(leveled), stack - level[..., None], atol=1e-5)
    frames = RAW[:, :, :39]
    wanted = frames.reshape(8, 1, 3, 13, 3).mean(axis=(2, 4))
    np.testing.assert_allclose(room.to_host(bin_frames(room.to_device(frames), 3, device)), wanted, rtol=1e-6)
    with pytest.raises(InvalidInput, match="Invalid binning 4"):
        bin_frames(room.to_device(frames), 4, device)


@pytest.mark.parametrize(
    ("rings", "golden"),
    [
        (RingSettings("none"), (-0.00377378, 0.0104451, 0.000703478, 0.00207434)),
        (RingSettings("vo-sorting", small_size=5), (-0.00353448, 0.0102618, 0.000703643, 0.00207173)),
    ],
)
def test_the_tooth_has_its_golden_values(rings: RingSettings, golden: tuple[float, ...], device: Device) -> None:
    with closing(open_scan(shared("ct/tooth.h5"))) as scan:
        calibration = Calibration.of(scan, (0, 1))
        found = attenuate(scan.projections.read(rows=(0, 1)), scan.projections.times, calibration, device)
    assert not found.clipped.any()
    cleaned = remove_rings(found.sinograms, rings, device)
    geometry = ParallelGeometry.shared(np.arange(181) * np.pi / 181, 296.0, 1)
    filtered = filter_sinograms(cleaned, "chesler", padding="none", device=device)
    image = primitives(device).to_host(back_project(filtered, geometry, device))
    numbers = (image.min(), image.max(), image.mean(), image.std())
    np.testing.assert_allclose(numbers, golden, rtol=3e-6)


def test_another_type_of_numbers_compiles_nothing_anew() -> None:
    """A module is compiled whole, so each type has one of its own."""
    types = (np.uint8, np.uint16, np.float32)
    made = [make(np.dtype(one)).module for make in (kernels.attenuate, kernels.bin_pixels) for one in types]
    assert len({module.name for module in made}) == 6


def test_several_threads_may_be_the_first_to_use_a_type_of_numbers() -> None:
    """Kernels are made for a type when it is first met."""
    for dtype in (np.int8, np.int16, np.uint32, np.int32, np.float64):
        frames, ready = np.ones((2, 4, 6), dtype), Barrier(4)

        def binned(frames: Voxels = frames, ready: Barrier = ready) -> Voxels:
            ready.wait()
            return np.asarray(bin_frames(frames, 2, choose("cpu")))

        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(binned) for _ in range(4)]:
                np.testing.assert_array_equal(done.result(), np.ones((2, 2, 3), np.float32))
