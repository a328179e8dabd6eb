"""A reconstruction does not depend on the unit of the counts; a scan that is mostly dark is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.device import Device, choose, primitives
from pellucid.errors import InvalidInput
from pellucid.tomo.correction.beam import beam_of, dark_share, floor_of, light_warnings
from pellucid.tomo.correction.flat_field import Calibration, attenuate
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.pipeline.preview import SlicePreview
from pellucid.tomo.pipeline.reconstruct import reconstruct
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Frames, Scan
from pellucid.tomo.simulation.detector import Detector, simulate
from pellucid.tomo.simulation.phantoms import disc
from tests.tomo.small_scan import write_simulated

ANGLES = np.arange(24) * np.pi / 24
RECIPE = Recipe(center=15.5)


def scan_of(projections: Any, flats: Any = None, darks: Any = None) -> Scan:
    white, black = (None if array is None else Frames.from_array(array).untimed() for array in (flats, darks))
    return Scan("scan", "array", Frames.from_array(projections), ANGLES[: len(projections)], white, black)


def plain_scan(counts: float = 20_000.0, dark_counts: float = 100.0) -> Scan:
    """A disc that transmits 20 % in the middle."""
    return simulate(disc(10, 0.08), Detector(3, 32, counts=counts, dark_counts=dark_counts), ANGLES)


def scaled(scan: Scan, factor: float, dtype: Any) -> Scan:
    assert scan.flats is not None and scan.darks is not None

    def times(frames: Frames) -> Frames:
        values = frames.read().astype(np.float64) * factor
        rounded = np.rint(values) if np.issubdtype(dtype, np.integer) else values
        whole = Frames.from_array(rounded.astype(dtype))
        return Frames(whole.volume, whole.indices, frames.times)

    frames = (times(one) for one in (scan.projections, scan.flats, scan.darks))
    projections, flats, darks = frames
    return replace(scan, projections=projections, flats=flats, darks=darks)


@settings(max_examples=25)
@given(st.floats(-9, 9), st.sampled_from([np.float32, np.float64]))
def test_a_factor_on_all_counts_changes_nothing(exponent: float, dtype: Any) -> None:
    scan = plain_scan()
    wanted = reconstruct_array(scan, RECIPE, device="cpu")
    found = reconstruct_array(scaled(scan, 10**exponent, dtype), RECIPE, device="cpu")
    np.testing.assert_allclose(found, wanted, atol=2e-5 * wanted.max())


@pytest.mark.parametrize(("dtype", "factor", "tolerance"), [(np.uint16, 3, 1e-3), (np.uint8, 0.01, 0.15)])
def test_whole_counts_differ_by_their_rounding_alone(dtype: Any, factor: float, tolerance: float) -> None:
    scan = plain_scan()
    wanted = reconstruct_array(scan, RECIPE, device="cpu")
    found = reconstruct_array(scaled(scan, factor, dtype), RECIPE, device="cpu")
    np.testing.assert_allclose(found, wanted, atol=tolerance * wanted.max())


@pytest.mark.parametrize("counts", [1.0, 1e-3])
def test_normalised_projections_give_the_same_volume(counts: float, device: Device) -> None:
    normalised = plain_scan(counts=counts, dark_counts=0.0)
    wanted = reconstruct_array(plain_scan(), RECIPE, device=device.name)
    found = reconstruct_array(normalised, RECIPE, device=device.name)
    assert wanted[1].mean() > 100
    np.testing.assert_allclose(found, wanted, atol=1e-5 * wanted.max())


def test_transmissions_without_flats_give_the_same_volume() -> None:
    scan = plain_scan(counts=1.0, dark_counts=0.0)
    assert scan.flats is not None
    transmissions = scan.projections.read() / scan.flats.read()[:1]
    found = reconstruct_array(replace(scan_of(transmissions), pixel_size_um=1.0), RECIPE, device="cpu")
    np.testing.assert_allclose(found, reconstruct_array(plain_scan(), RECIPE, device="cpu"), atol=1e-3 * found.max())
    assert light_warnings(scan_of(transmissions)) == []


def test_the_floor_follows_the_beam() -> None:
    frames = np.full((4, 6, 8), 1000.0)
    assert floor_of(scan_of(frames, frames, frames / 10)) == pytest.approx(0.09)
    counts = frames.astype(np.uint16)
    assert floor_of(scan_of(counts, counts, counts // 10)) == 0.5
    assert floor_of(scan_of(60 * counts, 60 * counts, counts)) == pytest.approx(5.9)
    slit = np.zeros((4, 6, 8))
    slit[:, :1] = 500.0  # The beam lights one row of six.
    assert beam_of(scan_of(slit, slit, 0 * slit)) == 500
    assert beam_of(scan_of(slit)) == 1


def test_the_floor_is_the_same_for_every_row(device: Device) -> None:
    """A slab of some rows gives the same values as all rows."""
    rows = np.linspace(0.01, 1, 6)[None, :, None] * np.ones((8, 6, 16))
    scan = scan_of(rows * 1e-5, rows, 0 * rows)
    whole = attenuate(rows * 1e-5, np.arange(8.0), Calibration.of(scan), device)
    part = attenuate(rows[:, 1:2] * 1e-5, np.arange(8.0), Calibration.of(scan, (1, 2)), device)
    room = primitives(device)
    np.testing.assert_array_equal(room.to_host(part.sinograms), room.to_host(whole.sinograms)[1:2])


def test_exchanged_flats_and_darks_are_refused() -> None:
    scan = plain_scan()
    exchanged = replace(scan, flats=scan.darks, darks=scan.flats)
    with pytest.raises(InvalidInput, match=r"not brighter than its darks .*flats and darks are not swapped"):
        reconstruct_array(exchanged, RECIPE, device="cpu")


def test_a_scan_that_is_mostly_dark_is_refused_everywhere(tmp_path: Path) -> None:
    scan = plain_scan()
    black = replace(scan, projections=Frames.from_array(np.full_like(scan.projections.read(), 90.0), 10.0))
    reply = r"100 % of the pixels of .* have no light.*flats or darks belong to another scan"
    with pytest.raises(InvalidInput, match=reply):
        reconstruct_array(black, RECIPE, device="cpu")
    with pytest.raises(InvalidInput, match=reply):
        SlicePreview(black, choose("cpu")).slice(1, RECIPE)
    write_simulated(tmp_path / "black.h5", black)
    with pytest.raises(InvalidInput, match=reply):
        reconstruct(tmp_path / "black.h5", tmp_path / "black.zarr", RECIPE)
    assert [path.name for path in tmp_path.iterdir()] == ["black.h5"]


def test_attenuations_in_the_place_of_transmissions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="attenuations already"):
        reconstruct_array(scan_of(np.full((24, 3, 32), -0.1, np.float32)), RECIPE, device="cpu")


def test_counts_in_the_place_of_transmissions_are_reported() -> None:
    assert "these reach 3000" in light_warnings(scan_of(np.full((4, 6, 8), 3000, np.uint16)))[0]


@pytest.mark.parametrize("rows", [None, (0, 3), (3, 6), (2, 3)])
def test_the_share_of_dark_pixels(rows: tuple[int, int] | None) -> None:
    flats = np.ones((2, 6, 8))
    flats[:, 3:] = 0
    projections = np.ones((20, 6, 8))
    projections[:, :, 0] = 0
    wanted = np.broadcast_to((np.arange(6)[:, None] >= 3) | (np.arange(8) == 0), (6, 8))[
        slice(*(rows or (0, 6)))
    ].mean()
    assert dark_share(scan_of(projections, flats, 0 * flats), rows) == pytest.approx(wanted)
