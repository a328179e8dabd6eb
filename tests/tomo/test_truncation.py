"""Samples wider than the field of view have the right values inside it; other scans stay as they were."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.device import choose, primitives
from pellucid.formats.protocol import Voxels
from pellucid.tomo.methods.direct import ParallelGeometry
from pellucid.tomo.methods.filters import RowEnds, border_flags, filter_sinograms
from pellucid.tomo.pipeline.live import LiveSlices
from pellucid.tomo.pipeline.slabs import reconstructed
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.reference.projection import grid
from pellucid.tomo.scan import Floats
from tests.tomo.analytic import ellipse_sinogram, even_angles

CPU, COLUMNS = choose("cpu"), 96
ANGLES, AXIS = even_angles(120), (COLUMNS - 1) / 2
X, Y = grid(COLUMNS)
INNER = X**2 + Y**2 < (0.45 * COLUMNS) ** 2

Ellipse = tuple[float, float, float, float, float]
"""Half axes, middle, attenuation."""


def sinogram_of(parts: list[Ellipse]) -> Floats:
    return np.asarray(
        np.sum([mu * ellipse_sinogram(ANGLES, COLUMNS, AXIS, (a, b), (x, y)) for a, b, x, y, mu in parts], axis=0)
    )


def truth_of(parts: list[Ellipse]) -> Floats:
    return np.asarray(np.sum([mu * (((X - x) / a) ** 2 + ((Y - y) / b) ** 2 <= 1) for a, b, x, y, mu in parts], axis=0))


def made(rows: Floats, padding: str, method: str = "direct") -> Voxels:
    geometry, recipe = ParallelGeometry.shared(ANGLES, AXIS, 1), Recipe(padding=padding, method=method)
    sinograms = primitives(CPU).to_device(rows[None].astype(np.float32))
    return np.asarray(primitives(CPU).to_host(reconstructed(sinograms, geometry, recipe, CPU))[0])


def error_of(parts: list[Ellipse], padding: str, rows: Floats | None = None, method: str = "direct") -> float:
    """Of the mean inside the field of view."""
    image = made(sinogram_of(parts) if rows is None else rows, padding, method)
    return float((image - truth_of(parts))[INNER].mean())


def cut_disc(cut: float) -> float:
    """The radius of a disc of which this share of its width is cut off, on both sides together."""
    return COLUMNS / 2 / (1 - cut)


@pytest.mark.parametrize("method", ["direct", "gridding"])
@pytest.mark.parametrize("cut", [0.05, 0.1, 0.2, 0.3, 0.4])
def test_a_disc_that_is_cut_off_keeps_its_value(cut: float, method: str) -> None:
    parts: list[Ellipse] = [(cut_disc(cut), cut_disc(cut), 0.0, 0.0, 1.0)]
    assert abs(error_of(parts, "auto", method=method)) < 0.012
    if cut < 0.35:
        assert abs(error_of(parts, "edge", method=method)) > 0.05


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    cut=st.floats(0.05, 0.4),
    ratio=st.floats(0.75, 1.0),
    away=st.tuples(st.floats(-0.08, 0.08), st.floats(-0.08, 0.08)),
    count=st.integers(0, 4),
    noise=st.sampled_from([0.0, 0.01]),
)
def test_samples_of_several_materials_are_better_than_with_a_fading_border(
    *, seed: int, cut: float, ratio: float, away: tuple[float, float], count: int, noise: float
) -> None:
    random, radius = np.random.default_rng(seed), cut_disc(cut)
    parts: list[Ellipse] = [(radius, ratio * radius, away[0] * COLUMNS, away[1] * COLUMNS, 1.0)]
    for _ in range(count):
        (a, b), far, turn = (
            random.uniform(0.05, 0.15, 2) * radius,
            random.uniform(0, 0.85) * radius,
            random.uniform(0, 7),
        )
        parts.append((a, b, far * np.cos(turn), far * np.sin(turn), random.uniform(-0.8, 1.0)))
    rows = sinogram_of(parts)
    rows = rows + noise * rows.max() * random.standard_normal(rows.shape)
    now, before, uncontinued = (abs(error_of(parts, padding, rows)) for padding in ("auto", "edge", "none"))
    assert now < 0.06
    sinograms = primitives(CPU).to_device(rows[None].astype(np.float32))
    is_cut = bool(border_flags(sinograms, "auto", CPU)[0])
    assert now <= (before if is_cut else uncontinued) + 0.005


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**32), radius=st.floats(0.1, 0.48), noise=st.sampled_from([0.0, 0.002]))
def test_scans_that_are_not_cut_off_stay_as_they_were(seed: int, radius: float, noise: float) -> None:
    """To the last bit: nothing is behind the border of a slice that is not continued."""
    random = np.random.default_rng(seed)
    rows = sinogram_of([(radius * COLUMNS, 0.9 * radius * COLUMNS, 0.0, 0.0, 1.0)])
    rows = rows + noise * rows.max() * random.standard_normal(rows.shape)
    whole = rows[None].astype(np.float32)
    found = filter_sinograms(whole, "chesler", padding="auto", device=CPU)
    unchanged = filter_sinograms(whole, "chesler", padding="auto", device=CPU, ends=RowEnds(np.zeros(1, np.int32)))
    np.testing.assert_array_equal(found, unchanged)


def test_live_slices_are_judged_by_all_views_so_far() -> None:
    """A plate that is cut off in some views only: no batch of views is judged by itself."""
    rows = sinogram_of([(0.9 * COLUMNS, 0.35 * COLUMNS, 0.0, 0.0, 1.0)])[None].astype(np.float32)
    batches: list[Any] = [slice(first, first + 10) for first in range(0, 120, 10)]
    alone = [int(border_flags(rows[:, batch], "auto", CPU)[0]) for batch in batches]
    assert set(alone) == {0, 2}
    slices = LiveSlices(1, COLUMNS, AXIS, Recipe(), CPU)
    for batch in batches:
        judged = int(slices._edges(rows[:, batch])[0])
        assert judged == int(border_flags(np.ascontiguousarray(rows[:, : batch.stop]), "auto", CPU)[0])
