"""From a Scene to a Frame on a device.

Here: Renderer, which keeps what it has loaded, and render for one picture.
Not here: the mathematics (reference, kernels), a scene in the kernels' own terms (packing).
"""

import time
from typing import Any

import numpy as np

from pellucid.device import Device, choose, launch, runtime, synchronize
from pellucid.errors import InvalidInput
from pellucid.fields.dense import DenseField
from pellucid.formats.protocol import Voxels
from pellucid.rendering.frame import Frame, Statistics, to_rgba8
from pellucid.rendering.illumination import Illumination
from pellucid.rendering.packing import Size, pack_layer, pack_view, world_step
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.scenery import Scenery
from pellucid.volume.volume import open_volume

LARGEST_PICTURE = 16384
PROJECTIONS = {"max": 0, "min": 1, "mean": 2}


def render(scene: Scene, width: int = 1024, height: int = 1024, device: str | None = None) -> Frame:
    """One picture of a scene. For several of the same volumes make a Renderer: it keeps them loaded."""
    return Renderer(choose(device)).render(scene, width, height)


class Renderer:
    """Draws scenes on one device, and keeps their volumes in its memory."""

    def __init__(self, device: Device | None = None) -> None:
        self.device = device or choose()
        self._fields: dict[str, DenseField] = {}
        self._illuminations: dict[str, Illumination] = {}
        self._scenery = Scenery(self.device)

    def render(self, scene: Scene, width: int, height: int) -> Frame:
        _check(scene, width, height)
        started = time.perf_counter()
        fields = [self.field(layer.source) for layer in scene.volumes]
        self._scenery.load(scene)
        loaded = time.perf_counter()
        color, depth = self._draw(scene, fields, (height, width))
        drawn = time.perf_counter()
        rgba = to_rgba8(color, scene.background)
        times = {"load": loaded - started, "draw": drawn - loaded, "finish": time.perf_counter() - drawn}
        return Frame(rgba, np.where(depth > 1e38, np.inf, depth), Statistics(self.device.name, times))

    def field(self, source: str) -> DenseField:
        """A volume on the device, loaded when first asked for."""
        if source not in self._fields:
            with open_volume(source) as volume:
                self._fields[source] = DenseField(volume, self.device)
        return self._fields[source]

    def _draw(self, scene: Scene, fields: list[DenseField], size: Size) -> tuple[Voxels, Voxels]:
        warp = runtime.start()
        step = world_step(scene, fields) if fields else scene.step
        view = pack_view(scene, size, step, self.device)
        self._scenery.draw(scene, view, size)
        if not fields:
            synchronize(self.device)
            return view.scenery.numpy(), view.scenery_depth.numpy()
        color = warp.empty(size, dtype=warp.vec4, device=self.device.name)
        depth = warp.empty(size, dtype=warp.float32, device=self.device.name)
        layers = [
            pack_layer(scene, layer, field, self._illumination(layer.source, field), step)
            for layer, field in zip(scene.volumes, fields, strict=True)
        ]
        kernel, arguments = self._kernel(scene, layers)
        launch(kernel, size, [view, *arguments], [color, depth], self.device, block_dim=64)
        synchronize(self.device)
        return color.numpy(), depth.numpy()

    def _illumination(self, source: str, field: DenseField) -> Illumination:
        return self._illuminations.setdefault(source, Illumination(field))

    def _kernel(self, scene: Scene, layers: list[Any]) -> tuple[Any, list[Any]]:
        """The kernel that draws a scene, and what it wants besides the view."""
        from pellucid.rendering import kernels, rays

        warp = runtime.start()
        if len(layers) != 1:
            return kernels.composite_many, [warp.array(layers, dtype=rays.Layer, device=self.device.name)]
        (layer,) = scene.volumes
        if layer.mode == "isosurface":
            return kernels.isosurface, [layers[0], *self._surfaces(layer)]
        if layer.mode in PROJECTIONS:
            return kernels.project, [layers[0], PROJECTIONS[layer.mode]]
        return kernels.composite, [layers[0]]

    def _surfaces(self, layer: VolumeLayer) -> list[Any]:
        warp = runtime.start()
        surfaces = sorted(layer.isosurfaces, key=lambda surface: surface.value)
        levels = np.array([surface.value for surface in surfaces], np.float32)
        colors = np.array([(*surface.color, surface.opacity) for surface in surfaces], np.float32)
        name = self.device.name
        return [warp.array(levels, device=name), warp.array(colors, dtype=warp.vec4, device=name)]


def _check(scene: Scene, width: int, height: int) -> None:
    from pellucid.rendering.kernels import MOST_LAYERS

    if not (1 <= width <= LARGEST_PICTURE and 1 <= height <= LARGEST_PICTURE):
        raise InvalidInput(f"A picture of {width} × {height} cannot be made.", do=f"Choose 1 to {LARGEST_PICTURE}.")
    if not (scene.volumes or scene.points or scene.meshes):
        raise InvalidInput("There is nothing in the scene.", do="Give it a volume, points or a mesh.")
    if len(scene.volumes) > MOST_LAYERS:
        raise InvalidInput(f"The scene has {len(scene.volumes)} volumes.", do=f"Give it at most {MOST_LAYERS}.")
    if len(scene.volumes) > 1 and any(layer.mode != "composite" for layer in scene.volumes):
        raise InvalidInput("Several volumes are only drawn as composites.", do="Set every layer's mode to composite.")
    if any(layer.mode == "isosurface" and not layer.isosurfaces for layer in scene.volumes):
        raise InvalidInput("There is no isosurface to draw.", do="Give at least one isovalue.")
