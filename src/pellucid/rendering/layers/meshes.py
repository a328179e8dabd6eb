"""Meshes on a device.

Here: TriangleMesh: vertices where the layer puts them, normals, and Warp's tree over the triangles.
Not here: the kernel (kernels.meshes), files (mesh_files).
"""

from typing import Any

import numpy as np

from pellucid.device import Device, LaunchRange, launch, runtime
from pellucid.errors import InvalidInput, NotEnoughMemory
from pellucid.rendering.geometry.shapes import Mesh, unit
from pellucid.rendering.light import linear
from pellucid.rendering.scene import MeshLayer

MAX_INDICES = 2**31 - 1
BYTES_PER_TRIANGLE = 120
"""Three indices, half a vertex with its normal, a box and about two nodes of the tree."""


class TriangleMesh:
    """A layer's mesh in a device's memory, ready to be drawn."""

    def __init__(self, mesh: Mesh, layer: MeshLayer, device: Device) -> None:
        _check_fits(mesh, device)
        mesh = mesh.without_gaps()
        self.count = len(mesh.triangles)
        self._device, self._is_lit = device, int(layer.is_lit)
        if not self.count:
            return
        warp, name = runtime.start(), device.name
        matrix = layer.transform.matrix()
        placed = mesh.vertices @ matrix.T + np.asarray(layer.transform.translation)
        normals = unit(mesh.smooth_normals() @ np.linalg.inv(matrix))
        indices = np.ascontiguousarray(mesh.triangles, np.int32).ravel()
        self._normals = warp.array(normals, dtype=warp.vec3, device=name)
        vertices = warp.array(placed.astype(np.float32), dtype=warp.vec3, device=name)
        self._mesh = warp.Mesh(vertices, warp.array(indices, device=name))
        self._color, self._opacity = warp.vec3(*layer.color), layer.opacity

    def traced(self) -> Any:
        """As paths of light meet it; None where there is nothing."""
        from pellucid.rendering.kernels.path_tracing import surfaces

        if not self.count:
            return None
        packed = surfaces.TracedMesh()
        packed.mesh, packed.normals = self._mesh.id, self._normals
        packed.color = runtime.start().vec3(*(linear(np.array(self._color)) if self._is_lit else self._color))
        packed.opacity, packed.is_lit = self._opacity, self._is_lit
        return packed

    def draw(self, view: Any, light: Any, rows: LaunchRange) -> None:
        """Into the view's scenery, where nothing nearer is."""
        from pellucid.rendering.kernels import meshes as kernels

        if self.count:
            arguments = [view, light, self._is_lit, self._mesh.id, self._normals, self._color, self._opacity]
            launch(kernels.draw_mesh, rows, arguments, device=self._device, block_dim=64)


def _check_fits(mesh: Mesh, device: Device) -> None:
    if mesh.triangles.size > MAX_INDICES:
        remedy = "Extract it from a coarser level, or from a part (--box)."
        raise InvalidInput(f"A mesh of {len(mesh.triangles):,} triangles is too large to render.", remedy=remedy)
    needs, has = len(mesh.triangles) * BYTES_PER_TRIANGLE, int(0.9 * device.free_bytes())
    if needs > has:
        raise NotEnoughMemory(needs, has, remedy="Extract it from a coarser level, or from a part (--box).")
