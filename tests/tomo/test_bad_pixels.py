"""Dead and hot pixels: found, replaced in every frame, whatever part of it is read; and no good pixel is touched."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.bad_pixel_search import find_bad_pixels, repaired
from pellucid.tomo.correction.bad_pixels import BadPixels
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Floats, Frames, Scan
from pellucid.tomo.simulation.detector import Detector, Faults, simulate
from pellucid.tomo.simulation.phantoms import foam

ROWS, COLUMNS = 40, 64
ANGLES = np.arange(90) * np.pi / 90


def detector(seed: int) -> tuple[Floats, Floats]:
    """A flat and a dark with noise, brightest in the middle, and a beam that ends before the detector does."""
    random = np.random.default_rng(seed)
    beam = 20_000 * (1 - 0.3 * np.linspace(-1, 1, COLUMNS) ** 2) * np.ones((ROWS, 1))
    beam[:, :5] *= 0.01
    return beam + random.normal(100, 120, beam.shape), random.normal(100, 5, beam.shape)


def damaged(flat: Floats, dark: Floats, seed: int) -> tuple[Floats, Floats, Voxels]:
    """With single dead, hot and blind pixels, two dead columns and a dead row; and a mask of them."""
    random, is_bad = np.random.default_rng(seed), np.zeros(flat.shape, bool)
    flat, dark = flat.copy(), dark.copy()
    places = np.stack([random.integers(2, ROWS - 2, 12), random.integers(12, COLUMNS - 12, 12)])
    for number, (row, column) in enumerate(places.T):
        match number % 3:
            case 0:
                flat[row, column] = dark[row, column]
            case 1:
                dark[row, column] += 15_000
                flat[row, column] += 15_000
            case 2:
                flat[row, column] = np.nan
    flat[:, 30:32], flat[20] = dark[:, 30:32] + 50, dark[20] + 50
    is_bad[places[0], places[1]] = is_bad[:, 30:32] = True
    is_bad[20, 8:] = True  # Outside the beam, pixels are not judged.
    return flat, dark, is_bad


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_bad_pixels_are_found_and_good_ones_are_not(seed: int) -> None:
    flat, dark = detector(seed)
    assert find_bad_pixels(flat, dark).count == 0
    flat, dark, expected = damaged(flat, dark, seed)
    found = np.zeros(expected.shape, bool)
    bad = find_bad_pixels(flat, dark)
    found[bad.rows, bad.columns] = True
    np.testing.assert_array_equal(found[:, 8:], expected[:, 8:])


def test_a_detector_full_of_them_is_not_what_it_seems() -> None:
    flat, dark = detector(0)
    flat[::2, ::3] = 0
    assert find_bad_pixels(flat, dark).count == 0


@settings(max_examples=20)
@given(st.integers(0, ROWS - 1), st.integers(1, ROWS), st.integers(0, 1000), st.sampled_from(["uint16", "float32"]))
def test_rows_read_alone_are_those_of_the_whole_frame(first: int, count: int, seed: int, dtype: str) -> None:
    random = np.random.default_rng(seed)
    bad = BadPixels.of(random.random((ROWS, COLUMNS)) < 0.03)
    array = random.integers(0, 60_000, (3, ROWS, COLUMNS)).astype(dtype)
    frames = replace(Frames.from_array(array), repair=lambda: bad)
    stop = min(ROWS, first + count)
    np.testing.assert_array_equal(frames.read(rows=(first, stop)), frames.read()[:, first:stop])
    assert frames.read().dtype == array.dtype


def test_a_plane_is_filled_in_exactly_in_the_middle_of_good_neighbours() -> None:
    is_bad = np.zeros((9, 9), bool)
    is_bad[4, 4] = is_bad[7, 2] = True
    plane = (3.0 * np.arange(9)[:, None] + 2.0 * np.arange(9))[None]
    broken = np.where(is_bad, np.nan, plane)
    np.testing.assert_allclose(BadPixels.of(is_bad).filled(broken, 0), plane)


def damaged_scan() -> tuple[Scan, Scan]:
    """A simulated scan, and the same with dead and hot pixels and a dead row in all of its frames."""
    good = simulate(foam(20, 8), Detector(12, 48, axis_column=24.3), ANGLES, Faults(is_noisy=False))
    random = np.random.default_rng(1)
    places = (random.integers(1, 11, 14), random.integers(3, 45, 14))

    def broken(frames: Frames) -> Frames:
        array = frames.read().copy()
        array[:, places[0][:7], places[1][:7]] = 100.0
        array[:, places[0][7:], places[1][7:]] = 65_535.0
        array[:, 5] = 100.0
        return replace(Frames.from_array(array), times=frames.times)

    assert good.flats is not None and good.darks is not None
    parts = {"projections": broken(good.projections), "flats": broken(good.flats), "darks": broken(good.darks)}
    return good, replace(good, **parts)  # type: ignore[arg-type]


def test_a_reconstruction_has_no_rings_of_dead_and_hot_pixels() -> None:
    good, bad = damaged_scan()
    recipe = Recipe(center=24.3)
    wanted = reconstruct_array(good, recipe, device="cpu")
    plain, found = (reconstruct_array(scan, recipe, device="cpu") for scan in (bad, repaired(bad)))
    assert np.abs(found - wanted).mean() < 0.1 * np.abs(plain - wanted).mean()
    np.testing.assert_allclose(found.mean(), wanted.mean(), rtol=0.02)


def test_slabs_of_any_size_are_repaired_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    _, bad = damaged_scan()
    recipe, scan = Recipe(center=24.3), repaired(bad)
    whole = reconstruct_array(scan, recipe, device="cpu")
    monkeypatch.setattr("pellucid.tomo.pipeline.in_memory.SLICES_AT_ONCE", 3)
    np.testing.assert_allclose(reconstruct_array(scan, recipe, device="cpu"), whole, atol=1e-6 * np.abs(whole).max())
