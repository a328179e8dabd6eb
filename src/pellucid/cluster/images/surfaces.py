"""Isosurfaces of a volume whose blocks are on Device Workers.

Here: extract_surface_gpu, the surface in one block; BlockSurface; join_surfaces, one mesh of all; extract_labels_gpu
and join_labels, the same of many labels; draw_surface_gpu.
Not here: extracting it (compute.surface), isosurfaces met by rays (frames).

Every cube between voxels belongs to one block, and all blocks compute the same vertices on the edges that they share:
the surface has the same triangles as that of the volume in one piece, and no gaps.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from pellucid.box import Box, Shape
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.compute.drawing import CHANNELS
from pellucid.cluster.compute.mesh_drawing import PLACEHOLDER, DrawSurfaceRequest
from pellucid.cluster.compute.surface import SurfaceRequest
from pellucid.cluster.functions import recv_gpu
from pellucid.cluster.images.frames import BlockImage, ImagePlan
from pellucid.cluster.operations import ComputeBlock
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.rendering.camera import Vector
from pellucid.rendering.geometry.shapes import Mesh
from pellucid.rendering.scene import MeshLayer


@dataclass(frozen=True)
class BlockSurface:
    """words: the vertices and triangles on the device, as one row of 32-bit words."""

    words: DeviceBlock
    vertices: int
    triangles: int
    parts: tuple[tuple[int, int, int], ...] = ()
    """Of labels: each, and how many vertices and triangles it has here."""

    def mesh(self) -> Mesh:
        """The surface in this process."""
        words = recv_gpu(self.words).reshape(-1)
        cut = 3 * self.vertices
        vertices = words[:cut].view(np.float32).reshape(-1, 3)
        return Mesh(vertices, words[cut : cut + 3 * self.triangles].reshape(-1, 3))


def extract_surface_gpu(
    block: DeviceBlock, value: float, start: Shape, shape: Shape, spacing: Spacing = (1.0, 1.0, 1.0)
) -> BlockSurface:
    """The surface at ``value`` in a block with a filled halo of 1; it stays on the device.

    start: the first voxel of the block in the volume; shape, spacing: of the volume, (z, y, x).
    """
    return _extract(block, SurfaceRequest(value, start, shape, spacing, f"{block.handle} {value!r}"))


def _extract(block: DeviceBlock, request: SurfaceRequest) -> BlockSurface:
    arguments = json.dumps(asdict(request))
    count = ComputeBlock("count_surface", arguments, is_value=True, label="the surface")
    found = block.result(count).value
    size = (1, 1, max(1, 3 * (found["vertices"] + found["triangles"])))
    words = block.then(ComputeBlock("write_surface", arguments, (), size, "<i4", label="the surface"))
    parts = tuple((label, vertices, triangles) for label, vertices, triangles in found["parts"])
    return BlockSurface(words, found["vertices"], found["triangles"], parts)


def extract_labels_gpu(
    block: DeviceBlock, labels: Sequence[int], start: Shape, shape: Shape, spacing: Spacing = (1.0, 1.0, 1.0)
) -> BlockSurface:
    """The surfaces of many labels in a block of labels with a filled halo of 1; all of them stay on the device.
    join_labels makes a mesh of each."""
    wanted = tuple(sorted({int(label) for label in labels}))
    if not wanted or wanted[0] <= 0:
        raise InvalidInput("No labels above 0 were passed.", remedy="Pass at least one; 0 is the background.")
    digest = hashlib.sha256(repr(wanted).encode()).hexdigest()[:16]
    return _extract(block, SurfaceRequest(0.5, start, shape, spacing, f"{block.handle} {digest}", wanted))


def join_labels(surfaces: Iterable[BlockSurface]) -> dict[int, Mesh]:
    """A mesh of each label, without gaps between blocks."""
    found: dict[int, list[Mesh]] = defaultdict(list)
    for surface in surfaces:
        whole = surface.mesh()
        vertex = triangle = 0
        for label, vertices, triangles in surface.parts:
            own = Mesh(whole.vertices[vertex : vertex + vertices], whole.triangles[triangle : triangle + triangles])
            found[label].append(own)
            vertex, triangle = vertex + vertices, triangle + triangles
    return {label: _joined(parts) for label, parts in sorted(found.items())}


def draw_surface_gpu(surface: BlockSurface, plan: ImagePlan, color: Vector = MeshLayer.color) -> BlockImage:
    """Render a surface where it was extracted, for compose_frame, which puts surfaces together by their depths. Of the
    plan, the camera, the light and the place of its first volume count."""
    layer = MeshLayer(PLACEHOLDER, color, transform=plan.scene.volumes[0].transform)
    scene = replace(plan.scene, volumes=(), meshes=(layer,))
    size = (plan.height, plan.width)
    key = str(surface.words.handle)  # From now on the surface is there, and is not extracted again.
    request = DrawSurfaceRequest(
        scene.to_json(), surface.vertices, surface.triangles, size, key, plan.aim.across, plan.aim.down
    )
    drawn = ComputeBlock(
        "draw_surface", json.dumps(asdict(request)), (), (*size, CHANNELS), "<f4", label="the renderer"
    )  # fmt: skip
    return BlockImage(surface.words.then(drawn), Box.whole(plan.shape), 0, is_surface=True)


def join_surfaces(surfaces: Iterable[BlockSurface]) -> Mesh:
    """One mesh: vertices that several blocks have become one."""
    return _joined([surface.mesh() for surface in surfaces])


def _joined(parts: Sequence[Mesh]) -> Mesh:
    firsts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    vertices = np.concatenate([part.vertices for part in parts])
    triangles = np.concatenate([part.triangles + np.int64(first) for part, first in zip(parts, firsts, strict=False)])
    kept, numbers = np.unique(_keys(vertices), return_index=True, return_inverse=True)[1:]
    return Mesh(vertices[kept], numbers.reshape(-1)[triangles])


def _keys(vertices: Voxels) -> Voxels:
    """Of each vertex, its bytes as one value."""
    keys: Voxels = np.ascontiguousarray(vertices).view(np.dtype((np.void, 12))).reshape(-1)
    return keys
