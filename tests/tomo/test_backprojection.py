"""Back projection: against its definition, against discs whose attenuation is known, and on a real tooth."""

import numpy as np
import pytest

from pellucid.device import Device, primitives
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.geometry.view_weights import view_weights
from pellucid.tomo.methods.direct import ParallelGeometry, back_project
from pellucid.tomo.methods.filters import filter_sinograms
from pellucid.tomo.reference.projection import back_project as defined
from pellucid.tomo.reference.projection import grid
from pellucid.tomo.scan import Floats
from tests.tomo.analytic import ellipse_sinogram, even_angles
from tests.tomo.tooth import tooth_sinogram


def made(sinograms: Voxels, geometry: ParallelGeometry, device: Device, name: str = "ramachandran") -> Voxels:
    room = primitives(device)
    filtered = filter_sinograms(room.to_device(sinograms.astype(np.float32)), name, padding="none", device=device)
    return room.to_host(back_project(filtered, geometry, device))


@pytest.mark.parametrize("slices", [1, 19])
@pytest.mark.parametrize("is_circle", [True, False])
def test_shared_axis_is_the_definition(slices: int, is_circle: bool, device: Device) -> None:
    rows = np.random.default_rng(slices).standard_normal((slices, 21, 45)).astype(np.float32)
    angles = even_angles(21) + 0.1
    geometry = ParallelGeometry.shared(angles, 20.7, slices, is_circle=is_circle)
    room = primitives(device)
    found = room.to_host(back_project(room.to_device(rows), geometry, device))
    radius = None if is_circle else 45.0
    for row, image in zip(rows, found, strict=True):
        expected = defined(row, angles, view_weights(angles), 20.7, radius)
        np.testing.assert_allclose(image, expected, atol=1e-5)


def test_an_axis_per_slice_is_the_definition(device: Device) -> None:
    rows = np.random.default_rng(3).standard_normal((3, 30, 40)).astype(np.float32)
    angles, axes = even_angles(30, 2 * np.pi), np.array([19.5, 20.25, 17.0])
    room = primitives(device)
    found = room.to_host(back_project(room.to_device(rows), ParallelGeometry(angles, axes), device))
    for row, axis, image in zip(rows, axes, found, strict=True):
        np.testing.assert_allclose(image, defined(row, angles, view_weights(angles), axis), atol=1e-5)


@pytest.mark.parametrize("turn_rad", [np.pi, 2 * np.pi])
def test_a_disc_comes_back_with_its_attenuation(turn_rad: float, device: Device) -> None:
    angles = even_angles(360, turn_rad)
    sinogram = 0.01 * ellipse_sinogram(angles, 256, 125.2, (80.0, 80.0))[None]
    image = made(sinogram, ParallelGeometry.shared(angles, 125.2, 1), device)[0]
    x, y = grid(256)
    inner = image[x**2 + y**2 < 60**2]
    assert inner.mean() == pytest.approx(0.01, rel=1e-4)
    assert inner.std() < 2e-5


def test_an_ellipse_lies_where_it_is(device: Device) -> None:
    angles = even_angles(300)
    sinogram = ellipse_sinogram(angles, 200, 99.5, (40.0, 20.0), middle=(25.0, -30.0))[None]
    image = made(sinogram, ParallelGeometry.shared(angles, 99.5, 1), device)[0]
    x, y = grid(200)
    share = ((x - 25) / 40) ** 2 + ((y + 30) / 20) ** 2
    assert image[share < 0.7].mean() == pytest.approx(1.0, rel=5e-4)
    assert abs(image[(share > 1.4) & (x**2 + y**2 < 90**2)].mean()) < 5e-3


@pytest.mark.parametrize("order", ["shuffled", "golden"])
def test_angles_may_come_in_any_order_and_distance(order: str, device: Device) -> None:
    rng = np.random.default_rng(0)
    golden = np.arange(400) * np.pi * (np.sqrt(5) - 1) / 2
    angles: Floats = rng.permutation(even_angles(400)) if order == "shuffled" else golden
    sinogram = ellipse_sinogram(angles, 160, 79.5, (50.0, 50.0))[None]
    image = made(sinogram, ParallelGeometry.shared(angles, 79.5, 1), device)[0]
    x, y = grid(160)
    assert image[x**2 + y**2 < 40**2].mean() == pytest.approx(1.0, rel=2e-3)


def test_weights_of_views() -> None:
    ends = np.radians(np.linspace(0, 180, 181))
    weights = view_weights(ends)
    assert weights.sum() == pytest.approx(np.pi)
    assert weights[0] == pytest.approx(weights[90] / 2)  # The first and the last are one view, mirrored.
    wedge = view_weights(np.radians(np.arange(0, 120.0)))
    np.testing.assert_allclose(wedge, np.pi / 180)


def test_neighbours_do_not_change_a_slice(device: Device) -> None:
    rows = np.random.default_rng(4).standard_normal((20, 16, 40)).astype(np.float32)
    angles = even_angles(16)
    together = made(rows, ParallelGeometry.shared(angles, 19.5, 20), device)
    alone = made(rows[17:18], ParallelGeometry.shared(angles, 19.5, 1), device)
    np.testing.assert_array_equal(together[17], alone[0])


def test_the_tooth_has_its_golden_values(device: Device) -> None:
    sinogram, angles = tooth_sinogram(0)
    image = made(sinogram[None], ParallelGeometry.shared(angles, 296.0, 1), device, "chesler")[0]
    found = [image.min(), image.max(), image.mean(dtype=np.float64), image.std(dtype=np.float64)]
    np.testing.assert_allclose(found, [-0.00377378, 0.0104451, 0.000703478, 0.00207434], rtol=2e-4)


def test_what_does_not_belong_together_is_refused() -> None:
    with pytest.raises(InvalidInput, match="2 slices and 3 views came with 2 axes and 4 angles"):
        back_project(np.zeros((2, 3, 4), np.float32), ParallelGeometry.shared(even_angles(4), 1.5, 2))
