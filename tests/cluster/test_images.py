"""Images of blocks on Workers equal the image of the whole volume in one process."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.box import Box, Shape
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.functions import exec_gpu
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.halos import append_halo, plan_halos
from pellucid.cluster.images.frames import ImagePlan, compose_frame, draw_block
from pellucid.cluster.images.placement import BlockPlace, front_to_back
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera
from pellucid.rendering.frame import Frame
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import STANDING, Isosurface, Scene, Transform, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.sample_volume import sample
from pellucid.volume.volume import Volume

VOXELS = np.ascontiguousarray(sample(40)[:36, :40, :32])
SPACING = (1.0, 1.0, 1.0)
TURNED = Transform((1.0, 1.5, 0.8), (20.0, 30.0, 40.0), (5.0, 6.0, 7.0))
TRANSFER = TransferFunction(
    ((0.0, (0.0, 0.2, 1.0)), (1.0, (1.0, 0.9, 0.7))), ((0.0, 0.0), (0.2, 0.02), (1.0, 0.5)), (0.0, 40000.0)
)
AHEAD = Camera((16.0, 20.0, 120.0), (16.0, 20.0, 18.0))


def scene_of(camera: Camera = AHEAD, **layer: Any) -> Scene:
    volume = Volume.from_array(VOXELS)
    return Scene((VolumeLayer(str(volume.location), TRANSFER, **layer),), camera, background=(0.2, 0.1, 0.0, 1.0))


def placed(group: WorkerGroup, cuts: tuple[list[int], ...]) -> list[tuple[Shape, DeviceBlock]]:
    """The volume in blocks between cuts, on the Workers in turn, with their halos."""
    starts = [[0, *one] for one in cuts]
    stops = [[*one, n] for one, n in zip(cuts, VOXELS.shape, strict=True)]
    handles = {}
    for number, key in enumerate(np.ndindex(*map(len, starts))):
        begin, end = (tuple(edges[axis][key[axis]] for axis in range(3)) for edges in (starts, stops))
        box = Box((begin[0], begin[1], begin[2]), (end[0], end[1], end[2]))
        sent = group.send(VOXELS[box.slices], group.workers[number % 2])
        handles[(key[0], key[1], key[2])] = (sent, box)
    parts = plan_halos({key: (handle, box.shape) for key, (handle, box) in handles.items()}, 2)
    return [(box.start, append_halo(DeviceBlock(one), parts[key], 2)) for key, (one, box) in handles.items()]


def drawn(group: WorkerGroup, scene: Scene, cuts: tuple[list[int], ...], size: int = 96) -> Frame:
    plan = ImagePlan(scene, size, size - 10, VOXELS.shape, SPACING)
    return compose_frame([draw_block(block, start, plan) for start, block in placed(group, cuts)], plan)


def whole(scene: Scene, size: int = 96) -> Frame:
    with Renderer() as renderer:
        volume = Volume.from_array(VOXELS)
        named = Scene(tuple(VolumeLayer(**{**vars(one), "source": str(volume.location)}) for one in scene.volumes))
        renderer.add(volume)
        return renderer.render(Scene(**{**vars(scene), "volumes": named.volumes}), size, size - 10)


def psnr(one: Frame, other: Frame) -> float:
    error = np.mean((one.rgba.astype(float) - other.rgba) ** 2)
    return float(10 * np.log10(255**2 / max(error, 1e-9)))


@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_image_of_blocks_is_the_image_of_the_whole(group: WorkerGroup, seed: int) -> None:
    random = np.random.default_rng(seed)
    cuts = tuple(sorted(random.choice(np.arange(4, n - 4), 1).tolist()) for n in VOXELS.shape)
    angle, tilt = random.uniform(0, 360), random.uniform(-80, 80)
    camera = AHEAD.orbited(angle, tilt)
    if random.random() < 0.3:
        camera = Camera(camera.position, camera.target, camera.up, None, 60.0)
    transform = TURNED if random.random() < 0.3 else STANDING
    scene = scene_of(camera, transform=transform, shading=random.choice(["none", "gradient"]))
    expected = whole(scene)
    assert expected.rgba[..., :3].std() > 5
    assert psnr(drawn(group, scene, cuts), expected) > 50


def test_depths_and_isosurfaces(group: WorkerGroup) -> None:
    surface = (Isosurface(9000.0),)
    scene = scene_of(AHEAD.orbited(30, 20), mode="isosurface", isosurfaces=surface)
    found, expected = drawn(group, scene, ([18], [20], [])), whole(scene)
    assert psnr(found, expected) > 45
    there = np.isfinite(expected.depth) & np.isfinite(found.depth)
    assert there.sum() > 0.98 * np.isfinite(expected.depth).sum() > 100
    assert np.median(np.abs(found.depth[there] - expected.depth[there])) < 0.1


def test_a_camera_inside_the_volume(group: WorkerGroup) -> None:
    scene = scene_of(Camera((16.0, 20.0, 18.0), (30.0, 22.0, 40.0), field_of_view_deg=70.0))
    assert psnr(drawn(group, scene, ([12], [15, 30], [20])), whole(scene)) > 50


def test_a_changed_block_is_drawn_anew(group: WorkerGroup) -> None:
    plan = ImagePlan(scene_of(), 64, 64, VOXELS.shape)
    source = "void none(In in, Out out, int z, int y, int x, const float* p) { out(z, y, x) = 0; }"
    block = DeviceBlock(group.send(VOXELS, group.workers[1]))
    seen = compose_frame([draw_block(block, (0, 0, 0), plan)], plan)
    empty = compose_frame([draw_block(exec_gpu(block, source=source, function="none"), (0, 0, 0), plan)], plan)
    assert seen.rgba[..., :3].std() > 5
    assert (empty.rgba == (51, 26, 0, 255)).all()


@given(seed=st.integers(0, 2**32 - 1))
def test_in_order_no_block_hides_one_before_it(seed: int) -> None:
    random = np.random.default_rng(seed)
    cuts = [[0, *sorted(random.choice(np.arange(1, 9), 2, replace=False).tolist()), 9] for _ in range(3)]
    places = []
    for z, y, x in np.ndindex(3, 3, 3):
        box = Box((cuts[0][z], cuts[1][y], cuts[2][x]), (cuts[0][z + 1], cuts[1][y + 1], cuts[2][x + 1]))
        places.append(BlockPlace(box, (9, 9, 9), SPACING, STANDING))
    random.shuffle(places)
    x, y, z = random.uniform(-20, 20, 3).tolist()
    camera = Camera((x, y, z), (4.0, 4.0, 4.0))
    order = front_to_back(places, camera)
    starts = np.array([places[number].box.start for number in order])
    stops = np.array([places[number].box.stop for number in order])
    # Along any ray the blocks come in that order.
    for target in random.uniform(0, 9, (20, 3)):
        ray = np.linspace(camera.position, np.asarray(camera.position) + 3 * (target - camera.position), 2000)
        at = ray[::20, None, ::-1]
        is_inside: Voxels = np.all((starts - 0.5 < at) & (at <= stops - 0.5), axis=-1)
        met = np.argmax(is_inside, axis=1)[is_inside.any(axis=1)]
        assert (np.diff(met) >= 0).all()


def test_what_blocks_cannot_show_is_refused() -> None:
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"shading": "cinematic"}, r"Cinematic shading does not support"),
        ({"mode": "max"}, r"Projections do not support blocks\. Use one of: composite, isosurface"),
    )
    for layer, said in refused:
        with pytest.raises(InvalidInput, match=said):
            ImagePlan(scene_of(**layer), 64, 64, VOXELS.shape)
