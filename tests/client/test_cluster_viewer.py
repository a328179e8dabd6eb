"""Viewers of blocks that a running program has: the same images as of an array, shaders of the page, other blocks."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.box import Box, Shape, triple
from pellucid.client.cluster_viewer import ConnectedViewer, connect_viewer
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.functions import persist_gpu, send_gpu
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.halos import append_halo, plan_halos
from pellucid.cluster.viewer.block_file import BlockFile, BlockRecord, PlacedBlock
from pellucid.cluster.viewer.block_format import BlockReader
from pellucid.cluster.viewer.cluster_file import ClusterFile
from pellucid.errors import InvalidInput, ShadingInvalid
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.rendering.renderer import Renderer
from pellucid.volume.sample_volume import sample
from pellucid.volume.volume import Volume
from tests.suite_report import MACHINE

VOXELS = np.ascontiguousarray(sample(40)[:36, :40, :32])
GL = """//@ gain = 1 in 0 .. 2
void main() {
    if (voxel(entry(at, ray_through(at))) >= 0.0) color = vec4(gain / 2.0, 0.0, value_range.y / 65535.0, 1.0);
}
"""


@pytest.fixture(scope="module")
def group() -> Iterator[WorkerGroup]:
    with WorkerGroup.local(2, threads=1, memory_bytes=2**26) as started:
        yield started


@pytest.fixture(scope="module")
def shown(group: WorkerGroup) -> Iterator[ConnectedViewer]:
    with connect_viewer(group) as started:
        yield started
        file = Path(started.viewer.scene.volumes[0].source)
        assert file.stat().st_mode & 0o077 == 0
    assert not list(file.parent.glob("*.blocks"))


def placed(voxels: Voxels) -> list[tuple[Shape, DeviceBlock]]:
    """In 2 × 2 × 2 blocks with a halo of 2."""
    edges = triple(n // 2 for n in voxels.shape)
    blocks = {}
    for place in np.ndindex(2, 2, 2):
        box = Box.whole(edges).shift(triple(k * n for k, n in zip(place, edges, strict=True)))
        blocks[triple(place)] = persist_gpu(send_gpu(np.ascontiguousarray(voxels[box.slices]), halo=2))
    halos = plan_halos({place: (block.handle, edges) for place, block in blocks.items()}, 2)
    return [
        (triple(k * n for k, n in zip(place, edges, strict=True)), append_halo(block, halos[place], 2))
        for place, block in blocks.items()
    ]


def test_images_are_those_of_the_volume_and_users_changes_stay(shown: ConnectedViewer) -> None:
    shown.show(placed(VOXELS))
    first = shown.viewer.screenshot(96, 80)
    scene = shown.viewer.scene
    with Renderer() as renderer:
        volume = Volume.from_array(VOXELS)
        renderer.add(volume)
        expected = renderer.render(
            replace(scene, volumes=(replace(scene.volumes[0], source=str(volume.location)),)), 96, 80
        ).rgba
    assert np.abs(first.astype(int) - expected).max() <= 2
    assert first[..., :3].std() > 5
    shown.viewer.camera = turned = scene.camera.orbited(40.0, 10.0)
    shown.show(placed(np.ascontiguousarray(VOXELS[::-1])))
    after = shown.viewer.scene
    assert after.camera == turned
    assert after.volumes[0].transfer == scene.volumes[0].transfer
    assert after.volumes[0].source != scene.volumes[0].source
    assert not Path(scene.volumes[0].source).exists()
    shown.viewer.camera = scene.camera
    assert np.abs(shown.viewer.screenshot(96, 80).astype(int) - first).mean() > 1
    assert shown.viewer.probe((10, 12, 14))["value"] == VOXELS[::-1][14, 12, 10]


def test_the_editor_of_the_page_takes_shaders(shown: ConnectedViewer) -> None:
    if MACHINE["no-egl"]():
        pytest.skip("needs EGL")
    shown.show(placed(VOXELS))
    high = shown.viewer.value_range[1]
    for gain in (1.0, 1.5):
        shown.viewer.shade_with(GL, gain=gain)
        image = shown.viewer.screenshot(64, 64)
        middle = image[32, 32, :3].astype(int)
        assert np.abs(middle - [gain * 127.5, 0, 255 * high / 65535]).max() <= 2, middle
    with pytest.raises(ShadingInvalid, match=r"Line 2 of the shading: `x' undeclared"):
        shown.viewer.shade_with("//@ gain = 1 in 0 .. 2\nvoid main() { color = x; }")
    assert (shown.viewer.screenshot(64, 64) == image).all()
    shown.viewer.shade_with("return color * 0.5f;")  # Back to another kind of shading.
    assert (shown.viewer.screenshot(64, 64) != image).any()


def test_blocks_that_are_no_volume_are_refused(shown: ConnectedViewer) -> None:
    blocks = placed(VOXELS)
    for wrong in (blocks[1:], [*blocks, blocks[0]], [((1, 0, 0), blocks[0][1]), *blocks[1:]]):
        with pytest.raises(InvalidInput, match=re.escape("do not cover a volume of (")):
            shown.show(wrong)
    with pytest.raises(InvalidInput, match="There are no blocks to show"):
        shown.show([])


@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_any_box_is_read_from_the_blocks(group: WorkerGroup, seed: int) -> None:
    random = np.random.default_rng(seed)
    voxels = random.integers(0, 255, triple(2 * random.integers(1, 6, 3))).astype(np.uint8)
    blocks = placed_without_halo(voxels)
    cluster = ClusterFile.of(group.credentials)
    cluster.write(group.credentials, group.workers)
    file = BlockFile(cluster.path.with_name("any.blocks"))
    found = tuple(PlacedBlock(str(block.handle), start, block.shape) for start, block in blocks)
    file.write(BlockRecord(str(cluster.path), "|u1", (1.0, 2.0, 3.0), found))
    reader = BlockReader(Location(str(file.path)))
    ends = [sorted(random.integers(0, n + 1, 2).tolist()) for n in voxels.shape]
    box = Box(triple(a for a, _ in ends), triple(b for _, b in ends))
    out = np.empty(box.shape, np.uint8)
    reader.read(box, out)
    reader.close()
    file.path.unlink()
    assert (out == voxels[box.slices]).all()
    assert (reader.header.levels[0].shape, reader.header.levels[0].spacing) == (voxels.shape, (1.0, 2.0, 3.0))


def placed_without_halo(voxels: Voxels) -> list[tuple[Shape, DeviceBlock]]:
    edges = triple(n // 2 for n in voxels.shape)
    boxes = list(Box.whole(triple(voxels.shape)).tiles(edges))
    return [(box.start, persist_gpu(send_gpu(np.ascontiguousarray(voxels[box.slices])))) for box in boxes]
