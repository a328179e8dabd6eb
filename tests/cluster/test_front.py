"""Arrival times of fronts: distances, a speed with a known solution, any blocks, a Worker that is killed."""

import os
import signal
from functools import partial

import numpy as np
import pytest

from pellucid.box import Shape
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.compute.front import FrontRequest, front_tiles
from pellucid.cluster.compute.registry import BlockView
from pellucid.cluster.functions import send_gpu
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.links import WorkerLink
from pellucid.cluster.solvers.front import FrontSolver, advance_front, split_times
from pellucid.device import Device, choose, devices, runtime
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels


def joined(solver: FrontSolver, shape: Shape, edge: int) -> Voxels:
    whole = np.empty(shape, np.float32)
    for place in solver.blocks:
        part = solver.times(place)
        at = tuple(slice(edge * k, edge * k + n) for k, n in zip(place, part.shape, strict=True))
        whole[at] = part
    return whole


def solved(group: WorkerGroup, shape: Shape, edge: int, seeds: dict[Shape, float], **how: object) -> Voxels:
    solver = FrontSolver(group, split_times(shape, edge, seeds), **how)  # type: ignore[arg-type]
    solver.solve()
    found = joined(solver, shape, edge)
    solver.close()
    return found


def distances(shape: Shape, seed: Shape, spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Voxels:
    grid = np.indices(shape).astype(float)
    away: Voxels = (grid - np.reshape(seed, (3, 1, 1, 1))) * np.reshape(spacing, (3, 1, 1, 1))
    return np.asarray(np.linalg.norm(away, axis=0))


def ball(shape: Shape, seed: Shape, radius: float) -> dict[Shape, float]:
    """Exact times around a seed: the scheme's error is largest there."""
    exact = distances(shape, seed)
    return {(int(z), int(y), int(x)): float(exact[z, y, x]) for z, y, x in np.argwhere(exact <= radius)}


def test_with_constant_speed_times_are_distances(group: WorkerGroup) -> None:
    errors = []
    for edge in (24, 48):
        shape, seed = (edge, edge, edge), (edge // 3, edge // 2, edge // 4)
        found = solved(group, shape, 16, ball(shape, seed, edge / 8), speeds=2.0)
        errors.append(np.abs(2 * found - distances(shape, seed)).max() / edge)
    assert errors[0] < 0.07
    assert errors[1] < 0.65 * errors[0]  # Of first order: half as much with half the spacing.


def test_blocks_change_nothing(group: WorkerGroup) -> None:
    shape, seeds = (20, 26, 33), {(3, 4, 5): 0.0, (15, 20, 30): 2.5}
    whole = solved(group, shape, 40, seeds)
    for edge in (7, 16):
        assert np.abs(solved(group, shape, edge, seeds) - whole).max() < 1e-3
    assert whole[3, 4, 5] == 0
    assert whole[3, 4, 8] == pytest.approx(3)


def test_a_speed_with_a_known_solution(group: WorkerGroup) -> None:
    # Where speed grows with depth, v = 1 + g z, rays are arcs, and the time is known.
    shape, gradient, edge = (32, 32, 32), 0.05, 16
    z, y, x = np.indices(shape).astype(float)
    speed = 1 + gradient * z
    away = (z - 0) ** 2 + (y - 16) ** 2 + (x - 16) ** 2
    exact = np.arccosh(1 + gradient**2 * away / (2 * speed)) / gradient
    starts = {(int(a), int(b), int(c)): float(exact[a, b, c]) for a, b, c in np.argwhere(away <= 16)}
    cut = {place: partial(part, speed, place, edge) for place in split_times(shape, edge, {})}
    found = solved(group, shape, edge, starts, speeds=cut)
    assert np.abs(found - exact).max() < 0.05 * exact.max()
    assert np.abs(found - exact).mean() < 0.03 * exact.mean()
    assert np.abs(updated(found, speed) - found)[away > 16].max() < 1e-4


def updated(times: Voxels, speed: Voxels, spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Voxels:
    """What the scheme says of every voxel, from its neighbours: the solution does not change."""
    padded = np.pad(times.astype(float), 1, constant_values=np.inf)
    middle = slice(1, -1)
    pairs = []
    for axis in range(3):
        low, high = [middle] * 3, [middle] * 3
        low[axis], high[axis] = slice(0, -2), slice(2, None)
        pairs.append(np.minimum(padded[tuple(low)], padded[tuple(high)]))
    order = np.argsort(pairs, axis=0)
    earlier = np.take_along_axis(np.array(pairs), order, axis=0)
    weights = (1 / np.array(spacing) ** 2)[order]
    with np.errstate(divide="ignore", invalid="ignore"):
        slow = 1 / np.asarray(speed, float)
        found = np.full(times.shape, np.inf)
        for count in (1, 2, 3):
            w, t = weights[:count], earlier[:count]
            all_of, first, second = w.sum(0), (w * t).sum(0), (w * t * t).sum(0)
            later = (first + np.sqrt(np.maximum(first**2 - all_of * (second - slow**2), 0))) / all_of
            is_reached = np.isfinite(earlier[count - 1]) & np.isfinite(slow) & (found > earlier[count - 1])
            found = np.where(is_reached, later, found)
    return found


def part(whole: Voxels, place: Shape, edge: int) -> Voxels:
    return np.ascontiguousarray(whole[tuple(slice(edge * k, edge * (k + 1)) for k in place)], np.float32)


@pytest.fixture(scope="module", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Device:
    if request.param == "cuda" and not any(found.is_cuda for found in devices()):
        pytest.skip("needs a CUDA device")
    return choose(request.param)


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (2.0, 1.0, 1.5)])
def test_tiles_of_any_device_leave_nothing_that_would_change(
    device: Device, spacing: tuple[float, float, float]
) -> None:
    random, shape = np.random.default_rng(0), (19, 37, 70)
    outer = np.full([n + 2 for n in shape], np.inf, np.float32)
    outer[4, 5, 6], outer[19, 37, 70], outer[9, 1, 33] = 0, 3, 5
    speeds = random.uniform(0.3, 2, outer.shape).astype(np.float32)
    speeds[random.random(outer.shape) < 0.1] = 0
    views = []
    for array in (outer, speeds):
        there = runtime.start().array(array, device=device.name) if device.is_cuda else array.copy()
        views.append(BlockView(there, np.dtype(np.float32), shape, (1, 1, 1)))
    tiles = front_tiles(device, views[0], views[1], FrontRequest(1.0, spacing, (False,) * 6))
    visited = 0
    while not tiles.is_done:
        visited += tiles.run(3, lambda: None)
    found = views[0].outer if isinstance(views[0].outer, np.ndarray) else views[0].outer.numpy()
    core = (slice(1, -1),) * 3
    again = np.minimum(outer[core], updated(found[core], speeds[core], spacing))
    assert visited >= np.isfinite(found).sum()
    assert np.array_equal(np.isinf(found[core]), np.isinf(again))
    is_reached = np.isfinite(again)
    assert np.abs(found[core][is_reached] - again[is_reached]).max() < 2e-4
    assert np.isinf(found[0]).all()


def test_obstacles_and_spacing(group: WorkerGroup) -> None:
    shape, edge = (4, 40, 40), 40
    speed = np.ones(shape, np.float32)
    speed[:, :30, 20] = 0  # A wall with a way around it.
    found = solved(group, shape, edge, {(0, 0, 0): 0.0}, speeds={(0, 0, 0): lambda: speed}, spacing=(2.0, 1.0, 1.0))
    assert np.isinf(found[:, :30, 20]).all()
    around = np.hypot(30, 20) + np.hypot(30, 19)
    assert found[0, 0, 39] == pytest.approx(around, rel=0.08)
    assert found[3, 0, 0] == pytest.approx(6)


def test_arrays_are_as_good_as_functions_that_make_them(group: WorkerGroup) -> None:
    shape, edge = (8, 8, 16), 8
    speed = np.random.default_rng(0).uniform(0.5, 2, shape).astype(np.float32)
    makers = split_times(shape, edge, {(1, 2, 3): 0.0})
    speeds = {place: part(speed, place, edge) for place in makers}
    found = []
    for times in (makers, {place: make() for place, make in makers.items()}):
        for given in (speeds, {place: partial(part, speed, place, edge) for place in speeds}):
            solver = FrontSolver(group, times, given)
            solver.solve()
            found.append(joined(solver, shape, edge))
            solver.close()
    assert np.isfinite(found[0]).all()
    assert all((one == found[0]).all() for one in found)


def test_after_a_worker_was_killed_the_times_are_the_same() -> None:
    shape, edge, seeds = (32, 32, 32), 16, {(2, 3, 4): 0.0}
    with WorkerGroup.local(2, threads=1, memory_bytes=2**26) as pair:
        expected = solved(pair, shape, edge, seeds)
        solver = FrontSolver(pair, split_times(shape, edge, seeds))

        def kill(running: FrontSolver) -> None:
            if running.iterations == 2:
                link = WorkerLink(pair.workers[0].address, pair.credentials.token)
                os.kill(link.pid, signal.SIGKILL)

        solver.solve(kill)
        assert solver.restarts == 4
        assert np.abs(joined(solver, shape, edge) - expected).max() < 1e-3


def test_many_iterations_take_no_more_memory(group: WorkerGroup) -> None:
    shape = (8, 8, 8)
    solver = FrontSolver(group, split_times(shape, 4, {(0, 0, 0): 0.0}))
    solver.solve()
    before = [group.links.usage(worker) for worker in group.workers]
    for _ in range(200):
        solver._active = set(solver.blocks)
        solver.step()
    after = [group.links.usage(worker) for worker in group.workers]
    for one, other in zip(before, after, strict=True):
        assert (one["persistent"], one["cached"]) == (other["persistent"], other["cached"])
        assert other["used_bytes"] < 2**16
    solver.close()


def test_what_a_front_needs(group: WorkerGroup) -> None:
    with pytest.raises(InvalidInput, match=r"A front needs blocks with a halo of 1"):
        assert advance_front(send_gpu(np.zeros((4, 4, 4), np.float32))).handle
    whole = DeviceBlock(group.send(np.zeros((4, 4, 4), np.uint8), group.workers[0], (1, 1, 1)))
    with pytest.raises(InvalidInput, match=r"are not float32"):
        assert advance_front(whole).handle
