"""Halos: what is appended to a block equals the volume around it."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.box import Box, Shape, triple
from pellucid.cluster import context
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.functions import recv_gpu
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.halos import FACES, HaloPart, append_halo, extract_halo, plan_halos
from pellucid.cluster.handles import Handle
from pellucid.cluster.operations import DownloadBlock
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.volume.blocks import split
from tests.cluster.test_functions import CUBE


def blocks_of(group: WorkerGroup, volume: Voxels, edges: Shape) -> dict[Shape, Handle]:
    """A volume in blocks, on the Workers in turn, by their places in the grid."""
    placed = {}
    for number, block in enumerate(split(triple(volume.shape), edges)):
        key = triple(start // edge for start, edge in zip(block.core.start, edges, strict=True))
        placed[key] = group.send(volume[block.core.slices], group.workers[number % 2])
    return placed


def expected(volume: Voxels, key: Shape, edges: Shape, halo: Shape) -> Voxels:
    """A block of the volume with its halo, which is 0 outside the volume."""
    padded = np.pad(volume, [(h, h) for h in halo])
    start = triple(k * edge for k, edge in zip(key, edges, strict=True))
    stop = triple(min(a + n, m) for a, n, m in zip(start, edges, volume.shape, strict=True))
    return padded[Box(start, stop).grow(halo).shift(halo).slices]


def outer(block: DeviceBlock) -> Voxels:
    voxels = block.result(DownloadBlock(has_halo=True)).voxels
    assert voxels is not None
    return voxels


@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
def test_planned_halos_are_the_volume_around_each_block(group: WorkerGroup, seed: int) -> None:
    random = np.random.default_rng(seed)
    edges, halo = triple(random.integers(3, 7, 3).tolist()), triple(random.integers(0, 3, 3).tolist())
    volume = random.integers(1, 255, random.integers(edges, np.array(edges) * 2 + 1)).astype(np.uint8)
    # The last block along an axis may be too narrow for the halo; the volume ends at a full one then.
    volume = volume[
        tuple(slice(0, n - n % e if n % e < h else n) for n, e, h in zip(volume.shape, edges, halo, strict=True))
    ]
    handles = blocks_of(group, volume, edges)
    described = {key: (handle, DeviceBlock(handle).shape) for key, handle in handles.items()}
    for key, parts in plan_halos(described, halo).items():
        assert (outer(append_halo(DeviceBlock(handles[key]), parts, halo)) == expected(volume, key, edges, halo)).all()


def test_extracted_halos_reach_the_same_blocks_and_again(group: WorkerGroup) -> None:
    volume = np.arange(6 * 7 * 8, dtype=np.float32).reshape(6, 7, 8)
    handles = blocks_of(group, volume, (3, 4, 4))
    parts: dict[Shape, list[HaloPart]] = defaultdict(list)
    for pair in handles.items():
        for key, part in extract_halo((pair[0], DeviceBlock(pair[1])), halo=1):
            parts[key].append(part)
    for _ in range(2):  # A task that Spark runs again does no harm.
        for key, handle in handles.items():
            block = append_halo(DeviceBlock(handle), parts[key])
            assert (outer(block) == expected(volume, key, (3, 4, 4), (1, 1, 1))).all()
            assert (recv_gpu(DeviceBlock(handle)) == expected(volume, key, (3, 4, 4), (0, 0, 0))).all()
            assert block.handle.version == 1


def test_faces_are_six_and_a_function_is_made_for_flat_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context._State, "contexts", [])
    pairs = extract_halo(halo=2, sides=FACES)
    with pytest.raises(InvalidInput, match=r"There are no Device Workers"):
        pairs(((0, 0, 0), DeviceBlock.of(np.zeros((4, 4, 4)))))
    assert sorted(map(sum, FACES)) == [-1, -1, -1, 1, 1, 1]


def test_a_halo_wider_than_a_block_is_refused(group: WorkerGroup) -> None:
    handle = group.send(np.zeros((2, 4, 4), np.uint8), group.workers[0])
    with pytest.raises(InvalidInput, match=r"A halo of \(3, 3, 3\) is wider than a block of \(2, 4, 4\)"):
        plan_halos({(0, 0, 0): (handle, (2, 4, 4)), (1, 0, 0): (handle, (2, 4, 4))}, 3)


def test_voxels_that_do_not_fit_are_refused(group: WorkerGroup) -> None:
    handle = group.send(np.zeros((4, 4, 4), np.uint8), group.workers[0])
    part = HaloPart(handle, Box((0, 0, 0), (2, 4, 4)), (1, 0, 0))
    with pytest.raises(InvalidInput, match=r"do not fit into a block of \(4, 4, 4\) with a halo of \(1, 1, 1\)"):
        outer(append_halo(DeviceBlock(handle), [part], 1))


def test_a_persistent_block_is_still_persistent_with_its_halo(group: WorkerGroup) -> None:
    before = group.links.usage(group.workers[0])["persistent"]
    block = append_halo(DeviceBlock(group.send(CUBE, group.workers[0])), (), 1)
    assert group.links.usage(group.workers[0])["persistent"] == before + 1
    assert (recv_gpu(block) == CUBE).all()
    assert DeviceBlock(block.handle).handle == block.handle
    assert group.links.usage(group.workers[0])["persistent"] == before + 1
    block.release()
