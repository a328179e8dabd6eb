"""Samples that are cut off on one side, because the axis is beside the middle, keep their values."""

import numpy as np
import pytest

from pellucid.device import choose, primitives
from pellucid.tomo.methods.direct import ParallelGeometry
from pellucid.tomo.methods.filters import RowEnds, filter_sinograms, taps
from pellucid.tomo.pipeline.slabs import reconstructed
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.reference.projection import continue_rows, filter_rows, grid
from tests.tomo.analytic import ellipse_sinogram, even_angles

CPU, COLUMNS, ANGLES = choose("cpu"), 96, even_angles(150)
X, Y = grid(COLUMNS)


@pytest.mark.parametrize("method", ["direct", "gridding"])
@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize(("away", "radius"), [(5.0, 45.0), (8.0, 45.0), (12.5, 45.0), (12.5, 60.0)])
def test_a_disc_about_an_axis_beside_the_middle_keeps_its_value(
    away: float, radius: float, side: int, method: str
) -> None:
    axis = (COLUMNS - 1) / 2 + side * away
    rows = ellipse_sinogram(ANGLES, COLUMNS, axis, (radius, radius))[None].astype(np.float32)
    geometry, recipe = ParallelGeometry.shared(ANGLES, axis, 1), Recipe(method=method)
    image = primitives(CPU).to_host(reconstructed(primitives(CPU).to_device(rows), geometry, recipe, CPU))[0]
    inner = (0.9 * ((COLUMNS - 1) / 2 - away)) ** 2 > X**2 + Y**2
    assert image[inner].mean() == pytest.approx(1.0, abs=0.02)


def test_the_ellipse_is_about_the_axis_of_every_slice() -> None:
    rows = np.random.default_rng(3).uniform(0.5, 1, (2, 4, 61)).astype(np.float32)
    axes = np.array([24.0, 38.5])
    found = filter_sinograms(rows, "hann", device=CPU, ends=RowEnds(axes=axes))
    for sinogram, axis, filtered in zip(rows, axes, found, strict=True):
        wide = continue_rows(sinogram, 4, 0.75, axis)
        start = (wide.shape[1] - 61) // 2
        expected = filter_rows(wide, taps("hann", wide.shape[1]))[:, start : start + 61]
        np.testing.assert_allclose(filtered, expected, atol=2e-5)
