"""Light in images of blocks is that of the whole volume in one process."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.box import Box, Shape, triple
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.functions import persist_gpu, read_block
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.images.frames import ImagePlan, compose_frame, draw_block
from pellucid.cluster.images.light import draw_blocks
from pellucid.errors import InvalidInput
from pellucid.rendering.camera import Camera
from pellucid.rendering.frame import Frame
from pellucid.rendering.light import Light
from pellucid.rendering.scene import STANDING, ClipPlane, Isosurface, Scene
from tests.cluster.test_images import AHEAD, SPACING, TRANSFER, TURNED, VOXELS, psnr, scene_of, whole

DENSE = replace(TRANSFER, opacities=((0.0, 0.0), (0.1, 0.05), (1.0, 0.9)))
SIZE = 96
MEMORY = 2**20
"""Of a Worker: enough for some of the blocks of an image at a time."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("light") / "volume.npy"
    np.save(path, VOXELS)
    return path


@contextmanager
def blocks_of(
    group: WorkerGroup, source: Path, cuts: tuple[list[int], ...], halo: int
) -> Iterator[list[tuple[DeviceBlock, Shape]]]:
    """The volume in blocks between cuts, on the Workers in turn, each read with its halo."""
    edges = [[0, *one, n] for one, n in zip(cuts, VOXELS.shape, strict=True)]
    found = []
    for number, key in enumerate(np.ndindex(*(len(one) - 1 for one in edges))):
        box = Box(*(triple(edges[axis][key[axis] + end] for axis in range(3)) for end in (0, 1)))
        worker = group.workers[number % 2]
        block = read_block(str(source), box, VOXELS.dtype, (halo, halo, halo), worker)
        found.append((persist_gpu(block), box.start))
    yield found
    for block, _ in found:
        block.release()


def drawn(group: WorkerGroup, source: Path, scene: Scene, cuts: tuple[list[int], ...]) -> Frame:
    plan = ImagePlan(scene, SIZE, SIZE - 10, VOXELS.shape, SPACING)
    with blocks_of(group, source, cuts, plan.halo) as blocks:
        return compose_frame(draw_blocks(blocks, plan), plan)


def test_nothing_of_an_image_is_lost_where_memory_is_short(source: Path) -> None:
    scene = scene_of(AHEAD.orbited(30, 20), shading="shadow")
    with WorkerGroup.local(2, "cpu", memory_bytes=MEMORY, host_bytes=64 * MEMORY) as short:
        image = drawn(short, source, scene, ([18], [20], [11]))
        assert all(short.links.usage(worker)["persistent"] == 0 for worker in short.workers)
    assert psnr(image, whole(scene)) > 45


@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1))
def test_shadows_go_from_block_to_block(group: WorkerGroup, source: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    cuts = tuple(
        sorted(random.choice(np.arange(4, n - 4), random.integers(1, 3), replace=False).tolist()) for n in VOXELS.shape
    )
    camera = AHEAD.orbited(random.uniform(0, 360), random.uniform(-80, 80))
    if random.random() < 0.3:
        camera = Camera(camera.position, camera.target, camera.up, None, 60.0)
    transform = TURNED if random.random() < 0.3 else STANDING
    light = Light() if random.random() < 0.5 else Light(tuple(random.normal(size=3).tolist()))
    scenes = [
        replace(scene_of(camera, transform=transform, shading=shading), light=light)
        for shading in (random.choice(["shadow", "full"]), "none")
    ]
    expected, unlit = map(whole, scenes)
    found = drawn(group, source, scenes[0], cuts)
    assert psnr(unlit, expected) < 40
    assert psnr(found, expected) > 45


@pytest.mark.parametrize("camera", [AHEAD.orbited(30, 20), AHEAD.orbited(200, -40)])
def test_what_is_around_takes_light_away(group: WorkerGroup, source: Path, camera: Camera) -> None:
    volume = replace(scene_of(camera, shading="occlusion"), background=(0.0, 0.0, 0.0, 1.0))
    scene = replace(volume, volumes=(replace(volume.volumes[0], transfer=DENSE),))
    open_sky = replace(scene, volumes=(replace(scene.volumes[0], shading="gradient"),))
    expected = whole(scene)
    assert psnr(whole(open_sky), expected) < 50
    assert psnr(drawn(group, source, scene, ([18], [20], [11, 20])), expected) > 55


def test_surfaces_and_cuts_throw_shadows(group: WorkerGroup, source: Path) -> None:
    surface = (Isosurface(9000.0),)
    plane = ClipPlane((1.0, 0.3, 0.2), 12.0)
    scene = scene_of(AHEAD.orbited(-50, 35), mode="isosurface", isosurfaces=surface, shading="shadow")
    scene = replace(scene, planes=(plane,))
    unlit = replace(scene, volumes=(replace(scene.volumes[0], shading="none"),))
    expected = whole(scene)
    assert psnr(whole(unlit), expected) < 30
    assert psnr(drawn(group, source, scene, ([18], [20], [16])), expected) > 35


def test_light_needs_all_blocks_and_their_halos(group: WorkerGroup, source: Path) -> None:
    plan = ImagePlan(scene_of(shading="full"), SIZE, SIZE, VOXELS.shape, SPACING)
    assert plan.halo == 20
    with blocks_of(group, source, ([18], [], []), 4) as blocks:
        with pytest.raises(InvalidInput, match=r"Shadows need all blocks of the volume\. Use draw_blocks\."):
            draw_block(*blocks[0], plan)
        with pytest.raises(InvalidInput, match=r"halo of \(4, 4, 4\).*too narrow.*Use a halo of 20"):
            compose_frame(draw_blocks(blocks, plan), plan)
