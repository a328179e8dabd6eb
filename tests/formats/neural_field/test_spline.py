"""The spline under a neural field: values against SciPy's B-splines, on lattices, at points, through files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BSpline

from pellucid.box import Box
from pellucid.formats.neural_field.evaluation import values_at, values_on
from pellucid.formats.neural_field.field import Floats, NeuralField
from pellucid.formats.neural_field.lattice_evaluation import kernel_values
from pellucid.formats.neural_field.packed_field import PackedField
from pellucid.formats.neural_field.spline import SplineGrid, spline_at, spline_on
from pellucid.formats.neural_field.stored_volume import StoredField, _fault
from pellucid.volume.volume import open_volume
from tests.formats.neural_field.sample_fields import numbers, plain_field, whole_volume, write_volume

CELLS = st.tuples(*[st.integers(1, 7)] * 3)
SEEDS = st.integers(0, 2**32 - 1)


def spline_of(cells: tuple[int, ...], seed: int) -> SplineGrid:
    return SplineGrid(numbers(np.random.default_rng(seed), *(n + 3 for n in cells)))


def expected_at(grid: SplineGrid, points: Floats) -> Floats:
    """One basis function after the other, along each axis."""
    total = np.zeros(len(points))
    bases = []
    for axis, cells in enumerate(grid.cells):
        knots = np.arange(-3, cells + 4) * 2 / cells - 1
        at = np.clip(points[:, 2 - axis].astype(float), -1, 1 - 1e-12)
        bases.append([BSpline(knots, np.eye(cells + 3)[k], 3)(at) for k in range(cells + 3)])
    for k, j, i in np.ndindex(grid.coefficients.shape):
        total += grid.coefficients[k, j, i] * bases[0][k] * bases[1][j] * bases[2][i]
    return total.astype(np.float32)


@given(CELLS, SEEDS)
def test_values_are_those_of_b_splines(cells: tuple[int, int, int], seed: int) -> None:
    grid, random = spline_of(cells, seed), np.random.default_rng(seed)
    points = np.concatenate([random.uniform(-1, 1, (20, 3)), [[-1, -1, -1], [1, 1, 1], [0, 0, 0]]]).astype(np.float32)
    np.testing.assert_allclose(spline_at(grid, points), expected_at(grid, points), atol=2e-5)


@given(CELLS, SEEDS)
def test_a_lattice_has_the_values_of_its_points(cells: tuple[int, int, int], seed: int) -> None:
    grid, random = spline_of(cells, seed), np.random.default_rng(seed)
    axes = [np.sort(random.uniform(-1, 1, n)).astype(np.float32) for n in (3, 1, 4)]
    z, y, x = np.meshgrid(*axes, indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    np.testing.assert_allclose(spline_on(grid, axes).ravel(), spline_at(grid, points), atol=2e-5)


def with_spline(seed: int = 0) -> NeuralField:
    return replace(plain_field(seed), spline=spline_of((4, 3, 5), seed))


def test_it_is_added_to_the_network_in_every_evaluation() -> None:
    field = with_spline()
    z, y, x = (np.linspace(-1, 1, n, dtype=np.float32) for n in (5, 4, 6))
    axes = z, y, x
    assert field.spline is not None
    without = replace(field, spline=None)
    added = np.add(values_on(without, axes), spline_on(field.spline, axes))
    np.testing.assert_allclose(values_on(field, axes), added, atol=1e-5)
    np.testing.assert_allclose(kernel_values(field, PackedField(field), axes), added, atol=1e-5)
    points = np.random.default_rng(1).uniform(-1, 1, (30, 3)).astype(np.float32)
    added = np.add(values_at(without, points), spline_at(field.spline, points))
    np.testing.assert_allclose(values_at(field, points), added, atol=1e-5)


def test_it_is_stored_exactly(tmp_path: Path) -> None:
    field = with_spline(3)
    volume = whole_volume(field, (9, 10, 11))
    with open_volume(write_volume(tmp_path / "field.plf", volume)) as opened:
        np.testing.assert_array_equal(opened.read(), volume.values(Box.whole((9, 10, 11))))


@pytest.mark.parametrize("shape", [(3, 4, 4), (4, 4, 2**40)])
def test_impossible_shapes_are_refused(shape: tuple[int, int, int]) -> None:
    stored = StoredField("x", (0, 0, 0), (2, 2, 2), (0.0, 1.0), ((1, 1),), grids=((1, 2, 2, 2),), spline=(shape,))
    assert _fault(stored, (2, 2, 2)) == "a shape in its header is invalid"
