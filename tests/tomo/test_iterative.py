"""Iterative methods come back to the disc, and are as close to the truth as ASTRA's after as many iterations."""

import signal
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.device import Device, choose, primitives
from pellucid.engines.engine import make_engine
from pellucid.engines.stopping import raise_if_stopped
from pellucid.errors import Cancelled
from pellucid.formats.protocol import Voxels
from pellucid.tomo.methods.direct import ParallelGeometry
from pellucid.tomo.methods.forward_projection import project
from pellucid.tomo.methods.iterative import cgls, sirt
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.pipeline.reconstruct import RunOptions, reconstruct
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.reference.projection import grid
from pellucid.tomo.scan import Floats
from pellucid.tomo.scan_files.registry import open_scan
from tests.tomo.analytic import ellipse_sinogram, even_angles
from tests.tomo.astra_peer import astra_iterations
from tests.tomo.small_scan import write_scan
from tests.waiting import wait_until

Ellipse = tuple[float, float, float, float, float]
"""Half axes, middle, attenuation."""


def made(rows: Voxels, geometry: ParallelGeometry, method: str, iterations: int) -> Voxels:
    sinograms = rows[None].astype(np.float32)
    return np.asarray((sirt if method == "SIRT" else cgls)(sinograms, geometry, iterations, device=choose("cpu"))[0])


def phantom(rng: np.random.Generator, columns: int) -> list[Ellipse]:
    """A large ellipse with some small ones in it, within the circle that all views see."""
    size = 0.36 * columns
    parts: list[Ellipse] = [(size, size * rng.uniform(0.6, 1), 0.0, 0.0, 1.0)]
    for _ in range(rng.integers(0, 5)):
        (a, b), away, turn = rng.uniform(0.05, 0.15, 2) * columns, rng.uniform(0, 0.15) * columns, rng.uniform(0, 7)
        parts.append((a, b, away * np.cos(turn), away * np.sin(turn), rng.uniform(-0.5, 0.8)))
    return parts


def sinogram_of(parts: list[Ellipse], angles: Floats, columns: int, axis: float) -> Floats:
    rows = [mu * ellipse_sinogram(angles, columns, axis, (a, b), (x, y)) for a, b, x, y, mu in parts]
    return np.asarray(np.sum(rows, axis=0))


def truth_of(parts: list[Ellipse], columns: int, finer: int = 4) -> Voxels:
    x, y = (place / finer for place in grid(columns * finer))
    whole = np.sum([mu * (((x - u) / a) ** 2 + ((y - v) / b) ** 2 <= 1) for a, b, u, v, mu in parts], axis=0)
    return np.asarray(whole.reshape(columns, finer, columns, finer).mean(axis=(1, 3)))


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32),
    columns=st.integers(24, 56),
    views=st.integers(20, 200),
    away=st.floats(-3, 3),
    choice=st.sampled_from([("SIRT", 10), ("SIRT", 40), ("CGLS", 5), ("CGLS", 12), ("CGLS", 25)]),
    noise=st.sampled_from([0.0, 0.02]),
)
def test_errors_are_those_of_astra_or_smaller(
    seed: int, columns: int, views: int, away: float, choice: tuple[str, int], noise: float
) -> None:
    rng, axis, angles = np.random.default_rng(seed), (columns - 1) / 2 + away, even_angles(views)
    parts = phantom(rng, columns)
    rows = sinogram_of(parts, angles, columns, axis)
    rows = rows + noise * rows.max() * rng.standard_normal(rows.shape)
    geometry = ParallelGeometry.shared(angles, axis, 1, is_circle=False)
    x, y = grid(columns)
    inside, truth = x**2 + y**2 < (0.45 * columns - 3) ** 2, truth_of(parts, columns)
    slices = made(rows, geometry, *choice), astra_iterations(rows, angles, axis, *choice)
    mine, theirs = (float(np.sqrt(np.mean((image - truth)[inside] ** 2))) for image in slices)
    assert mine <= 1.02 * theirs


@pytest.mark.parametrize(("method", "iterations"), [("SIRT", 100), ("CGLS", 15)])
def test_a_uniform_disc_has_no_more_texture_than_astras(method: str, iterations: int) -> None:
    """60 views without noise: what the old projector, driven by pixels, left in it was several times as much."""
    angles, axis = even_angles(60), 46.2
    rows = ellipse_sinogram(angles, 96, axis, (34.0, 34.0))
    x, y = grid(96)
    inner = x**2 + y**2 < 28**2
    image = made(rows, ParallelGeometry.shared(angles, axis, 1), method, iterations)[inner]
    theirs = astra_iterations(rows, angles, axis, method, iterations)[inner]
    assert image.std() <= 1.02 * theirs.std() and image.std() < 0.02
    assert image.mean() == pytest.approx(1.0, rel=2e-3)


