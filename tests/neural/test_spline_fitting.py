"""Splines under neural fields: chosen for smooth volumes alone, the best of a size, and what they leave is trained."""

from pathlib import Path

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.formats.neural_field.coding import coded_arrays
from pellucid.formats.neural_field.spline import spline_on
from pellucid.formats.protocol import Voxels
from pellucid.neural.compression import CompressionOptions, compress
from pellucid.neural.spline_fitting import SplineResidual, choose_spline, fit_spline, is_smooth
from pellucid.volume.volume import Volume, open_volume


def waves(shape: tuple[int, int, int], offset: float = 0.0) -> Voxels:
    z, y, x = np.meshgrid(*[np.linspace(0, 1, n) for n in shape], indexing="ij")
    return np.asarray(np.sin(4 * x + 2 * z) * np.cos(5 * y) + z**2 + offset, np.float32)


def noise(shape: tuple[int, int, int]) -> Voxels:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def test_a_polynomial_of_third_degree_is_met_exactly() -> None:
    z, y, x = np.meshgrid(*[np.linspace(-1, 1, n) for n in (9, 14, 11)], indexing="ij")
    volume = Volume.from_array((x**3 - 2 * y**2 * z + z**3 + 0.5).astype(np.float32))
    fitted = fit_spline(volume, volume.box, (1, 1, 1), step=1e-6)
    assert fitted is not None and fitted.mean_square_error < 1e-11


def test_least_squares_are_those_of_numpy() -> None:
    """Of a box of a volume that is not smooth, with more planes than are read at once."""
    volume, box = Volume.from_array(noise((12, 10, 9))), Box((2, 1, 0), (11, 9, 9))
    fitted = fit_spline(volume, box, (3, 2, 4), step=1e-6)
    assert fitted is not None
    axes = [np.linspace(-1, 1, n, dtype=np.float32) for n in box.shape]
    values = volume.read(box).astype(float)
    columns = []
    for index in np.ndindex(fitted.grid.coefficients.shape):
        one = np.zeros_like(fitted.grid.coefficients)
        one[index] = 1
        columns.append(spline_on(type(fitted.grid)(one), axes).ravel().astype(float))
    expected, *_ = np.linalg.lstsq(np.array(columns).T, values.ravel(), rcond=None)
    left = values.ravel() - np.array(columns).T @ expected
    assert fitted.mean_square_error == pytest.approx(np.mean(left**2), rel=1e-4)
    found = SplineResidual(volume, box, fitted.grid).left(box)
    np.testing.assert_allclose(found.ravel(), left, atol=1e-4)
    assert fitted.residual_range == (float(found.min()), float(found.max()))


@pytest.mark.parametrize(
    ("voxels", "expected"),
    [
        (waves((40, 50, 60)), True),
        (waves((40, 50, 60), 1e3), True),
        (noise((40, 40, 40)), False),
        (waves((40, 40, 40)) + 0.1 * noise((40, 40, 40)), False),
        (np.ones((20, 20, 20), np.float32), False),
        (waves((2, 50, 50)), False),
    ],
)
def test_only_smooth_volumes_have_one(voxels: Voxels, expected: bool) -> None:
    volume = Volume.from_array(voxels)
    assert is_smooth(volume, volume.box, 20_000) == expected


@pytest.mark.parametrize("size", [20_000, 60_000])
def test_it_takes_its_share_of_the_bytes(size: int) -> None:
    volume = Volume.from_array(waves((48, 48, 48)))
    chosen = choose_spline(volume, volume.box, size)
    assert chosen is not None and chosen.nbytes <= 0.85 * size
    assert chosen.nbytes == len(coded_arrays([(chosen.grid.coefficients, chosen.step)]))
    whole = np.rint(chosen.grid.coefficients / np.float32(chosen.step))
    np.testing.assert_allclose(whole * np.float32(chosen.step), chosen.grid.coefficients, rtol=1e-6)


def test_a_smooth_volume_is_stored_far_better_than_a_network_could(tmp_path: Path) -> None:
    voxels = waves((64, 48, 48), offset=-3)
    np.save(tmp_path / "waves.npy", voxels)
    report = compress(tmp_path / "waves.npy", tmp_path / "waves.plf", CompressionOptions(size=20_000, steps=20))
    assert report.quality.psnr > 90 and report.file_bytes <= 20_000
    with open_volume(tmp_path / "waves.plf") as opened:
        error = float(np.sqrt(np.mean((opened.read().astype(float) - voxels) ** 2)))
    assert 20 * np.log10(np.ptp(voxels) / error) == pytest.approx(report.quality.psnr, abs=0.1)


def test_a_series_keeps_the_cells_of_its_first_step(tmp_path: Path) -> None:
    import zarr

    steps = np.stack([waves((40, 40, 40)), waves((40, 40, 40), 0.01)])
    group = zarr.open_group(tmp_path / "flow.zarr", mode="w", zarr_format=2)
    group.create_array("0", data=steps, chunks=(1, 40, 40, 40))
    group.attrs["multiscales"] = [
        {
            "version": "0.4",
            "axes": [{"name": "t", "type": "time"}, *({"name": n, "type": "space"} for n in "zyx")],
            "datasets": [
                {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0, 1.0, 1.0]}]}
            ],
        }
    ]
    report = compress(tmp_path / "flow.zarr", tmp_path / "flow.plf", CompressionOptions(size=20_000, steps=20))
    assert report.times == 2 and report.quality.psnr > 80
    with open_volume(f"{tmp_path}/flow.plf:t=1") as opened:
        assert np.abs(opened.read() - steps[1]).max() < 1e-3
