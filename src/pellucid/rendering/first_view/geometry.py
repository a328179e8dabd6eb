"""Sizes, colours and a camera for points and meshes without settings.

Here: adding them to a scene by their names.
Not here: the first image of a volume (first_view).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.geometry.mesh_files import load_mesh
from pellucid.rendering.geometry.point_files import load_points
from pellucid.rendering.geometry.shapes import Mesh, Points
from pellucid.rendering.layers.spheres import default_radius_scale
from pellucid.rendering.presets.color_maps import color_points
from pellucid.rendering.scene import MeshLayer, PointsLayer, Scene
from pellucid.rendering.transfer import TransferFunction


def with_scenery(
    scene: Scene,
    points: Sequence[str],
    meshes: Sequence[str],
    preset: str = "viridis",
    radius_scale: float | None = None,
) -> Scene:
    """A scene with points and meshes, by their names; where it has no volume, with a camera that sees all of them."""
    clouds, surfaces = [load_points(name) for name in points], [load_mesh(name) for name in meshes]
    layers = tuple(
        automatic_points_layer(name, cloud, preset, radius_scale) for name, cloud in zip(points, clouds, strict=True)
    )
    scene = replace(
        scene, points=(*scene.points, *layers), meshes=(*scene.meshes, *(MeshLayer(name) for name in meshes))
    )
    return scene if scene.volumes or not (clouds or surfaces) else replace(scene, camera=_seeing([*clouds, *surfaces]))


def automatic_points_layer(
    name: str, points: Points, preset: str = "viridis", radius_scale: float | None = None
) -> PointsLayer:
    """All points visible, coloured from the smallest to the largest value."""
    finite = points.values[np.isfinite(points.values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    transfer = TransferFunction(color_points(preset), ((0.0, 1.0),), (low, high if high > low else low + 1))
    return PointsLayer(name, transfer, radius_scale or default_radius_scale(points))


def _seeing(shapes: Sequence[Points | Mesh]) -> Camera:
    lows, highs = np.min([shape.bounds[0] for shape in shapes], axis=0), np.max([s.bounds[1] for s in shapes], axis=0)
    (a, b, c), (d, e, f) = lows.tolist(), highs.tolist()
    return framing((a, b, c), (d, e, f), direction=(0.55, -1.0, 0.35), up=(0.0, 0.0, 1.0))
