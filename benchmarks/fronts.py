"""How fast are arrival times of a front computed, and how exact are they?

    python -m benchmarks.fronts [--quick] [--json FILE]

A front starts at a ball in the middle of a volume and has the same speed everywhere, so that times are distances. The
volume is in eight blocks on Device Workers: two with one core each, or one on a GPU. The peer is scikit-fmm (fast
marching, order=1), from the same ball. On a GPU an iteration over 1024³ voxels, all of which change, is compared with
half of the bandwidth of its memory: every time is read and written once.
"""

import importlib
import time
from importlib.util import find_spec
from math import nan
from typing import cast

import numpy as np

from benchmarks.table import Row, options, report, seconds_of, shorter, unavailable
from pellucid.box import Box, Shape, triple
from pellucid.cluster.compute.front import FrontRequest, front_tiles
from pellucid.cluster.compute.front_tiles import CudaTiles
from pellucid.cluster.compute.registry import BlockView
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.solvers.front import FrontSolver, split_times
from pellucid.device import Device, choose, runtime, synchronize
from pellucid.formats.protocol import Voxels

RADIUS = 4
REPEATS = 3
HALF_BANDWIDTH = {"H200": 2.4e12, "H100": 1.68e12, "A100": 1.0e12}
"""Bytes a second: half of what the maker states."""


def main() -> None:
    given = options(__doc__ or "")
    device = choose()
    edges = (96,) if given.is_quick else (128, 256)
    rows = [row for edge in edges for row in cases(edge, device)]
    if device.is_cuda:
        rows.append(iteration(device, 256 if given.is_quick else 1024))
    report("fronts", rows, f"fronts in {' and '.join(f'{edge}³' for edge in edges)} on {device.name}", given)


def cases(edge: int, device: Device) -> list[Row]:
    case = f"front in {edge}³, 8 blocks"
    count = 1 if device.is_cuda else 2
    ours, error = solved(edge, device, count)
    rows = [unavailable(case, "scikit-fmm", "not installed")]
    if find_spec("skfmm"):
        rows = peer_rows(case, edge, ours, error)
    if not device.is_cuda:
        alone, _ = solved(edge, device, 1)
        rows.append(shorter(f"{case}, two Workers", "s", ours, "one Worker", alone))
    return rows


def peer_rows(case: str, edge: int, ours: float, error: float) -> list[Row]:
    peer = importlib.import_module("skfmm")
    exact = distances(edge) - RADIUS
    found: list[Voxels] = []
    march = lambda: found.append(peer.distance(exact, order=1))  # noqa: E731
    seconds = min(seconds_of(march) for _ in range(1 if edge > 128 else REPEATS))
    its_error = float(np.abs(found[-1] - exact)[exact > 0].mean()) if found else nan
    return [
        shorter(case, "s", ours, "scikit-fmm", seconds),
        shorter(case, "voxels", error, "scikit-fmm", its_error, metric="mean error"),
    ]


def solved(edge: int, device: Device, count: int) -> tuple[float, float]:
    """The best time of a few, and the mean error in voxels."""
    seconds = []
    name = "cuda:0" if device.is_cuda else "cpu"
    with WorkerGroup.local(count, name, threads=1, memory_bytes=max(2**28, 40 * edge**3)) as group:
        for _ in range(REPEATS + 1):
            solver = FrontSolver(group, split_times((edge,) * 3, edge // 2, ball(edge)))
            solver.prepare()
            start = time.perf_counter()
            solver.solve()
            seconds.append(time.perf_counter() - start)
            error = mean_error(solver, edge)
            solver.close()
    return min(seconds), error


def mean_error(solver: FrontSolver, edge: int) -> float:
    exact, half = distances(edge), edge // 2
    whole = np.empty_like(exact)
    for place in solver.blocks:
        whole[Box(triple(half * k for k in place), triple(half * (k + 1) for k in place)).slices] = solver.times(place)
    return float(np.abs(whole - exact)[exact > RADIUS].mean())


def distances(edge: int) -> Voxels:
    z, y, x = (np.arange(edge) - edge // 2 for _ in range(3))
    exact: Voxels = np.sqrt(z[:, None, None] ** 2.0 + y[:, None] ** 2.0 + x**2.0)
    return exact


def ball(edge: int) -> dict[Shape, float]:
    exact = distances(2 * RADIUS + 2)
    begin = edge // 2 - RADIUS - 1
    return {
        (int(z) + begin, int(y) + begin, int(x) + begin): float(exact[z, y, x])
        for z, y, x in np.argwhere(exact <= RADIUS)
    }


def iteration(device: Device, edge: int) -> Row:
    """All voxels once, in one sweep of each tile. The front is a little too late everywhere, so that every time
    changes."""
    warp = runtime.start()
    outer = np.pad(distances(edge).astype(np.float32), 1, constant_values=np.inf)
    shape = (edge,) * 3
    view = BlockView(warp.array(outer * 1.5, device=device.name), np.dtype(np.float32), shape, (1, 1, 1))
    tiles = cast(CudaTiles, front_tiles(device, view, None, FrontRequest(1.0, (1.0, 1.0, 1.0), (False,) * 6)))
    tiles.sweeps = 1
    tiles.run(1, lambda: None)
    synchronize(device)
    count = 5
    start = time.perf_counter()
    for _ in range(count):
        tiles.activate([()])
        tiles.run(1, lambda: None)
    synchronize(device)
    seconds = (time.perf_counter() - start) / count
    half = next((value for name, value in HALF_BANDWIDTH.items() if name in device.label), 1e12)
    case = f"iteration over {edge}³ float32, one sweep"
    return shorter(case, "s", seconds, "half of the bandwidth", 8 * edge**3 / half)


if __name__ == "__main__":
    main()
