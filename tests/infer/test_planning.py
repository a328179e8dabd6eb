"""Which windows are chosen: those that fit into memory, and take the least time."""

from dataclasses import replace
from functools import partial
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.box import Box, Shape, triple
from pellucid.infer.loading import load_network
from pellucid.infer.memory import MemoryModel, NetworkCost, WindowSpeeds
from pellucid.infer.network_files.network import NetworkForm
from pellucid.infer.planning import plan_windows
from pellucid.infer.windows import Windows
from tests.infer.small_networks import unet


@pytest.mark.parametrize("megabytes", [1000, 100, 30, 12])
def test_less_memory_makes_smaller_windows_that_compute_least(megabytes: int, tmp_path: Path) -> None:
    network, shape = load_network(unet(tmp_path / "net.onnx")), (120, 200, 160)
    memory = MemoryModel(base_bytes=1_000_000, bytes_per_voxel=100.0)
    windows = plan_windows(network, shape, NetworkCost(memory), megabytes * 10**6)
    assert windows.halo == network.radius == (16, 16, 16)
    assert memory.cost(prod(windows.size)) <= megabytes * 10**6
    others = [replace(windows, size=(z, y, x)) for z, y, x in product(*[range(36 + n % 12, n + 1, 12) for n in shape])]
    fitting = [one for one in others if memory.cost(prod(one.size)) <= megabytes * 10**6]
    least = min(map(partial(computed_whole, shape), fitting))
    assert computed_whole(shape, windows) <= 1.03 * least  # Windows of one length, so that all are equally large.
    assert (windows.size == shape) == (megabytes == 1000)


@given(
    shape=st.tuples(*[st.integers(40, 200)] * 3),
    halo=st.integers(0, 20),
    taken=st.lists(st.floats(0.1, 10.0), min_size=2, max_size=5),
)
@settings(max_examples=25)
def test_the_fastest_windows_are_chosen(shape: Shape, halo: int, taken: list[float], tmp_path_factory: Any) -> None:
    """Against trying divisions of every axis, with times that are interpolated here."""
    network = load_network(unet(tmp_path_factory.mktemp("net") / "net.onnx"), NetworkForm(halo=(halo,) * 3))
    points = tuple((32**3 * 4**n, one) for n, one in enumerate(taken))
    memory = MemoryModel(0, 100.0)

    def seconds(windows: Windows) -> float:
        place = np.log(prod(windows.size))
        one = np.interp(place, [np.log(size) for size, _ in points], [second for _, second in points])
        return float(one) * computed_whole(shape, windows)

    chosen = plan_windows(network, shape, NetworkCost(memory, WindowSpeeds(points)), 10**9)
    most = plan_windows(network, shape, NetworkCost(memory), 10**9)
    step, margin = network.step[0], -(-halo // network.step[0]) * network.step[0]
    edges = [{-(-(n + 2 * margin * (parts - 1)) // (parts * step)) * step for parts in (1, 2, 3, 5, 8)} for n in shape]
    others = [replace(chosen, size=triple(size)) for size in product(*edges) if min(size) > 2 * margin]
    assert seconds(chosen) <= 1.25 * min(map(seconds, [*others, most]))
    if chosen != most:
        assert seconds(chosen) < seconds(most)


def test_small_windows_that_are_faster_are_used(tmp_path: Path) -> None:
    """Where the halo is small, staying in the caches is worth computing more; where it is large, it is not."""
    speeds = WindowSpeeds(((64**3, 1.0), (96**3, 1.0), (200**3, 2.3)))
    cost, shape = NetworkCost(MemoryModel(0, 100.0), speeds), (200, 200, 200)
    found = {}
    for halo in (4, 32):
        network = load_network(unet(tmp_path / "net.onnx"), NetworkForm(halo=(halo,) * 3))
        found[halo] = plan_windows(network, shape, cost, 10**10).size
    assert prod(found[4]) < 100**3 and found[32] == shape


def computed_whole(shape: Shape, windows: Windows) -> int:
    return windows.computed(Box.whole(shape), shape)
