"""Points on a device: spheres, and the tree through which rays find them.

Here: which points are visible and how large, SphereCloud, a default radius for a cloud.
Not here: the kernel (kernels.spheres), files (point_files).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.device import Device, LaunchRange, launch, runtime
from pellucid.errors import NotEnoughMemory
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.shapes import Points
from pellucid.rendering.light import linear
from pellucid.rendering.scene import PointsLayer

BYTES_PER_SPHERE = 160
"""Position, radius, colour, box and about two nodes of the tree."""


@dataclass(frozen=True)
class Spheres:
    """What is visible of some points: (n, 4) of x, y, z and radius, and (n, 3) colours."""

    spheres: Voxels
    colors: Voxels


def visible_spheres(points: Points, layer: PointsLayer) -> Spheres:
    """Points that the transfer function shows and that have a radius, in the world."""
    table = layer.transfer.table(1.0)
    rows = table[layer.transfer.index(points.values)]
    placed = points.positions @ layer.transform.matrix().T + np.asarray(layer.transform.translation)
    radii = points.values.astype(np.float64) * layer.radius_scale
    spheres = np.concatenate([placed, radii[:, None]], axis=1).astype(np.float32)
    is_visible = (rows[:, 3] > 0) & (spheres[:, 3] > 0) & np.isfinite(spheres).all(axis=1)
    return Spheres(np.ascontiguousarray(spheres[is_visible]), np.ascontiguousarray(rows[is_visible, :3]))


class SphereCloud:
    """A layer of points in a device's memory, ready to be drawn."""

    def __init__(self, points: Points, layer: PointsLayer, device: Device) -> None:
        visible = visible_spheres(points, layer)
        self.count = len(visible.spheres)
        self._device, self._is_lit = device, int(layer.is_lit)
        if not self.count:
            return
        _check_fits(self.count, device)
        warp, name = runtime.start(), device.name
        centres, radii = visible.spheres[:, :3], visible.spheres[:, 3:]
        self._spheres = warp.array(visible.spheres, dtype=warp.vec4, device=name)
        self._colors = warp.array(visible.colors, dtype=warp.vec3, device=name)
        lowers = warp.array(centres - radii, dtype=warp.vec3, device=name)
        self._tree = warp.Bvh(lowers, warp.array(centres + radii, dtype=warp.vec3, device=name))

    def traced(self) -> Any:
        """As paths of light meet it; None where there is nothing."""
        from pellucid.rendering.kernels.path_tracing import surfaces

        if not self.count:
            return None
        warp = runtime.start()
        colors = self._colors.numpy()
        colors = linear(colors).astype(np.float32) if self._is_lit else colors
        packed = surfaces.TracedSpheres()
        packed.tree, packed.spheres, packed.is_lit = self._tree.id, self._spheres, self._is_lit
        packed.colors = warp.array(colors, dtype=warp.vec3, device=self._device.name)
        return packed

    def draw(self, view: Any, light: Any, rows: LaunchRange) -> None:
        """Into the view's scenery, where nothing nearer is."""
        from pellucid.rendering.kernels import spheres

        if self.count:
            arguments = [view, light, self._is_lit, self._tree.id, self._spheres, self._colors]
            launch(spheres.draw_spheres, rows, arguments, device=self._device, block_dim=64)


def default_radius_scale(points: Points) -> float:
    """World units per value at which the largest sphere reaches half-way to its neighbours, were all spread evenly."""
    low, high = (np.asarray(corner) for corner in points.bounds)
    edges = high - low
    edges = edges[edges > 0]
    finite = points.values[np.isfinite(points.values)]
    largest = float(finite.max()) if len(finite) else 0.0
    if largest <= 0 or not len(edges):
        return 1.0
    return float((np.prod(edges) / len(points.values)) ** (1 / len(edges)) / 2 / largest)


def _check_fits(count: int, device: Device) -> None:
    needs, has = count * BYTES_PER_SPHERE, int(0.9 * device.free_bytes())
    if needs > has:
        raise NotEnoughMemory(needs, has, remedy="Show fewer points, or make more of them transparent.")
