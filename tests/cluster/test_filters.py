"""The filters of the examples: on blocks they are those of SciPy on the whole volume."""

import runpy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import ndimage

from pellucid.box import Shape
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.functions import persist_gpu, recv_gpu
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.halos import append_halo, plan_halos
from pellucid.formats.protocol import Voxels
from tests.cluster.test_halos import blocks_of
from tests.suite_report import ROOT

FILTERS = runpy.run_path(str(ROOT / "examples" / "spark" / "filters.py"))
EDGES = (7, 6, 8)
Blocks = dict[Shape, DeviceBlock]


def filled(blocks: Blocks, halo: int) -> Blocks:
    known = {place: (block.handle, block.shape) for place, block in blocks.items()}
    parts = plan_halos(known, halo)
    return {place: append_halo(block, parts[place], halo) for place, block in blocks.items()}


def applied(blocks: Blocks, halo: int, run: Callable[[DeviceBlock], DeviceBlock]) -> Blocks:
    """Everything has a halo before anything runs."""
    ready = filled(blocks, halo)
    for block in ready.values():
        assert block.handle
    return {place: persist_gpu(run(block)) for place, block in ready.items()}


def joined(blocks: Blocks, shape: tuple[int, ...]) -> Voxels:
    whole = None
    for place, block in blocks.items():
        voxels = recv_gpu(block)
        whole = np.empty(shape, voxels.dtype) if whole is None else whole
        at = tuple(slice(k * edge, k * edge + n) for k, edge, n in zip(place, EDGES, voxels.shape, strict=True))
        whole[at] = voxels
    assert whole is not None
    return whole


def sent(group: WorkerGroup, voxels: Voxels) -> Blocks:
    return {place: DeviceBlock(handle) for place, handle in blocks_of(group, voxels, EDGES).items()}


def test_filters_of_blocks_are_those_of_the_whole(group: WorkerGroup) -> None:
    voxels = np.random.default_rng(0).random((14, 12, 16)).astype(np.float32)
    blocks = sent(group, voxels)
    found = joined(applied(blocks, 3, partial(FILTERS["gaussian"], sigma=1.0, radius=3)), voxels.shape)
    assert np.abs(found - ndimage.gaussian_filter(voxels, 1.0, mode="constant", radius=3)).max() < 1e-5
    found = joined(applied(blocks, 1, FILTERS["median"]), voxels.shape)
    assert (found == ndimage.median_filter(voxels, 3, mode="constant")).all()
    found = joined(applied(blocks, 1, FILTERS["gradient"]), voxels.shape)
    along: Any = np.gradient(np.pad(voxels, 1))
    expected = np.linalg.norm(np.stack(along)[:, 1:-1, 1:-1, 1:-1], axis=0)
    assert np.abs(found - expected).max() < 1e-5


def test_connected_components_across_blocks(group: WorkerGroup) -> None:
    voxels = ndimage.gaussian_filter(np.random.default_rng(1).random((14, 12, 16)), 1.2).astype(np.float32)
    value = float(np.median(voxels)) + 0.03
    blocks = {}
    for place, block in sent(group, voxels).items():
        start = tuple(k * edge for k, edge in zip(place, EDGES, strict=True))
        blocks[place] = persist_gpu(FILTERS["number"](block, start, voxels.shape, value))
    before, after = np.zeros(()), joined(blocks, voxels.shape)
    while not np.array_equal(before, after):
        blocks = applied(blocks, 1, FILTERS["spread"])
        before, after = after, joined(blocks, voxels.shape)
    expected, count = ndimage.label(voxels >= value)
    assert count > 3
    assert ((after > 0) == (expected > 0)).all()
    pairs = {(int(a), int(b)) for a, b in zip(after[after > 0], expected[expected > 0], strict=True)}
    assert len(pairs) == count == len(np.unique(after)) - 1
