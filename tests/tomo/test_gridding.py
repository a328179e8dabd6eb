"""Gridding: against the sum over waves that it stands for, and against direct back projection."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.device import Device, choose, primitives
from pellucid.formats.protocol import Voxels
from pellucid.tomo.methods import gridding_cuda
from pellucid.tomo.methods.direct import ParallelGeometry, back_project
from pellucid.tomo.methods.filters import (
    FILTERS,
    border_fits,
    border_flags,
    filter_sinograms,
    padded_length,
    smoothed_response,
)
from pellucid.tomo.methods.gridding import reconstruct_by_gridding
from pellucid.tomo.methods.gridding_cpu import reuse_buffers
from pellucid.tomo.methods.gridding_window import grid_size
from pellucid.tomo.reference.projection import fourier_sum, grid
from tests.tomo.analytic import ellipse_sinogram, even_angles
from tests.tomo.tooth import tooth_sinogram


def made(sinograms: Voxels, geometry: ParallelGeometry, device: Device, name: str, padding: str = "none") -> Voxels:
    room = primitives(device)
    rows = room.to_device(sinograms.astype(np.float32))
    return room.to_host(reconstruct_by_gridding(rows, geometry, name, padding=padding, device=device))


@pytest.mark.parametrize("columns", [40, 41, 75])  # transforms of 2, 3 and 5 at a time
@pytest.mark.parametrize("axes", [[18.7, 18.7, 18.7], [18.7, 20.0, 21.5]])
def test_gridding_is_the_sum_over_waves(columns: int, axes: list[float], device: Device) -> None:
    rows = np.random.default_rng(columns).standard_normal((3, 24, columns))
    angles = even_angles(24) + 0.05
    geometry = ParallelGeometry(angles, np.array(axes))
    found = made(rows, geometry, device, "shepp-logan")
    gains = smoothed_response("shepp-logan", padded_length(columns, "none"))
    for row, axis, image in zip(rows, axes, found, strict=True):
        expected = fourier_sum(row, angles, geometry.weights, axis, gains)
        assert np.abs(image - expected).max() < 3e-4 * np.abs(expected).max()


def test_a_disc_comes_back_with_its_attenuation(device: Device) -> None:
    angles = even_angles(400)
    sinogram = 0.01 * ellipse_sinogram(angles, 256, 125.2, (80.0, 80.0))[None]
    image = made(sinogram, ParallelGeometry.shared(angles, 125.2, 1), device, "ramachandran")[0]
    x, y = grid(256)
    inner = image[x**2 + y**2 < 60**2]
    assert inner.mean() == pytest.approx(0.01, rel=1e-4)
    assert inner.std() < 3e-5


@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32),
    name=st.sampled_from(sorted(FILTERS)),
    columns=st.integers(48, 110),
    views=st.integers(80, 220),
    away=st.floats(-3, 3),
)
def test_a_filter_stands_for_the_same_noise_as_directly(
    seed: int, name: str, columns: int, views: int, away: float
) -> None:
    """Views along rows and columns, whose pixels all lie at the same share of a column, are few enough here."""
    rows = np.random.default_rng(seed).standard_normal((2, views, columns)).astype(np.float32)
    geometry, device = ParallelGeometry.shared(even_angles(views), (columns - 1) / 2 + away, 2), choose("cpu")
    x, y = grid(columns)
    inside = x**2 + y**2 < (0.4 * columns) ** 2
    directly = back_project(filter_sinograms(rows, name, padding="none", device=device), geometry, device)
    assert made(rows, geometry, device, name)[:, inside].std() == pytest.approx(directly[:, inside].std(), rel=0.03)


@pytest.mark.parametrize(("name", "least_db"), [("ramachandran", 45), ("shepp-logan", 47), ("chesler", 57)])
def test_a_filter_stands_for_the_same_sharpness_as_directly(name: str, least_db: float, device: Device) -> None:
    angles, axis, room = even_angles(200), 63.1, primitives(device)
    small = 0.5 * ellipse_sinogram(angles, 128, axis, (6.0, 4.0), (10.0, 5.0))
    rows = (ellipse_sinogram(angles, 128, axis, (40.0, 30.0)) + small)[None].astype(np.float32)
    geometry = ParallelGeometry.shared(angles, axis, 1)
    filtered = filter_sinograms(room.to_device(rows), name, padding="none", device=device)
    directly, found = room.to_host(back_project(filtered, geometry, device))[0], made(rows, geometry, device, name)[0]
    x, y = grid(128)
    error = np.sqrt(np.mean((found - directly)[x**2 + y**2 < 60**2] ** 2)) / np.ptp(directly)
    assert -20 * np.log10(error) > least_db


def test_the_tooth_looks_as_it_does_directly(device: Device) -> None:
    sinogram, angles = tooth_sinogram(0)
    geometry = ParallelGeometry.shared(angles, 296.0, 1)
    room = primitives(device)
    filtered = filter_sinograms(room.to_device(sinogram[None].astype(np.float32)), "parzen", device=device)
    direct = room.to_host(back_project(filtered, geometry, device))[0]
    image = made(sinogram[None], geometry, device, "parzen", "auto")[0]
    error = np.sqrt(np.mean((image - direct) ** 2)) / np.ptp(direct)
    assert -20 * np.log10(error) > 45


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_neighbours_do_not_change_a_slice_on_the_cpu(slope: float) -> None:
    """Nor memory that is used again: there are more slices than lie side by side."""
    rows, angles = np.random.default_rng(4).standard_normal((19, 16, 40)), even_angles(16)
    whole = ParallelGeometry(angles, 19.5 + slope * np.arange(19, dtype=np.float64))
    with reuse_buffers():
        together = made(rows, whole, choose("cpu"), "hann")
        for some in (slice(4, 6), slice(12, 19)):
            alone = made(rows[some], whole.part(some), choose("cpu"), "hann")
            np.testing.assert_array_equal(together[some], alone)


@pytest.mark.parametrize("padding", ["none", "edge", "auto"])
@pytest.mark.parametrize(
    "axes", [[18.7], [18.7] * 3, [18.7, 20.0, 21.5], [18.7] * 15], ids=["one", "shared", "one each", "many"]
)
def test_the_kernels_of_a_card_agree_with_those_of_the_cpu(axes: list[float], padding: str) -> None:
    """On the CPU, which can run them too: views in any order, over more than a half turn, and along the axes."""
    random, slices, device = np.random.default_rng(5), len(axes), choose("cpu")
    rows = random.standard_normal((slices, 30, 41)).astype(np.float32)
    geometry = ParallelGeometry(np.array([0, np.pi / 2, *random.uniform(-1, 6, 28)]), np.array(axes))
    edges = border_flags(rows, padding, device)
    assert (edges == {"none": 0, "edge": 1, "auto": 2}[padding]).all()
    borders = border_fits(rows, edges, device, geometry.axes)
    filtering = gridding_cuda.Filtering("shepp-logan", edges, borders, padded_length(41, padding))
    found = gridding_cuda.make_slices(rows, geometry, filtering, grid_size(41), device)
    expected = made(rows, geometry, device, "shepp-logan", padding)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