@pytest.mark.parametrize("method", ["SIRT", "CGLS"])
def test_the_usual_iterations_are_enough(method: str) -> None:
    """Neither twice nor half as many are closer to the truth by more than a tenth."""
    usual = Recipe(method=method.lower()).as_words()["iterations"]
    angles, columns, parts = even_angles(60), 48, [(17.0, 14.0, 0.0, 0.0, 1.0), (4.0, 5.0, 5.0, -3.0, 0.5)]
    rows, truth = sinogram_of(parts, angles, columns, 23.2), truth_of(parts, columns)
    geometry = ParallelGeometry.shared(angles, 23.2, 1, is_circle=False)
    errors = [np.sqrt(np.mean((made(rows, geometry, method, n) - truth) ** 2)) for n in (usual, 2 * usual, usual // 2)]
    assert errors[0] < 1.1 * min(errors) and errors[0] < 0.05


def test_a_sample_that_is_wider_than_the_circle_is_as_astra_has_it() -> None:
    """Rays pass pixels outside the circle, which take part, and are 0 only in the end."""
    angles, axis = even_angles(50), 31.5
    rows = ellipse_sinogram(angles, 64, axis, (38.0, 30.0))
    image, theirs = (
        made(rows, ParallelGeometry.shared(angles, axis, 1), "SIRT", 60),
        astra_iterations(rows, angles, axis, "SIRT", 60),
    )
    x, y = grid(64)
    np.testing.assert_allclose(image, np.where(x**2 + y**2 <= 31.5**2, theirs, 0), atol=0.01)


@pytest.mark.parametrize("method", ["sirt", "cgls"])
def test_a_disc_from_few_views(method: str, device: Device) -> None:
    angles = even_angles(40)
    sinogram = ellipse_sinogram(angles, 64, 31.5, (20.0, 20.0))[None].astype(np.float32)
    geometry, room = ParallelGeometry.shared(angles, 31.5, 1), primitives(device)
    rows = room.to_device(sinogram)
    found = sirt(rows, geometry, 100, device=device) if method == "sirt" else cgls(rows, geometry, 20, device=device)
    image = room.to_host(found)[0]
    x, y = grid(64)
    assert image[x**2 + y**2 < 15**2].mean() == pytest.approx(1.0, rel=5e-3)
    assert abs(image[(x**2 + y**2 > 24**2) & (x**2 + y**2 < 31**2)].mean()) < 0.02
    assert (image[x**2 + y**2 > 31.5**2] == 0).all()


def test_pixels_below_zero_can_be_ruled_out(device: Device) -> None:
    angles = even_angles(12)
    rows = primitives(device).to_device(ellipse_sinogram(angles, 48, 23.5, (14.0, 9.0))[None].astype(np.float32))
    geometry = ParallelGeometry.shared(angles, 23.5, 1)
    free = primitives(device).to_host(sirt(rows, geometry, 20, device=device))
    bound = primitives(device).to_host(sirt(rows, geometry, 20, is_nonnegative=True, device=device))
    assert free.min() < 0 <= bound.min()


@pytest.mark.parametrize("method", [sirt, cgls])
@pytest.mark.parametrize("axes", [[9.5, 9.5, 9.5], [9.5, 9.0, 8.2]])
def test_neighbours_do_not_change_a_slice(method: type, axes: list[float], device: Device) -> None:
    rows = np.random.default_rng(2).random((3, 10, 20)).astype(np.float32)
    angles, room = even_angles(10), primitives(device)
    together = room.to_host(method(room.to_device(rows), ParallelGeometry(angles, np.array(axes)), 5, device=device))
    alone = room.to_host(
        method(room.to_device(rows[1:2]), ParallelGeometry(angles, np.array(axes[1:2])), 5, device=device)
    )
    np.testing.assert_allclose(together[1], alone[0], atol=1e-5 if axes[1] != axes[0] else 0)


class Interruption:
    """In the place of the projection: the third one interrupts the program, and ends when that has been noticed."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        if self.calls == 3:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            wait_until(is_stopped)
        return project(*arguments)


def is_stopped() -> bool:
    try:
        raise_if_stopped()
    except Cancelled:
        return True
    return False


@pytest.mark.parametrize("method", ["sirt", "cgls"])
@pytest.mark.parametrize("way", ["file", "array"])
def test_an_interruption_ends_it_within_one_iteration(
    method: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, interruption = write_scan(tmp_path / "scan.h5", rows=2, views=12), Interruption()
    monkeypatch.setattr("pellucid.tomo.methods.iterative.project", interruption)
    recipe = Recipe(center=22.7, tilt=0.0, method=method, iterations=50)
    with pytest.raises(KeyboardInterrupt):
        if way == "file":
            reconstruct(source, tmp_path / "volume.zarr", recipe, running=RunOptions(device="cpu"))
        else:
            with closing(open_scan(source)) as scan:
                reconstruct_array(scan, recipe, device="cpu")
    assert interruption.calls == 3


@pytest.mark.parametrize("engine", ["serial", "local"])
def test_a_cancelled_run_ends_within_one_iteration(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, cancel, calls = write_scan(tmp_path / "scan.h5", rows=2, views=12), threading.Event(), []

    def counted(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            cancel.set()
        return project(*arguments)

    monkeypatch.setattr("pellucid.tomo.methods.iterative.project", counted)
    recipe = Recipe(center=22.7, tilt=0.0, method="sirt", iterations=50)
    running = RunOptions(make_engine(engine), device="cpu", cancel=cancel)
    with pytest.raises(Cancelled):
        reconstruct(source, tmp_path / "volume.zarr", recipe, running=running)
    assert len(calls) == 3
