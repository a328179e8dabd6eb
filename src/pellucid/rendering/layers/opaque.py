"""Opaque layers, drawn before the volumes of a scene: points, meshes and slices.

Here: OpaqueLayers, which keeps the layers of the latest scene on the device.
Not here: volumes (renderer), how one layer is drawn (spheres, meshes, slices).
"""

from typing import Any

from pellucid.device import Device, LaunchRange, runtime
from pellucid.fields.device_field import DeviceField
from pellucid.rendering.drawing.layer_cache import PackedLayerCache
from pellucid.rendering.drawing.packing import pack_light
from pellucid.rendering.geometry.mesh_files import load_mesh
from pellucid.rendering.geometry.point_files import load_points
from pellucid.rendering.geometry.shapes import Mesh, Points
from pellucid.rendering.layers.meshes import TriangleMesh
from pellucid.rendering.layers.slices import draw_slice
from pellucid.rendering.layers.spheres import SphereCloud
from pellucid.rendering.scene import MeshLayer, PointsLayer, Scene


class OpaqueLayers:
    """The points and meshes of a scene on one device. A layer that did not change since is not loaded again."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._kept = PackedLayerCache()
        self._points: dict[str, Points] = {}
        self._meshes: dict[str, Mesh] = {}
        self._layers: dict[PointsLayer | MeshLayer, SphereCloud | TriangleMesh] = {}

    def load(self, scene: Scene) -> None:
        """Bring what the scene has to the device; forget what only earlier scenes had."""
        wanted = _layers(scene)
        named = {layer.source for layer in wanted}
        self._points = {name: points for name, points in self._points.items() if name in named}
        self._meshes = {name: mesh for name, mesh in self._meshes.items() if name in named}
        self._layers = {layer: made for layer, made in self._layers.items() if layer in wanted}
        for layer in wanted:
            if layer not in self._layers:
                self._layers[layer] = self._make(layer)

    def forget(self, source: str) -> None:
        """Load it again when it is wanted."""
        self._points.pop(source, None)
        self._meshes.pop(source, None)
        self._layers = {layer: made for layer, made in self._layers.items() if layer.source != source}

    def draw(self, scene: Scene, slices: list[DeviceField], view: Any, rows: LaunchRange) -> None:
        """Into the view's scenery; call load() before. slices: the fields that the scene's slices cut."""
        layers = _layers(scene)
        light = pack_light(scene.light, scene.camera) if layers else None
        for layer in layers:
            self._layers[layer].draw(view, light, rows)
        self.draw_slices(scene, slices, view, rows)

    def draw_slices(self, scene: Scene, slices: list[DeviceField], view: Any, rows: LaunchRange) -> None:
        """The slices alone."""
        for plane, field in zip(scene.slices, slices, strict=True):
            draw_slice(plane, self._kept.slice(plane, field), view, rows, self._device)

    def traced(self, scene: Scene) -> tuple[Any, Any]:
        """The meshes and the spheres of a scene, each as an array for the kernel that follows paths of light."""
        from pellucid.rendering.kernels.path_tracing import surfaces

        arrays = []
        for layers, kind in ((scene.meshes, surfaces.TracedMesh), (scene.points, surfaces.TracedSpheres)):
            found = [packed for layer in layers if (packed := self._layers[layer].traced()) is not None]
            arrays.append(struct_array(found, kind, self._device))
        meshes, clouds = arrays
        return meshes, clouds

    def _make(self, layer: PointsLayer | MeshLayer) -> SphereCloud | TriangleMesh:
        if isinstance(layer, PointsLayer):
            if layer.source not in self._points:
                self._points[layer.source] = load_points(layer.source)
            return SphereCloud(self._points[layer.source], layer, self._device)
        if layer.source not in self._meshes:
            self._meshes[layer.source] = load_mesh(layer.source)
        return TriangleMesh(self._meshes[layer.source], layer, self._device)


def struct_array(structs: list[Any], kind: Any, device: Device) -> Any:
    """Structs as an array on a device, which keeps alive what they point to."""
    packed = runtime.start().array(structs, dtype=kind, device=device.name)
    packed.members = structs
    return packed


def _layers(scene: Scene) -> tuple[PointsLayer | MeshLayer, ...]:
    return (*scene.points, *scene.meshes)
