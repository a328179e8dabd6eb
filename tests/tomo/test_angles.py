"""Weights of views: their sum is the angle covered, whatever the scan's angles are, and a disc has its attenuation."""

from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from pellucid.device import Device, primitives
from pellucid.formats.protocol import Voxels
from pellucid.tomo.geometry.view_weights import Coverage, view_weights
from pellucid.tomo.methods.direct import ParallelGeometry, back_project
from pellucid.tomo.methods.filters import filter_sinograms
from pellucid.tomo.methods.gridding import reconstruct_by_gridding
from pellucid.tomo.pipeline.live import LiveSlices
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.reference.projection import grid
from pellucid.tomo.scan import Floats
from tests.tomo.analytic import ellipse_sinogram
from tests.tomo.angle_sets import GOLDEN_DEG, AngleSet, covering, with_a_wedge

COLUMNS, AXIS, RADIUS, TRUTH = 96, 46.7, 30.0, 0.01
slowly = partial(settings, suppress_health_check=list(HealthCheck))
NOISE = np.random.default_rng(7).normal(0, 0.002, 2000)
NAMED: dict[str, Floats] = {
    "half turn": np.arange(0, 180, 1.0),
    "half turn, end included": np.arange(0, 180.5, 1.0),
    "full turn": np.arange(0, 360, 0.9),
    "full turn, end included": np.arange(0, 360.5, 1.0),
    "full turn, end included, noise": np.arange(0, 360.5, 1.0) + NOISE[:361],
    "full turn, odd step": np.arange(0, 360, 0.9037),
    "three turns, wrapped, noise": np.mod(np.arange(0, 1080, 2.0) + NOISE[:540], 360),
    "golden angle": np.arange(300.0) * GOLDEN_DEG,
    "every angle five times, noise": np.repeat(np.arange(0, 180, 1.5), 5) + NOISE[:600],
    "shuffled": np.random.default_rng(3).permutation(np.arange(0, 360, 0.9)),
}


@slowly(max_examples=300)
@given(covering())
def test_without_a_missing_wedge_weights_are_a_half_turn_together(drawn: AngleSet) -> None:
    weights = view_weights(drawn.angles_rad)
    assert weights.min() > 0
    assert weights.sum() == pytest.approx(np.pi, rel=1e-9)
    assert Coverage.of(drawn.angles_rad).covered_rad == pytest.approx(np.pi, rel=1e-9)


@slowly(max_examples=300)
@given(with_a_wedge())
def test_with_a_missing_wedge_weights_are_the_angle_covered(drawn: AngleSet) -> None:
    weights, coverage = np.degrees(view_weights(drawn.angles_rad)), Coverage.of(drawn.angles_rad)
    assert weights.sum() == pytest.approx(180 - drawn.missing_deg, abs=0.6 * drawn.step_deg)
    assert weights.sum() == pytest.approx(np.degrees(coverage.covered_rad), rel=1e-9)
    assert np.degrees(coverage.missing_rad).tolist() == pytest.approx([drawn.missing_deg], abs=0.6 * drawn.step_deg)


@slowly(max_examples=100)
@given(covering(views=(12, 80)))
def test_a_weight_is_the_angle_nearer_to_a_view_than_to_others(drawn: AngleSet) -> None:
    """Counted on a fine grid; views closer than a tenth of a step are one, and share."""
    angles, per_degree = np.mod(drawn.angles_rad, np.pi), 50
    fine = np.radians((np.arange(180 * per_degree) + 0.5) / per_degree)
    away = np.abs(fine[:, None] - angles)
    counts = np.bincount(np.minimum(away, np.pi - away).argmin(axis=1), minlength=len(angles))
    weights = np.degrees(view_weights(drawn.angles_rad))
    spacing = np.degrees(Coverage.of(drawn.angles_rad).step_rad)
    for angle in angles:  # Repeats and near repeats are compared by what they have together.
        near = np.abs((angles - angle + np.pi / 2) % np.pi - np.pi / 2) < np.radians(0.1 * spacing)
        both = np.abs((angles - angle + np.pi / 2) % np.pi - np.pi / 2) < np.radians(0.3 * spacing)
        if (near == both).all():
            assert weights[near].sum() == pytest.approx(counts[near].sum() / per_degree, abs=0.25 * spacing)


