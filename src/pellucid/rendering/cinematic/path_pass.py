"""Following paths of light through a scene on one device.

Here: PathSums, what all paths so far brought; PathPass, which follows more of them and makes an image.
Not here: when how many are followed (refinement), the kernels (kernels.path_tracing).
"""

from dataclasses import dataclass
from typing import Any

from pellucid.device import Device, LaunchRange, launch, prepare_all, runtime
from pellucid.fields.device_field import DeviceField
from pellucid.rendering.cinematic.packing import pack_environment, pack_options
from pellucid.rendering.drawing.packing import Size, pack_view
from pellucid.rendering.drawing.ray_launch import THREADS, launch_rays
from pellucid.rendering.layers.opaque import OpaqueLayers, struct_array
from pellucid.rendering.scene import Scene

STEPS = (1, 2, 4, 8)
"""Pixels between those that the filter compares."""
CUDA_BATCH = 16
"""Paths of every pixel at a time: on a card, a batch that has begun cannot be abandoned."""
FEW, MANY = 64, 256
"""Paths: with more than these the filter takes less for noise, and looks less far."""
LIGHT, NORMAL, COLOR, DEPTH = 3.0, 0.6, 0.3, 100.0
"""How different they may be, as in FilterOptions: of what was tried, nearest to images of bonsai with all paths."""


@dataclass
class PathTotal:
    """What all paths of an image brought so far. samples: paths of every pixel."""

    size: Size
    sums: Any
    samples: int = 0

    @classmethod
    def empty(cls, size: Size, device: Device) -> "PathTotal":
        from pellucid.rendering.kernels import path_tracing

        warp, sums = runtime.start(), path_tracing.PathSums()
        sums.light = warp.zeros(size, dtype=warp.vec4, device=device.name)
        sums.squares = warp.zeros(size, dtype=warp.float32, device=device.name)
        sums.guides = warp.zeros(size, dtype=warp.vec4, device=device.name)
        sums.normals = warp.zeros(size, dtype=warp.vec3, device=device.name)
        return cls(size, sums)


@dataclass(frozen=True)
class TracedContent:
    """What light meets. media: volumes as pack_medium gives them; scenery: other layers, loaded; slices: the fields
    that slices cut; alone: the only medium as pack_textured gives it, where it may be and nothing else is lit."""

    media: list[Any]
    scenery: OpaqueLayers
    slices: list[DeviceField]
    alone: Any = None


class PathPass:
    """Some more paths of a scene. samples: for every pixel."""

    is_along_rays = False

    def __init__(self, device: Device, scene: Scene, content: TracedContent, total: PathTotal, samples: int) -> None:
        from pellucid.rendering.kernels import path_tracing
        from pellucid.rendering.kernels.path_tracing import textured_paths

        warp = runtime.start()
        self.device, self.total = device, total
        self._scene, self._content, self._samples = scene, content, samples
        self._view = pack_view(scene, total.size, scene.step, device, is_bare=not scene.slices)
        self._options = pack_options(scene, total.samples, samples)
        traced = self._traced = self._pack_scene(content)
        traced.planes = self._view.planes
        traced.sky = pack_environment(scene.cinematic.environment, device.name)
        self._kernel = path_tracing.trace if content.alone is None else textured_paths.trace_textured
        prepare_all({self._kernel: THREADS if device.is_cuda else None}, device)
        self.color = warp.empty(total.size, dtype=warp.vec4, device=device.name)
        self.depth = warp.empty(total.size, dtype=warp.float32, device=device.name)

    def _pack_scene(self, content: TracedContent) -> Any:
        from pellucid.rendering.kernels.path_tracing import media, scenes

        if content.alone is not None:
            alone = scenes.TexturedScene()
            alone.only = content.alone
            return alone
        several = scenes.TracedScene()
        several.media = struct_array(content.media, media.MediumStruct, self.device)
        several.meshes, several.clouds = content.scenery.traced(self._scene)
        return several

    def draw(self, rows: LaunchRange) -> None:
        """Follow paths of all pixels, and make the image."""
        self._content.scenery.draw_slices(self._scene, self._content.slices, self._view, rows)
        # A path costs what hundreds of samples do, so that it is asked often whether it is still wanted.
        heavy = LaunchRange(rows.shape, rows.start, rows.is_cancelled, heft=8 * self._samples)
        together = CUDA_BATCH if self.device.is_cuda else self._samples
        for first in range(0, self._samples, together):
            self._options.first_sample = self.total.samples + first
            self._options.samples = min(together, self._samples - first)
            launch_rays(self._kernel, heavy, [self._view, self._traced, self._options], [self.total.sums], self.device)
        if rows.is_cancelled():
            return
        self.total.samples += self._samples
        self._finish()

    def _finish(self) -> None:
        from pellucid.rendering.kernels import path_tracing
        from pellucid.rendering.kernels.path_tracing import denoising

        warp, size, name = runtime.start(), self.total.size, self.device.name
        sums, cinematic = self.total.sums, self._scene.cinematic
        light, light_after = (warp.empty(size, dtype=warp.vec4, device=name) for _ in range(2))
        noise, noise_after = (warp.empty(size, dtype=warp.float32, device=name) for _ in range(2))
        guides = warp.empty(size, dtype=warp.vec4, device=name)
        normals = warp.empty(size, dtype=warp.vec3, device=name)
        inputs = [sums.light, sums.squares, sums.guides, sums.normals, float(self.total.samples)]
        launch(path_tracing.begin_filter, size, inputs, [light, noise, guides, normals], self.device)
        if cinematic.is_denoised:
            options = denoising.FilterOptions()
            options.samples = float(self.total.samples)
            options.pixel = self._scene.camera.visible_height / size[0]
            options.light = LIGHT * min(1.0, (FEW / self.total.samples) ** 0.5)
            options.normal, options.color, options.depth = NORMAL, COLOR, DEPTH
            for step in STEPS if self.total.samples < MANY else STEPS[:2]:
                inputs = [step, options, guides, normals, light, noise]
                launch(path_tracing.filter_once, size, inputs, [light_after, noise_after], self.device)
                light, light_after = light_after, light
                noise, noise_after = noise_after, noise
        launch(
            path_tracing.finish_filter, size, [cinematic.exposure, light, guides], [self.color, self.depth], self.device
        )
