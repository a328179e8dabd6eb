"""Offset scans at any angles: opposite views are found by angle, joined views have the attenuation of the sample."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pellucid.tomo.geometry.opposite_views import OppositeViews
from pellucid.tomo.geometry.view_weights import view_weights
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.reference.projection import grid
from pellucid.tomo.scan import Floats, Frames, Scan
from tests.tomo.analytic import ellipse_sinogram
from tests.tomo.angle_sets import AngleSet

COLUMNS, AXIS, TRUTH = 72, 12.25, 0.01


@st.composite
def full_turns(draw: st.DrawFn) -> AngleSet:
    """One to three turns, with or without the end, with noise of the encoder, in either direction."""
    turns, count = draw(st.integers(1, 3)), draw(st.integers(200, 320))
    step = 360.0 * turns / count
    angles = np.linspace(0, 360.0 * turns, count, endpoint=draw(st.booleans()))
    if draw(st.booleans()):
        step = draw(st.floats(0.9, 1.1)) * 360.0 / 300
        angles = np.arange(0, 360.0 * turns, step)
    noise = np.random.default_rng(count).normal(0, draw(st.sampled_from([0.0, 0.002])), len(angles))
    return AngleSet(np.radians(draw(st.sampled_from([1, -1])) * (angles + noise)), step)


@settings(max_examples=200)
@given(full_turns())
def test_views_are_paired_with_what_is_opposite(drawn: AngleSet) -> None:
    angles, pairs = drawn.angles_rad, OppositeViews.of(drawn.angles_rad)
    span = (angles[pairs.after] - angles[pairs.before] + np.pi) % (2 * np.pi) - np.pi
    behind = angles[pairs.before] + pairs.shares * span
    away = (behind - angles[pairs.front]) % (2 * np.pi) - np.pi
    assert np.degrees(np.abs(away)).max() < 0.01 * drawn.step_deg
    assert np.abs(np.degrees(span)).max() < 1.1 * drawn.step_deg + 0.02
    assert abs(pairs.count - len(angles) / 2) <= 2 * 3
    assert view_weights(angles[pairs.front]).sum() == pytest.approx(np.pi)


def offset_scan(angles: Floats) -> Scan:
    """A disc about the axis, which is at the border of the detector."""
    lengths = TRUTH * ellipse_sinogram(angles, COLUMNS, AXIS, (45.0, 45.0))
    return Scan("offset", "array", Frames.from_array(np.exp(-lengths)[:, None].astype(np.float32)), angles)


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(full_turns(), st.sampled_from(["direct", "gridding"]))
def test_an_offset_scan_has_the_attenuation_of_the_sample(drawn: AngleSet, method: str) -> None:
    recipe = Recipe(center=AXIS, is_offset=True, method=method, filter="ramachandran")
    image = reconstruct_array(offset_scan(drawn.angles_rad), recipe, device="cpu")[0]
    x, y = grid(image.shape[0])
    assert image[x**2 + y**2 < 35**2].mean() == pytest.approx(TRUTH, rel=0.005)