@slowly(max_examples=50)
@given(covering())
def test_order_and_turning_do_not_matter(drawn: AngleSet) -> None:
    order = np.random.default_rng(len(drawn.angles_rad)).permutation(len(drawn.angles_rad))
    weights = view_weights(drawn.angles_rad)
    np.testing.assert_allclose(view_weights(drawn.angles_rad[order]), weights[order], rtol=1e-6)
    np.testing.assert_allclose(view_weights(drawn.angles_rad + np.pi).sum(), weights.sum(), rtol=1e-9)


def test_repeats_share_equally() -> None:
    degrees = np.degrees(view_weights(np.radians([0, 0, 0, 0, 60, 120])))
    assert degrees.tolist() == pytest.approx([15, 15, 15, 15, 60, 60])


def test_views_at_a_single_angle_share_a_half_turn() -> None:
    assert view_weights(np.radians([3, 3, 183])).tolist() == pytest.approx([np.pi / 3] * 3)


@pytest.mark.parametrize("count", [2, 3, 10])
def test_the_first_views_of_a_scan_stand_for_a_step_each(count: int) -> None:
    assert np.degrees(view_weights(np.radians(np.arange(count) * 0.5))).tolist() == pytest.approx([0.5] * count)


def test_two_wedges_are_two() -> None:
    coverage = Coverage.of(np.radians(np.r_[np.arange(0, 50.0), np.arange(80, 140.0)]))
    assert np.degrees(coverage.missing_rad).tolist() == pytest.approx([30, 40])


def direct(sinograms: Voxels, angles: Floats, device: Device) -> Voxels:
    room = primitives(device)
    filtered = filter_sinograms(room.to_device(sinograms), "ramachandran", device=device)
    return np.asarray(room.to_host(back_project(filtered, ParallelGeometry.shared(angles, AXIS, 1), device))[0])


def gridding(sinograms: Voxels, angles: Floats, device: Device) -> Voxels:
    room = primitives(device)
    geometry = ParallelGeometry.shared(angles, AXIS, 1)
    slices = reconstruct_by_gridding(room.to_device(sinograms), geometry, "ramachandran", device=device)
    return np.asarray(room.to_host(slices)[0])


def live(sinograms: Voxels, angles: Floats, device: Device) -> Voxels:
    slices = LiveSlices(1, COLUMNS, AXIS, Recipe(filter="ramachandran"), device)
    for first in range(0, len(angles), 50):
        some = slice(first, first + 50)
        slices.add(primitives(device).to_device(np.ascontiguousarray(sinograms[:, some])), angles[some])
    return slices.cross().xy


METHODS = {"direct": direct, "gridding": gridding, "live": live}


def inside(method: str, angles: Floats, device: Device) -> float:
    """The mean attenuation in the inner part of a disc off the axis."""
    middle = (6.0, -4.0)
    sinogram = TRUTH * ellipse_sinogram(angles, COLUMNS, AXIS, (RADIUS, RADIUS), middle)
    image = METHODS[method](sinogram[None].astype(np.float32), angles, device)
    x, y = grid(COLUMNS)
    return float(image[(x - middle[0]) ** 2 + (y - middle[1]) ** 2 < (0.7 * RADIUS) ** 2].mean())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", NAMED)
def test_a_disc_has_its_attenuation(method: str, name: str, device: Device) -> None:
    assert inside(method, np.radians(NAMED[name]), device) == pytest.approx(TRUTH, rel=0.005)


@pytest.mark.parametrize("method", METHODS)
def test_a_disc_has_its_attenuation_for_any_angles(method: str, device: Device) -> None:
    @slowly(max_examples=25)
    @given(covering(views=(150, 400)))
    def check(drawn: AngleSet) -> None:
        if drawn.step_deg < 3:  # Fewer views leave streaks.
            assert inside(method, drawn.angles_rad, device) == pytest.approx(TRUTH, rel=0.005)

    check()
