"""Rendering on one device, and what is in its memory.

Here: DeviceRenderer: loading what a scene names, and preparing a scene for drawing: views, layers, and which kernel.
Not here: drawing it (drawing), several devices (multi_device), when an image is good enough (renderer).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.device import Device, prepare_all, runtime
from pellucid.errors import InvalidInput
from pellucid.fields.device_field import DeviceField
from pellucid.fields.neural.neural_bricks import NeuralBrickField
from pellucid.fields.sizes import TEXTURED
from pellucid.fields.store import FieldKey, FieldStore
from pellucid.rendering.cinematic.packing import is_textured
from pellucid.rendering.cinematic.path_pass import PathPass, PathTotal, TracedContent
from pellucid.rendering.drawing.draw_pass import DrawPass, DrawRegion
from pellucid.rendering.drawing.label_masks import has_mask, is_mask, with_masked_light
from pellucid.rendering.drawing.layer_cache import PackedLayerCache
from pellucid.rendering.drawing.light_rays import THROUGH
from pellucid.rendering.drawing.packing import pack_view, world_step
from pellucid.rendering.drawing.partition import WHOLE, pack_part
from pellucid.rendering.layers import slice_images
from pellucid.rendering.layers.opaque import OpaqueLayers
from pellucid.rendering.scene import Scene, SliceLayer, VolumeLayer
from pellucid.rendering.slice_image import SliceImage
from pellucid.rendering.user_shading import UserShading
from pellucid.volume.open_files import OpenFiles
from pellucid.volume.volume import Volume

PROJECTIONS = {"max": 0, "min": 1, "mean": 2}


class DeviceRenderer:
    """Draws on one device, and keeps volumes there. is_sharing: only parts of them, because others draw the rest."""

    def __init__(
        self,
        device: Device,
        budget_bytes: int | None = None,
        *,
        is_sharing: bool = False,
        files: OpenFiles | None = None,
    ) -> None:
        self.device = device
        self._store = FieldStore(device, budget_bytes, in_bricks=is_sharing, files=files)
        self._shadings: dict[str, tuple[UserShading, Any]] = {}
        self._scenery = OpaqueLayers(device)
        self._kept = PackedLayerCache()
        self._time: float | None = None

    def load(self, scene: Scene) -> list[DeviceField]:
        """Bring what a scene names to the device: the fields of its volumes, then those that its slices cut."""
        self._scenery.load(scene)
        fields = self._store.get(self._keys(scene, scene.time))
        if self._time not in (None, scene.time):  # Time goes on: the next step is likely the one in the same direction.
            self._store.read_ahead(self._keys(scene, scene.time + (1.0 if scene.time > self._time else -1.0)))
        self._time = scene.time
        return fields

    def _keys(self, scene: Scene, time: float) -> list[FieldKey]:
        """The fields of a scene at a time: those of its volumes, then those that its slices cut."""
        layers: list[VolumeLayer | SliceLayer] = [*scene.volumes, *scene.slices]
        return [
            FieldKey(self._store.name_at(layer.source, time), is_labels=layer.labels is not None) for layer in layers
        ]

    def load_layers(self, layers: Sequence[VolumeLayer], time: float) -> list[DeviceField]:
        """Bring volumes to the device at a time, whatever else a scene has."""
        keys = [FieldKey(self._store.name_at(one.source, time), is_labels=one.labels is not None) for one in layers]
        return self._store.get(keys)

    def draw_slice(self, layers: Sequence[VolumeLayer], fields: Sequence[DeviceField], image: SliceImage) -> Any:
        """Layers of a slice one over the other, as bytes on the device. fields: what load_layers gave."""
        pixels = slice_images.empty_image(image, self.device)
        for number, (layer, field) in enumerate(zip(layers, fields, strict=True)):
            cut = SliceLayer(layer.source, (0.0, 0.0, 0.0), transfer=layer.transfer, labels=layer.labels)
            packed = self._kept.slice(replace(cut, transform=layer.transform), field)
            slice_images.draw_slice_image(layer, packed, field, image, pixels, is_over=number > 0)
        return pixels

    def start_pass(self, scene: Scene, fields: list[DeviceField], canvas: DrawRegion) -> DrawPass:
        """An image of which nothing is drawn yet. fields: what load() gave."""
        from pellucid.rendering.kernels import pixels, surfaces

        scene, warp, size = with_masked_light(scene), runtime.start(), canvas.size
        volumes, slices = fields[: len(scene.volumes)], fields[len(scene.volumes) :]
        step = world_step(scene, volumes) if volumes else scene.step
        is_bare = not (scene.points or scene.meshes or scene.slices)
        backdrop = view = pack_view(scene, size, step, self.device, canvas.aim, is_bare=is_bare)
        if canvas.part is not WHOLE:
            view = pack_view(scene, size, step, self.device, canvas.aim)
            view.scenery, view.scenery_depth = backdrop.scenery, backdrop.scenery_depth
            pack_part(view, canvas.part, size, self.device)
        layers = [
            self._kept.layer(scene, layer, field, step) for layer, field in zip(scene.volumes, volumes, strict=True)
        ]
        for packed, light in zip(layers, canvas.lights, strict=False):
            if light is not None:
                light.pack(packed)
        kernel, arguments = (
            self._kernel(scene, layers, volumes, bool(canvas.lights)) if layers else (surfaces.draw_surfaces, [])
        )
        prepare_all(
            {kernel: 64 if self.device.is_cuda else None, pixels.kernel_for(self.device.is_cuda): None}, self.device
        )
        color = warp.empty(size, dtype=warp.vec4, device=self.device.name)
        depth = warp.empty(size, dtype=warp.float32, device=self.device.name)
        drawn = [kernel, arguments, color, depth]
        return DrawPass(self.device, scene, self._scenery, slices, backdrop, view, *drawn)

    def start_paths(self, scene: Scene, fields: list[DeviceField], canvas: DrawRegion) -> PathPass:
        """More paths of light through a scene. fields: what load() gave."""
        volumes, slices = fields[: len(scene.volumes)], fields[len(scene.volumes) :]
        if volumes:
            world_step(scene, volumes)  # Refuses voxels so thin that a path in float32 would not get on.
        traced = [(layer, field) for layer, field in zip(scene.volumes, volumes, strict=True) if not is_mask(layer)]
        media = [self._kept.medium(layer, field) for layer, field in traced]
        total = canvas.total or PathTotal.empty(canvas.size, self.device)
        is_alone = len(media) == 1 and is_textured(media[0]) and not (scene.points or scene.meshes)
        alone = self._kept.textured(media[0], traced[0][1]) if is_alone else None
        content = TracedContent(media, self._scenery, slices, alone)
        return PathPass(self.device, scene, content, total, canvas.samples)

    def close(self) -> None:
        """Give the memory of all volumes back."""
        self._store.close()

    def add(self, volume: Volume) -> None:
        """Draw this volume where a scene names it."""
        self._store.add(volume)

    def load_volume(self, source: str) -> None:
        """Bring a volume that was added to the device."""
        self._store.get([FieldKey(source)])

    def value_range(self, source: str) -> tuple[float, float] | None:
        """Of a volume that is on the device, as far as its cells know."""
        field = self._store.loaded(FieldKey(source))
        if field is None:
            return None
        field.prepare_frame()
        return field.value_range()

    def forget(self, source: str) -> None:
        """Give up a volume that was added; a file is loaded again when it is wanted."""
        self._store.forget(source)
        self._scenery.forget(source)

    def add_field(self, source: str, field: DeviceField) -> None:
        """Draw this field where a scene names it."""
        self._store.put(source, field)

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
            raise InvalidInput(f"Unknown shading {layer.user_shading!r}.", remedy="Pass it to add_shading first.")
        shading, kernel = self._shadings[layer.user_shading]
        values = np.array(shading.values(dict(layer.parameters)) or [0.0], np.float32)
        packed.parameters = runtime.start().array(values, device=self.device.name)
        return kernel

    def _kernel(
        self, scene: Scene, layers: list[Any], fields: list[DeviceField], is_part: bool
    ) -> tuple[Any, list[Any]]:
        """The kernel that draws a scene, and its arguments besides the view. is_part: whether light comes through parts
        that others have."""
        from pellucid.rendering.kernels import isosurface, multi_volume, overlay, projection, rays

        warp = runtime.start()
        layer, last = scene.volumes[0], scene.volumes[-1]
        is_together = len(layers) > 1 or layer.labels or (scene.has_translucent_surfaces and layer.mode == "composite")
        if is_together and _is_overlay(scene):
            return overlay.composite_overlay, [layers[0], layers[-1], int(not layer.labels), int(bool(last.labels))]
        if is_together:
            together = warp.array(layers, dtype=rays.LayerStruct, device=self.device.name)
            # It holds addresses only: without this, what they point to is gone before it is read.
            together.layers = layers
            return multi_volume.composite_many, [together]
        if layer.mode == "isosurface":
            return isosurface.isosurface, [layers[0], *self._surfaces(layer)]
        if layer.mode in PROJECTIONS:
            return projection.project, [layers[0], PROJECTIONS[layer.mode]]
        return self._composite(layer, layers[0], fields[0], is_part)

    def _composite(self, layer: VolumeLayer, packed: Any, field: DeviceField, is_part: bool) -> tuple[Any, list[Any]]:
        """The same for one volume of which nothing but samples are gathered."""
        from pellucid.rendering.kernels import classification, composite, composite_neural, composite_texture, packets
        from pellucid.rendering.kernels.textured import composite as textured_composite

        if layer.shading == "user":
            return self._user_kernel(layer, packed), [packed]
        if layer.transfer.edges is not None or layer.transfer.is_preintegrated:
            return classification.composite_classified, [packed]
        if isinstance(field, NeuralBrickField) and field.is_drawn_directly and layer.shading in ("none", "gradient"):
            return composite_neural.composite_neural, [packed, field.model_along_rays.struct]
        if packed.field.whole.kind >= TEXTURED and not is_part:
            kernels = {"none": composite_texture.composite_unlit, "gradient": composite_texture.composite_lit}
            kernel = kernels.get(layer.shading, composite_texture.composite_lit_through)
            if layer.shading in THROUGH and not packed.field.levels:
                kernel = textured_composite.composite_lit_through_whole
            return kernel, [packed, self._kept.solid_distance(packed, field)]
        if packets.is_for(packed, self.device) and not is_part:
            return packets.composite_bricks if packed.field.levels else packets.composite_whole, [packed]
        return composite.composite, [packed]

    def _surfaces(self, layer: VolumeLayer) -> list[Any]:
        warp = runtime.start()
        surfaces = sorted(layer.isosurfaces, key=lambda surface: surface.value)
        levels = np.array([surface.value for surface in surfaces], np.float32)
        colors = np.array([(*surface.color, surface.opacity) for surface in surfaces], np.float32)
        name = self.device.name
        return [warp.array(levels, device=name), warp.array(colors, dtype=warp.vec4, device=name)]


def _is_overlay(scene: Scene) -> bool:
    """Whether there is one volume, or labels over values, without more than a row of a table for each sample."""
    kinds = [layer.labels is not None for layer in scene.volumes]
    if has_mask(scene):
        return False
    rows = [layer.transfer.edges is None and not layer.transfer.is_preintegrated for layer in scene.volumes]
    return kinds in ([False], [True], [False, True]) and all(rows)
