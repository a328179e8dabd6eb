"""Isosurfaces of blocks: the same triangles as in one piece, without gaps."""

import numpy as np
import pytest

from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.halos import append_halo, plan_halos
from pellucid.cluster.images.surfaces import BlockSurface, extract_surface_gpu, join_surfaces
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.isosurfaces import extract_isosurface
from pellucid.rendering.geometry.shapes import Mesh
from pellucid.volume.volume import Volume
from tests.cluster.test_halos import blocks_of
from tests.rendering.test_isosurfaces import is_closed, noise

EDGES = (9, 11, 8)
SPACING = (2.0, 1.0, 0.5)


def surfaces(group: WorkerGroup, volume: Voxels, value: float) -> list[BlockSurface]:
    handles = blocks_of(group, volume, EDGES)
    described = {key: (handle, DeviceBlock(handle).shape) for key, handle in handles.items()}
    found = []
    for key, parts in plan_halos(described, 1).items():
        z, y, x = (k * edge for k, edge in zip(key, EDGES, strict=True))
        filled = append_halo(DeviceBlock(handles[key]), parts, 1)
        shape = (volume.shape[0], volume.shape[1], volume.shape[2])
        found.append(extract_surface_gpu(filled, value, (z, y, x), shape, SPACING))
    return found


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


def test_a_block_without_a_surface(group: WorkerGroup) -> None:
    block = DeviceBlock(group.send(np.zeros((4, 5, 6), np.uint8), group.workers[0]))
    surface = extract_surface_gpu(block, 0.5, (0, 0, 0), (4, 5, 6))
    assert (surface.vertices, surface.triangles) == (0, 0)
    assert len(surface.mesh().triangles) == 0
    with pytest.raises(InvalidInput, match=r"A surface needs blocks with a halo of 1"):
        extract_surface_gpu(block, 0.5, (0, 0, 0), (4, 5, 7))
