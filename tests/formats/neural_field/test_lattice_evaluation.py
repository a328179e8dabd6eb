"""The kernel against the definition, and what chooses between the two."""

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.formats.neural_field import lattice_evaluation
from pellucid.formats.neural_field.evaluation import Axes, values_on
from pellucid.formats.neural_field.field import FeatureGrid, Floats, NeuralField
from pellucid.formats.neural_field.lattice_evaluation import kernel_values, lattice_values
from pellucid.formats.neural_field.packed_field import PackedField
from tests.formats.neural_field.sample_fields import decoder, grid, mixed_field, plain_field, whole_volume

Z, Y, X = (np.linspace(-1, 1, n, dtype=np.float32) for n in (5, 6, 7))


def wide_field(width: int) -> NeuralField:
    random = np.random.default_rng(width)
    return NeuralField(
        "wide", decoder(random, width + 1, 3, 1), (grid(random, width, 3, 2, 4), grid(random, 1, 1, 1, 5))
    )


@pytest.mark.parametrize(
    "field", [mixed_field(0), mixed_field(1, is_rotated=False), plain_field(2), *(wide_field(n) for n in (1, 2, 3, 4))]
)
def test_the_kernel_has_the_values_of_the_definition(field: NeuralField) -> None:
    found = kernel_values(field, PackedField(field), (Z, Y, X))
    np.testing.assert_allclose(found, values_on(field, (Z, Y, X)), atol=2e-4)


def test_a_grid_that_lies_outside_counts_nothing() -> None:
    random = np.random.default_rng(0)
    transform = np.eye(3, 4, dtype=np.float32)
    transform[:, 3] = 1e5
    far = FeatureGrid(np.ones((2, 3, 3, 3), np.float32), transform)
    field = NeuralField("far", decoder(random, 2, 3, 1), (far,), value_range=(5.0, 6.0))
    np.testing.assert_array_equal(kernel_values(field, PackedField(field), (Z, Y, X)), 5)


def test_pieces_do_not_change_values(monkeypatch: pytest.MonkeyPatch) -> None:
    field = mixed_field()
    whole = kernel_values(field, PackedField(field), (Z, Y, X))
    for points in (3, 20, 100):
        monkeypatch.setattr(lattice_evaluation, "POINTS_AT_ONCE", points)
        np.testing.assert_allclose(kernel_values(field, PackedField(field), (Z, Y, X)), whole, atol=1e-5)


def test_large_lattices_go_to_the_kernel_and_small_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    field, kernel = plain_field(), lattice_evaluation.kernel_values
    sizes: list[int] = []

    def counted(field: NeuralField, packed: PackedField, axes: Axes) -> Floats:
        sizes.append(len(axes[0]))
        return kernel(field, packed, axes)

    monkeypatch.setattr(lattice_evaluation, "kernel_values", counted)
    lattice_values(field, PackedField(field), (Z, Y, X))
    assert sizes == []
    shape = (33, 32, 32)
    volume = whole_volume(field, shape)
    found = volume.values(Box.whole(shape))
    assert sizes == [33]
    np.testing.assert_allclose(found[:2], volume.values(Box((0, 0, 0), (2, 32, 32))), atol=1e-5)
