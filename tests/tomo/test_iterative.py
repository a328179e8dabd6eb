"""Projection is the transpose of back projection, and iterative methods come back to the disc."""

import numpy as np
import pytest

from pellucid.device import Device, primitives
from pellucid.tomo.backprojection import Geometry, back_project
from pellucid.tomo.iterative import cgls, sirt
from pellucid.tomo.projection import project
from pellucid.tomo.reference.projection import grid
from pellucid.tomo.reference.projection import project as defined
from tests.tomo.analytic import ellipse_sinogram, even_angles

GEOMETRIES = {
    "shared": Geometry.shared(even_angles(23) + 0.02, 17.3, 2),
    "own": Geometry(even_angles(23), np.array([17.3, 19.0])),
    "square": Geometry.shared(even_angles(23, 2 * np.pi), 17.3, 2, is_circle=False),
}


@pytest.mark.parametrize("name", GEOMETRIES)
def test_projection_is_its_definition(name: str, device: Device) -> None:
    geometry = GEOMETRIES[name]
    images = np.random.default_rng(0).standard_normal((2, 37, 37)).astype(np.float32)
    room = primitives(device)
    found = room.to_host(project(room.to_device(images), geometry, device))
    for image, axis, radius, sinogram in zip(images, geometry.axes, geometry.radii(37), found, strict=True):
        np.testing.assert_allclose(sinogram, defined(image, geometry.angles_rad, axis, radius), atol=1e-4)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_projection_is_the_transpose_of_back_projection(name: str, device: Device) -> None:
    geometry, room, rng = GEOMETRIES[name], primitives(device), np.random.default_rng(1)
    images = rng.random((2, 37, 37)).astype(np.float32)
    sinograms = rng.random((2, 23, 37)).astype(np.float32)
    there = room.to_host(project(room.to_device(images), geometry, device)).astype(float)
    back = room.to_host(back_project(room.to_device(sinograms), geometry, device, weights=np.ones(23))).astype(float)
    assert (there * sinograms).sum() == pytest.approx((back * images).sum(), rel=1e-5)


@pytest.mark.parametrize("method", ["sirt", "cgls"])
def test_a_disc_from_few_views(method: str, device: Device) -> None:
    angles = even_angles(40)
    sinogram = ellipse_sinogram(angles, 64, 31.5, (20.0, 20.0))[None].astype(np.float32)
    geometry, room = Geometry.shared(angles, 31.5, 1), primitives(device)
    rows = room.to_device(sinogram)
    made = sirt(rows, geometry, 100, device=device) if method == "sirt" else cgls(rows, geometry, 20, device=device)
    image = room.to_host(made)[0]
    x, y = grid(64)
    assert image[x**2 + y**2 < 15**2].mean() == pytest.approx(1.0, rel=5e-3)
    assert abs(image[(x**2 + y**2 > 24**2) & (x**2 + y**2 < 31**2)].mean()) < 0.02


def test_pixels_below_zero_can_be_ruled_out(device: Device) -> None:
    angles = even_angles(12)
    rows = primitives(device).to_device(ellipse_sinogram(angles, 48, 23.5, (14.0, 9.0))[None].astype(np.float32))
    geometry = Geometry.shared(angles, 23.5, 1)
    free = primitives(device).to_host(sirt(rows, geometry, 20, device=device))
    bound = primitives(device).to_host(sirt(rows, geometry, 20, is_nonnegative=True, device=device))
    assert free.min() < 0 <= bound.min()


def test_neighbours_do_not_change_a_slice(device: Device) -> None:
    rows = np.random.default_rng(2).random((3, 10, 20)).astype(np.float32)
    angles, room = even_angles(10), primitives(device)
    together = room.to_host(cgls(room.to_device(rows), Geometry.shared(angles, 9.5, 3), 5, device=device))
    alone = room.to_host(cgls(room.to_device(rows[1:2]), Geometry.shared(angles, 9.5, 1), 5, device=device))
    np.testing.assert_array_equal(together[1], alone[0])
