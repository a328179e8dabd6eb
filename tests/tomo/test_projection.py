"""Projection is Joseph's: against its definition, against ASTRA's; and the transpose is exactly its transpose."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.device import Device, choose, primitives
from pellucid.tomo.methods import direct, forward_projection
from pellucid.tomo.methods.direct import ParallelGeometry, Views, add_views
from pellucid.tomo.methods.forward_projection import project, project_transposed
from pellucid.tomo.reference.projection import grid
from pellucid.tomo.reference.projection import project as defined
from tests.tomo.analytic import ellipse_sinogram, even_angles
from tests.tomo.astra_peer import astra_matrix

GEOMETRIES = {
    "shared": ParallelGeometry.shared(even_angles(23) + 0.02, 17.3, 2),
    "own": ParallelGeometry(even_angles(23), np.array([17.3, 19.0])),
    "full turn": ParallelGeometry.shared(even_angles(24, 2 * np.pi), 17.3, 2, is_circle=False),
    "many slices": ParallelGeometry.shared(np.array([0.0, np.pi / 4, np.pi / 2, 3 * np.pi / 4, 0.1]), 18.0, 19),
}


@pytest.mark.parametrize("name", GEOMETRIES)
def test_projection_is_its_definition(name: str, device: Device) -> None:
    geometry, room = GEOMETRIES[name], primitives(device)
    images = np.random.default_rng(0).standard_normal((len(geometry.axes), 37, 37)).astype(np.float32)
    found = room.to_host(project(room.to_device(images), geometry, device))
    for image, axis, sinogram in zip(images, geometry.axes, found, strict=True):
        np.testing.assert_allclose(sinogram, defined(image, geometry.angles_rad, axis), atol=2e-4)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_the_transpose_is_that_of_the_definition(name: str, device: Device) -> None:
    """Of every single pixel: the definition's sinogram of it, times the rows."""
    geometry, room, size = GEOMETRIES[name], primitives(device), 11
    geometry = ParallelGeometry(geometry.angles_rad[:7], geometry.axes - 13.0)
    rows = np.random.default_rng(1).standard_normal((len(geometry.axes), len(geometry.angles_rad), size))
    found = room.to_host(project_transposed(room.to_device(rows.astype(np.float32)), geometry, device))
    for row, axis, image in zip(rows[:3], geometry.axes, found, strict=False):
        pixels = np.eye(size * size).reshape(-1, size, size)
        expected = [(defined(pixel, geometry.angles_rad, axis) * row).sum() for pixel in pixels]
        np.testing.assert_allclose(image.ravel(), expected, atol=5e-5)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    columns=st.integers(5, 90),
    views=st.integers(1, 50),
    away=st.floats(-0.45, 0.45),
    turn_rad=st.sampled_from([np.pi, 2 * np.pi, 1.9]),
    has_one_axis=st.booleans(),
)
def test_projection_and_transpose_are_matched(
    seed: int, columns: int, views: int, away: float, turn_rad: float, has_one_axis: bool
) -> None:
    """<A x, y> = <x, A' y>, for axes anywhere on the detector, as those of offset scans are before they are joined."""
    rng, axis = np.random.default_rng(seed), (0.5 + away) * (columns - 1)
    angles = rng.uniform(0, turn_rad, views)
    geometry = ParallelGeometry(angles, np.array([axis, axis if has_one_axis else axis + 0.3]))
    images = rng.random((2, columns, columns)).astype(np.float32)
    rows = rng.random((2, views, columns)).astype(np.float32)
    there = project(images, geometry, choose("cpu")).astype(float)
    back = project_transposed(rows, geometry, choose("cpu")).astype(float)
    assert (there * rows).sum() == pytest.approx((back * images).sum(), rel=2e-6)


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(8, 60), st.integers(2, 30), st.floats(-0.3, 0.3))
def test_projection_is_astras(seed: int, columns: int, views: int, away: float) -> None:
    rng, axis = np.random.default_rng(seed), (0.5 + away) * (columns - 1)
    angles = rng.uniform(0, np.pi, views)
    image = rng.random((1, columns, columns)).astype(np.float32)
    found = project(image, ParallelGeometry.shared(angles, axis, 1), choose("cpu"))
    theirs = astra_matrix(columns, angles, axis) @ image.ravel()
    # It adds up steps in single precision, and is further from the definition than this is.
    np.testing.assert_allclose(found.ravel(), theirs, atol=2e-4 * columns)


@pytest.mark.parametrize("slices", [1, 11])
def test_the_kernels_of_a_card_agree_with_those_of_the_cpu(slices: int) -> None:
    """On the CPU, which can run them too."""
    rng, device = np.random.default_rng(6), choose("cpu")
    geometry = ParallelGeometry.shared(rng.uniform(-1, 6, 14), 18.7, slices, is_circle=False)
    images = rng.standard_normal((slices, 41, 41)).astype(np.float32)
    rows, found = rng.standard_normal((slices, 14, 41)).astype(np.float32), np.zeros((slices, 14, 41), np.float32)
    forward_projection._on_cuda(images, geometry, found, device)
    np.testing.assert_allclose(found, project(images, geometry, device), atol=2e-4)
    for is_transpose in (False, True):
        views, image = Views(rng.random(14).astype(np.float32), is_transpose), np.zeros_like(images)
        direct._on_cuda(rows, geometry, views, image, device)
        np.testing.assert_allclose(image, add_views(rows, geometry, views, device), atol=1e-4)


def test_a_disc_has_the_length_of_its_chords(device: Device) -> None:
    angles, room = even_angles(31), primitives(device)
    x, y = grid(128 * 4)
    fine = (x**2 + y**2 <= 160.0**2).reshape(128, 4, 128, 4).mean(axis=(1, 3)).astype(np.float32)
    found = room.to_host(project(room.to_device(fine[None]), ParallelGeometry.shared(angles, 60.7, 1), device))[0]
    expected = ellipse_sinogram(angles, 128, 60.7, (40.0, 40.0))
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.4
    np.testing.assert_allclose(found.sum(axis=1), fine.sum(), rtol=2e-3)
