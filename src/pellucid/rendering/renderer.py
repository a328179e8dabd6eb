"""From a Scene to a Frame on a device.

Here: Renderer, which keeps what it has loaded, and render for one picture.
Not here: the mathematics (reference, kernels), a scene in the kernels' own terms (packing).
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.device import Device, choose, launch, runtime, synchronize
from pellucid.errors import InvalidInput
from pellucid.fields.labels import labels_of
from pellucid.fields.sampled import SampledField, VisibleBricks
from pellucid.fields.store import FieldStore
from pellucid.formats.protocol import Voxels
from pellucid.rendering.annotations import annotated
from pellucid.rendering.checking import check
from pellucid.rendering.frame import Frame, Statistics, full_resolution
from pellucid.rendering.illumination import Illumination
from pellucid.rendering.packing import Size, pack_layer, pack_view, world_step
from pellucid.rendering.scene import Scene, SliceLayer, VolumeLayer
from pellucid.rendering.scenery import Scenery
from pellucid.rendering.user_shading import UserShading
from pellucid.volume.volume import Volume

MOST_ROUNDS = 64
ROUNDS_WITHOUT_ROOM = 4
"""How often a picture is drawn again with more bricks: what comes in hides other bricks, and shows some behind them."""
PROJECTIONS = {"max": 0, "min": 1, "mean": 2}


def render(scene: Scene, width: int = 1024, height: int = 1024, device: str | None = None) -> Frame:
    """One picture of a scene. For several of the same volumes make a Renderer: it keeps them loaded."""
    return Renderer(choose(device)).render(scene, width, height)


class Renderer:
    """Draws scenes on one device, and keeps their volumes in its memory; in bricks where they exceed budget_bytes."""

    def __init__(self, device: Device | None = None, budget_bytes: int | None = None) -> None:
        self.device = device or choose()
        self._store = FieldStore(self.device, budget_bytes)
        self._illuminations: dict[str, Illumination] = {}
        self._shadings: dict[str, tuple[UserShading, Any]] = {}
        self._scenery = Scenery(self.device)

    def render(self, scene: Scene, width: int, height: int, *, is_exact: bool = True) -> Frame:
        """A picture; is_exact=False: of what is there now, while what is missing is read in the background."""
        check(scene, width, height)
        started = time.perf_counter()
        fields = self._store.get([*map(_field_name, scene.volumes), *map(_field_name, scene.slices)])
        self._scenery.load(scene)
        loaded = time.perf_counter()
        color, depth, seen = self._draw_volumes(scene, fields, (height, width), is_exact)
        drawn = time.perf_counter()
        rgba, depth = self._finish(color, scene.background), depth.numpy()
        rgba = annotated(rgba, scene.camera, scene.annotations)
        times = {"load": loaded - started, "draw": drawn - loaded, "finish": time.perf_counter() - drawn}
        statistics = Statistics(self.device.name, times, full_resolution(seen), tuple(seen[: len(scene.volumes)]))
        return Frame(rgba, np.where(depth > 1e38, np.inf, depth), statistics)

    def add(self, volume: Volume) -> None:
        """Draw this volume where a scene names it: one that has no file, or that announces changes."""
        self._store.add(volume)

    def add_field(self, source: str, field: SampledField) -> None:
        """Draw this field where a scene names it."""
        self._store.put(source, field)

    def _draw_volumes(
        self, scene: Scene, fields: list[SampledField], size: Size, is_exact: bool
    ) -> tuple[Any, Any, list[VisibleBricks]]:
        """Draw and load what was seen too coarsely; if exactly, until nothing is missing or there is no room for it.

        fields: of the volumes, then of the slices.
        """
        each = list({id(field): field for field in fields}.values())
        for drawn in range(1, MOST_ROUNDS + 1):
            for field in each:
                field.begin()
            color, depth = self._draw(scene, fields, size)
            seen = [field.visible() for field in fields]
            is_better = [field.improve(wait=is_exact) for field in each]
            if not (is_exact and any(is_better)) or (
                drawn >= ROUNDS_WITHOUT_ROOM and not all(field.has_room for field in each)
            ):
                break
        return color, depth, seen

    def _draw(self, scene: Scene, fields: list[SampledField], size: Size) -> tuple[Any, Any]:
        warp = runtime.start()
        from pellucid.rendering.kernels import surfaces

        volumes, slices = fields[: len(scene.volumes)], fields[len(scene.volumes) :]
        step = world_step(scene, volumes) if volumes else scene.step
        view = pack_view(scene, size, step, self.device)
        self._scenery.draw(scene, slices, view, size)
        color = warp.empty(size, dtype=warp.vec4, device=self.device.name)
        depth = warp.empty(size, dtype=warp.float32, device=self.device.name)
        layers = [
            pack_layer(scene, layer, field, self._illumination(_field_name(layer), field), step)
            for layer, field in zip(scene.volumes, volumes, strict=True)
        ]
        kernel, arguments = self._kernel(scene, layers) if layers else (surfaces.draw_surfaces, [])
        launch(kernel, size, [view, *arguments], [color, depth], self.device, block_dim=64)
        synchronize(self.device)
        return color, depth

    def _finish(self, color: Any, background: tuple[float, float, float, float]) -> Voxels:
        """The picture over its background, in 8 bits; done on the device, from which a quarter of the bytes comes."""
        from pellucid.rendering.kernels import picture

        warp = runtime.start()
        red, green, blue, opacity = background
        behind = warp.vec4(red * opacity, green * opacity, blue * opacity, opacity)
        rgba = warp.empty(color.shape, dtype=warp.vec4ub, device=self.device.name)
        launch(picture.to_bytes, color.shape, [color, behind], [rgba], self.device)
        as_bytes: Voxels = rgba.numpy()
        return as_bytes

    def add_shading(self, source: str | Callable[..., Any]) -> UserShading:
        """Compile a user's shading, so that a layer may name it by its hash; if it fails, those before stay.

        source: C++ text, Python text, or a Python function (user_shading).
        """
        shading = UserShading(source) if isinstance(source, str) else UserShading.of(source)
        # The same function may have been written beside other ones than before.
        if shading.hash not in self._shadings or shading.names:
            self._shadings[shading.hash] = (shading, shading.compile(self.device))
        return shading

    def _user_kernel(self, layer: VolumeLayer, packed: Any) -> Any:
        if layer.user_shading not in self._shadings:
            raise InvalidInput(f"There is no shading {layer.user_shading!r} here.", do="Give it to add_shading first.")
        shading, kernel = self._shadings[layer.user_shading]
        values = np.array(shading.values(dict(layer.parameters)) or [0.0], np.float32)
        packed.parameters = runtime.start().array(values, device=self.device.name)
        return kernel

    def _illumination(self, source: str, field: SampledField) -> Illumination:
        if source not in self._illuminations or self._illuminations[source].field is not field:
            self._illuminations[source] = Illumination(field)
        return self._illuminations[source]

    def _kernel(self, scene: Scene, layers: list[Any]) -> tuple[Any, list[Any]]:
        """The kernel that draws a scene, and what it wants besides the view."""
        from pellucid.rendering.kernels import classified, composite, isosurface, projection, rays, several

        warp = runtime.start()
        layer = scene.volumes[0]
        if len(layers) > 1 or layer.labels or (scene.is_seen_through and layer.mode == "composite"):
            return several.composite_many, [warp.array(layers, dtype=rays.Layer, device=self.device.name)]
        if layer.mode == "isosurface":
            return isosurface.isosurface, [layers[0], *self._surfaces(layer)]
        if layer.mode in PROJECTIONS:
            return projection.project, [layers[0], PROJECTIONS[layer.mode]]
        if layer.shading == "user":
            return self._user_kernel(layer, layers[0]), [layers[0]]
        if layer.transfer.edges is not None or layer.transfer.is_preintegrated:
            return classified.composite_classified, [layers[0]]
        return composite.composite, [layers[0]]

    def _surfaces(self, layer: VolumeLayer) -> list[Any]:
        warp = runtime.start()
        surfaces = sorted(layer.isosurfaces, key=lambda surface: surface.value)
        levels = np.array([surface.value for surface in surfaces], np.float32)
        colors = np.array([(*surface.color, surface.opacity) for surface in surfaces], np.float32)
        name = self.device.name
        return [warp.array(levels, device=name), warp.array(colors, dtype=warp.vec4, device=name)]


def _field_name(layer: VolumeLayer | SliceLayer) -> str:
    return labels_of(layer.source) if layer.labels else layer.source
