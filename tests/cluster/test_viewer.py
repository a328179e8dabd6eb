"""Viewers whose volumes are on Device Workers: the same images as in one process, also when Workers are killed."""

import os
import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid.cluster.credentials import Credentials
from pellucid.cluster.functions import read_gpu, recv_gpu
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.handles import WorkerId
from pellucid.cluster.images.volume_blocks import VolumeBlocks, cut
from pellucid.cluster.links import WorkerLink
from pellucid.cluster.viewer.cluster_file import ClusterFile
from pellucid.cluster.viewer.cluster_renderer import ClusterRenderer
from pellucid.cluster.viewer.service import ClusterRendererGroup
from pellucid.cluster.viewer.worker_source import viewer_workers
from pellucid.errors import BlockLost, InvalidInput, NotEnoughMemory
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.rendering.frame import Frame
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene
from pellucid.volume.open_files import OpenFiles
from pellucid.volume.sample_volume import sample
from pellucid.volume.volume import open_volume
from tests.cluster.test_images import psnr
from tests.waiting import wait_until

RIM = """//@ strength = 1.0 in 0 .. 2
return color * (0.2f + strength * abs(dot(normalize(gradient), view)));
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    np.save(tmp_path / "volume.npy", np.ascontiguousarray(sample(40)[:36, :40, :32]))
    return tmp_path / "volume.npy"


@pytest.fixture
def scene(path: Path) -> Scene:
    with open_volume(path) as volume:
        return automatic_scene(volume)


@pytest.fixture
def pair() -> Iterator[WorkerGroup]:
    """Two Workers that a test may kill."""
    with WorkerGroup.local(2, threads=1, memory_bytes=2**26) as group:
        yield group


def renderer_of(group: WorkerGroup) -> ClusterRendererGroup:
    cluster = ClusterFile.of(group.credentials)
    cluster.write(group.credentials, group.workers)
    assert cluster.path.stat().st_mode & 0o077 == 0
    return ClusterRendererGroup(ClusterFile.of_device(cluster.device), OpenFiles())


def render(renderer: Renderer, scene: Scene, size: int = 80) -> Frame:
    return renderer.render(scene, size, size)


def expected(scene: Scene) -> Frame:
    with Renderer() as renderer:
        return render(renderer, scene)


def kill(group: WorkerGroup, worker: WorkerId) -> None:
    os.kill(WorkerLink(worker.address, group.credentials.token).pid, signal.SIGKILL)


def test_a_worker_reads_a_block_with_its_halo(group: WorkerGroup, path: Path) -> None:
    voxels = np.load(path)
    assert (recv_gpu(read_gpu(str(path))) == voxels).all()
    for box in cut(voxels.shape, 8):
        assert (recv_gpu(read_gpu(str(path), box, halo=2)) == voxels[box.slices]).all()


def test_blocks_cover_the_volume_once() -> None:
    for shape, count in (((36, 40, 32), 8), ((5, 300, 7), 12), ((1, 1, 3), 50)):
        seen = np.zeros(shape, int)
        for box in cut(shape, count):
            seen[box.slices] += 1
        assert (seen == 1).all()
        assert len(cut(shape, count)) >= min(count, prod(shape) // 2)


def test_images_are_those_of_one_process(group: WorkerGroup, scene: Scene) -> None:
    renderers = renderer_of(group)
    renderer = renderers.of(scene)
    found = render(renderer, scene)
    assert psnr(found, expected(scene)) > 45
    assert found.statistics.is_exact
    *_, last = renderer.render_progressive(scene, 80, 80, budget_ms=5)
    assert last.statistics.images > 1
    first = next(iter(renderer.render_progressive(scene, 80, 80, budget_ms=0.1)))
    assert first.statistics.scale < 1
    assert first.rgba.shape == found.rgba.shape


def test_a_shading_of_the_page_is_compiled_by_all_workers(group: WorkerGroup, scene: Scene) -> None:
    renderers = renderer_of(group)
    shading = renderers.add_shading(RIM)
    layer = replace(scene.volumes[0], shading="user", user_shading=shading.hash)
    custom = replace(scene, volumes=(layer,))
    with Renderer() as alone:
        alone.add_shading(RIM)
        assert psnr(render(renderers.of(custom), custom), render(alone, custom)) > 45
    stronger = replace(custom, volumes=(replace(layer, parameters=(("strength", 2.0),)),))
    assert psnr(render(renderers.of(custom), custom), render(renderers.of(custom), stronger)) < 40


def test_blocks_are_read_again_with_what_their_light_needs(group: WorkerGroup, scene: Scene) -> None:
    renderers = renderer_of(group)
    render(renderers.of(scene), scene)
    (before,) = renderers.cluster.volumes.values()
    lit = replace(scene, volumes=(replace(scene.volumes[0], shading="full"),))
    assert psnr(render(renderers.of(lit), lit), expected(lit)) > 45
    (after,) = renderers.cluster.volumes.values()
    assert isinstance(after, VolumeBlocks)
    assert (before.reads, after.reads, after.halo) == (8, 8, 20)
    render(renderers.of(scene), scene)
    assert after.reads == 8


def test_what_workers_cannot_draw_is_drawn_here(group: WorkerGroup, scene: Scene) -> None:
    renderers = renderer_of(group)
    assert isinstance(renderers.of(scene), ClusterRenderer)
    one = scene.volumes[0]
    for layer in (replace(one, shading="cinematic"), replace(one, mode="max"), replace(one, source="memory:1")):
        other = replace(scene, volumes=(layer,))
        assert not isinstance(renderers.of(other), ClusterRenderer)


def test_after_a_worker_was_killed_only_its_blocks_are_read_again(pair: WorkerGroup, scene: Scene) -> None:
    renderers = renderer_of(pair)
    renderer = renderers.of(scene)
    before = render(renderer, scene)
    (blocks,) = renderers.cluster.volumes.values()
    assert blocks.reads == len(blocks.boxes) == 8
    kill(pair, pair.workers[0])
    assert (render(renderer, scene).rgba == before.rgba).all()
    assert blocks.reads == 12
    assert renderers.cluster.workers == (pair.workers[1],)


def test_a_worker_that_replaces_another_is_in_the_file(scene: Scene) -> None:
    with WorkerGroup.local(1, threads=1, memory_bytes=2**26) as one, WorkerGroup.local(1, threads=1) as other:
        renderers = renderer_of(one)
        before = render(renderers.of(scene), scene)
        kill(one, one.workers[0])
        with pytest.raises((InvalidInput, BlockLost)):
            render(renderers.of(scene), scene)
        # Of another application: its token is another one, so that this Worker does not count.
        ClusterFile.of(one.credentials).write(one.credentials, other.workers)
        with pytest.raises(InvalidInput, match="All Device Workers have ended"):
            render(renderers.of(scene), scene)
        (again,) = one.replaced()
        ClusterFile.of(one.credentials).write(one.credentials, [again])
        assert (render(renderers.of(scene), scene).rgba == before.rgba).all()


def test_a_volume_without_room_is_refused_with_its_sizes(path: Path, scene: Scene) -> None:
    with WorkerGroup.local(1, threads=1, memory_bytes=2**16) as small:
        renderer = renderer_of(small).of(scene)
        with pytest.raises(NotEnoughMemory, match=r"needed, .* available\. Use more Workers"):
            render(renderer, scene)


def test_a_viewer_draws_with_workers_while_one_is_killed_and_replaced(path: Path, scene: Scene) -> None:
    with viewer_workers("local", 2) as workers, pellucid.start(device=workers.device) as viewer:
        viewer.load(path)
        before = viewer.screenshot(96, 96)
        assert before[..., :3].std() > 5
        record = workers.read()
        killed = record.workers[0]
        os.kill(WorkerLink(killed.address, Credentials.parse(record.credentials).token).pid, signal.SIGKILL)
        assert (viewer.screenshot(96, 96) == before).all()
        wait_until(lambda: killed not in workers.read().workers)
        assert len(workers.read().workers) == 2
    assert not workers.path.exists()


@pytest.mark.parametrize("engine", ["serial", "spark:local[2]"])
def test_engines_without_workers_are_refused(engine: str) -> None:
    with pytest.raises(
        InvalidInput, match=rf"The engine '{re.escape(engine)}' has no Device Workers\. Use local, srun"
    ):
        viewer_workers(engine).__enter__()
