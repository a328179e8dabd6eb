"""Isosurfaces of blocks: the same triangles as in one piece, without gaps."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.box import Shape, triple
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.halos import append_halo, plan_halos
from pellucid.cluster.images.frames import ImagePlan, compose_frame
from pellucid.cluster.images.surfaces import (
    BlockSurface,
    draw_surface_gpu,
    extract_labels_gpu,
    extract_surface_gpu,
    join_labels,
    join_surfaces,
)
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.geometry.isosurfaces import extract_isosurface
from pellucid.rendering.geometry.shapes import Mesh
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import MeshLayer, Scene, Transform, VolumeLayer
from pellucid.volume.volume import Volume
from tests.cluster.test_halos import blocks_of
from tests.rendering.test_isosurfaces import is_closed, noise

EDGES = (9, 11, 8)
SPACING = (2.0, 1.0, 0.5)


def filled_blocks(group: WorkerGroup, volume: Voxels) -> list[tuple[DeviceBlock, Shape]]:
    """With a halo of 1, and the first voxel of each."""
    handles = blocks_of(group, volume, EDGES)
    described = {key: (handle, DeviceBlock(handle).shape) for key, handle in handles.items()}
    return [
        (append_halo(DeviceBlock(handles[key]), parts, 1), triple(k * e for k, e in zip(key, EDGES, strict=True)))
        for key, parts in plan_halos(described, 1).items()
    ]


def surfaces(group: WorkerGroup, volume: Voxels, value: float) -> list[BlockSurface]:
    shape = triple(volume.shape)
    return [extract_surface_gpu(block, value, start, shape, SPACING) for block, start in filled_blocks(group, volume)]


def corners(mesh: Mesh) -> set[bytes]:
    """Every triangle by the positions of its corners, whichever comes first."""
    found = set()
    for triangle in mesh.vertices[mesh.triangles]:
        first = min(range(3), key=lambda n: triangle[n].tobytes())
        found.add(np.roll(triangle, -first, axis=0).tobytes())
    return found


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_surfaces_of_blocks_are_that_of_the_whole(group: WorkerGroup, dtype: str) -> None:
    voxels = np.ascontiguousarray(noise().read()).astype(dtype)
    expected = extract_isosurface(Volume.from_array(voxels, SPACING), 127.0)
    parts = surfaces(group, voxels, 127.0)
    assert len({part.words.handle.worker for part in parts}) == 2
    assert sum(part.triangles for part in parts) == len(expected.triangles) > 10_000
    joined = join_surfaces(parts)
    assert is_closed(joined)
    assert len(joined.vertices) == len(expected.vertices)
    assert corners(joined) == corners(expected)


@pytest.mark.parametrize("position", [(10.0, 20.0, 90.0), (70.0, -40.0, -20.0)])
def test_surfaces_drawn_where_they_are_look_like_the_whole(group: WorkerGroup, position: Vector) -> None:
    volume = Volume.from_array(noise().read(), SPACING)
    mesh = extract_isosurface(volume, 127.0)
    transform = Transform((1.0, 1.5, 0.8), (20.0, 30.0, 40.0), (5.0, 6.0, 7.0))
    camera = Camera(position, (10.0, 15.0, 20.0))
    scene = Scene((VolumeLayer(str(volume.location), transform=transform),), camera)
    plan = ImagePlan(scene, 96, 80, volume.shape, SPACING)
    parts = surfaces(group, np.ascontiguousarray(volume.read()), 127.0)
    found = compose_frame([draw_surface_gpu(part, plan, (0.2, 0.9, 0.4)) for part in parts], plan)
    layer = MeshLayer(mesh.name, (0.2, 0.9, 0.4), transform=transform)
    with Renderer() as renderer:
        expected = renderer.render(replace(scene, volumes=(), meshes=(layer,)), 96, 80)
    is_seen = np.isfinite(expected.depth)
    assert is_seen.sum() > 500
    assert (np.isfinite(found.depth) == is_seen).all()
    assert np.abs(found.depth[is_seen] - expected.depth[is_seen]).max() < 1e-3
    # Only the normals along the borders of blocks differ: each block smooths its own.
    assert np.median(np.abs(found.rgba.astype(int) - expected.rgba)[is_seen]) <= 1


def test_surfaces_and_volumes_are_not_mixed(group: WorkerGroup) -> None:
    plan = ImagePlan(Scene((VolumeLayer("memory:any"),)), 8, 8, (4, 5, 6))
    block = DeviceBlock(group.send(np.zeros((4, 5, 6), np.float32), group.workers[0]))
    surface = draw_surface_gpu(extract_surface_gpu(block, 0.5, (0, 0, 0), (4, 5, 6)), plan)
    other = replace(surface, is_surface=False)
    assert np.isinf(compose_frame([surface], plan).depth).all()  # Nothing is there.
    with pytest.raises(InvalidInput, match=r"Surfaces and volumes are not composited together"):
        compose_frame([surface, other], plan)


def test_surfaces_of_many_labels_are_those_of_each(group: WorkerGroup) -> None:
    random = np.random.default_rng(3)
    volume = np.zeros((24, 26, 22), np.uint16)
    for label in range(1, 41):  # Boxes that overlap: some labels touch, some reach the border, some are gone.
        z, y, x = (int(random.integers(0, n - 2)) for n in volume.shape)
        volume[z : z + 6, y : y + 5, x : x + 7] = label
    wanted = [*range(1, 41, 2), 999]
    parts = []
    for block, start in filled_blocks(group, volume):
        parts.append(extract_labels_gpu(block, wanted, start, triple(volume.shape), SPACING))
    found = join_labels(parts)
    present = sorted({int(label) for label in np.unique(volume)} & set(wanted))
    assert sorted(found) == present and len(present) > 10
    for label, mesh in found.items():
        mask = (volume == label).astype(np.uint8)
        expected = extract_isosurface(Volume.from_array(mask, SPACING), 0.5)
        assert len(mesh.vertices) == len(expected.vertices)
        assert corners(mesh) == corners(expected)
    with pytest.raises(InvalidInput, match=r"No labels above 0 were passed"):
        extract_labels_gpu(block, [0, 3], start, triple(volume.shape))


def test_a_block_without_a_surface(group: WorkerGroup) -> None:
    block = DeviceBlock(group.send(np.zeros((4, 5, 6), np.uint8), group.workers[0]))
    surface = extract_surface_gpu(block, 0.5, (0, 0, 0), (4, 5, 6))
    assert (surface.vertices, surface.triangles) == (0, 0)
    assert len(surface.mesh().triangles) == 0
    with pytest.raises(InvalidInput, match=r"A surface needs blocks with a halo of 1"):
        extract_surface_gpu(block, 0.5, (0, 0, 0), (4, 5, 7))
