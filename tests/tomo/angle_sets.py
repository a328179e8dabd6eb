"""Angles as scans really have them: turns, noise of the encoder, repeats, any order; and with a part missing."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from pellucid.tomo.scan import Floats

GOLDEN_DEG = 111.24611797498107
MAX_STEP_DEG = 16.0
"""A scan with larger steps leaves parts of the half turn out."""


@dataclass(frozen=True)
class AngleSet:
    """step_deg: between views as acquired. missing_deg: of a half turn, that no view covers."""

    angles_rad: Floats
    step_deg: float
    missing_deg: float = 0.0


@st.composite
def covering(draw: st.DrawFn, views: tuple[int, int] = (12, 400)) -> AngleSet:
    """Sets without a missing wedge."""
    count = draw(st.integers(*views))
    kind = draw(st.sampled_from(["even", "even", "odd step", "golden"]))
    turn = draw(st.sampled_from([turn for turn in (180.0, 360.0, 720.0, 1080.0) if turn / count <= MAX_STEP_DEG]))
    if kind == "golden":
        angles, step = np.arange(count, dtype=np.float64) * GOLDEN_DEG, 180.0 / count
    elif kind == "even":
        angles = np.linspace(0, turn, count, endpoint=draw(st.booleans()))
        step = turn / count
    else:
        step = turn / (count - draw(st.floats(0.0, 0.99)))
        angles = np.arange(count, dtype=np.float64) * step
    return AngleSet(_as_recorded(draw, angles, step), step)


@st.composite
def with_a_wedge(draw: st.DrawFn) -> AngleSet:
    """Sets in which a part of the half turn is missing, seen from the front and, in full turns, from behind."""
    step = draw(st.floats(0.3, 2.0))
    missing = draw(st.floats(max(15.0, 12 * step), 150.0))
    one_side = np.arange(0, 180.0 - missing + step / 2, step)
    sides = draw(st.integers(1, 2))
    angles = np.concatenate([one_side + 180.0 * side for side in range(sides)])
    return AngleSet(_as_recorded(draw, angles, step), step, 180.0 - one_side[-1] - step)


def _as_recorded(draw: st.DrawFn, angles: Floats, step: float) -> Floats:
    seeded = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    angles = np.repeat(angles, draw(st.sampled_from([1, 1, 1, 2, 5])))
    noise = draw(st.sampled_from([0.0, 0.0, 0.002, 0.02]))
    angles = angles + seeded.normal(0, min(noise, step / 50), len(angles))
    angles = draw(st.floats(-400, 400)) + draw(st.sampled_from([1, -1])) * angles
    angles = np.mod(angles, 360.0) if draw(st.booleans()) else angles
    angles = seeded.permutation(angles) if draw(st.booleans()) else angles
    return np.radians(angles)
