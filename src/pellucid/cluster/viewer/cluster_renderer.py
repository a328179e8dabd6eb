"""The renderer of a viewer whose volumes are on Device Workers.

Here: ClusterRenderer, which has files read by Workers, images drawn there, and lost blocks read again.
Not here: blocks (images.volume_blocks), images of them (images.frames), the Worker of the viewer (service).
"""

import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pellucid.box import Shape
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.compute.opengl.drawing import GlRequest
from pellucid.cluster.context import ClusterContext, use_context
from pellucid.cluster.credentials import Credentials
from pellucid.cluster.handles import WorkerId
from pellucid.cluster.images.frames import GRADIENT_HALO, BlockImage, ImagePlan, gather
from pellucid.cluster.images.light import draw_blocks
from pellucid.cluster.images.shader_images import draw_block_gl
from pellucid.cluster.images.volume_blocks import VolumeBlocks
from pellucid.cluster.links import WorkerLinks
from pellucid.cluster.operations import ComputeBlock
from pellucid.cluster.viewer.cluster_file import ClusterFile
from pellucid.cluster.viewer.gl_shading import gl_fragment, gl_uniforms, is_glsl, shading_error
from pellucid.cluster.viewer.job_blocks import JobBlocks
from pellucid.device import runtime
from pellucid.errors import BlockLost, Cancelled, InvalidInput, TokenRejected
from pellucid.fields.bricks.visibility import VisibleBricks
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.rendering.drawing.draw_pass import DeviceFrame, DrawOptions, DrawRegion, Stopwatch
from pellucid.rendering.drawing.light_parts import light_halo
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.user_shading import UserShading
from pellucid.volume.open_files import OpenFiles
from pellucid.volume.series import at_step, time_steps

ATTEMPTS = 4
SceneBlocks = VolumeBlocks | JobBlocks
MAX_VOLUMES = 8
"""How many volumes and time steps stay on the Workers."""


@dataclass(frozen=True)
class RemoteField:
    """What is known here of a volume that others have."""

    shape: Shape


class ClusterRenderer(Renderer):
    """Draws scenes of volumes in files; what it cannot draw is refused, and a Renderer of this process can draw it."""

    def __init__(self, cluster: ClusterFile, files: OpenFiles) -> None:
        super().__init__(files=files)
        self._file, self._files = cluster, files
        record = cluster.read()
        credentials = Credentials.parse(record.credentials)
        self.links = WorkerLinks(credentials.token, 0, prefers_local=record.prefers_local)
        self.workers: tuple[WorkerId, ...] = record.workers
        self.volumes: OrderedDict[str, SceneBlocks] = OrderedDict()
        self._steps: dict[str, int] = {}
        self._shadings: dict[str, str] = {}
        self._context = ClusterContext(self.links, self._no_worker)

    def can_draw(self, scene: Scene) -> bool:
        scene = scene.visible
        if not scene.volumes or any(Location.parse(layer.source).is_memory for layer in scene.volumes):
            return False
        if any(layer.labels is not None or layer.edit for layer in scene.volumes):
            return False
        try:
            ImagePlan(scene, 1, 1, (1, 1, 1))
        except InvalidInput:
            return False
        return True

    def remember_shading(self, hash: str, source: str) -> None:
        """Every Worker compiles it with the first image that needs it."""
        self._shadings[hash] = source

    def load(self, scene: Scene) -> list[list[Any]]:
        with use_context(self._context):
            return [[RemoteField(blocks.volume.shape) for blocks in self._volumes(scene)]]

    def images(self, scene: Scene, canvas: DrawRegion, timeout: DrawOptions) -> Iterator[DeviceFrame]:
        watch = Stopwatch()
        with use_context(self._context):
            for attempt in range(ATTEMPTS):
                try:
                    volumes = self._volumes(scene)
                    blocks = [one.blocks(self.workers, timeout.is_cancelled) for one in volumes]
                    watch.lap("load")
                    plan = self._plan(scene, volumes[0], canvas)
                    watch.lap("prepare")
                    starts = [box.start for box in volumes[0].boxes]
                    placed = [(list(each), at) for *each, at in zip(*blocks, starts, strict=True)]
                    pixels, _ = gather(self._draw(placed, plan), plan)
                    break
                except BlockLost:
                    if attempt == ATTEMPTS - 1:
                        raise
                    watch.skip()
                    self._recover()
        watch.lap("draw")
        if timeout.is_cancelled():
            raise Cancelled("Rendering an image")
        yield self._device_frame(pixels, volumes, watch)

    def close(self) -> None:
        super().close()
        self.links.close()

    def check_shader(self, shading: UserShading) -> None:
        """ShadingInvalid where a Worker cannot compile a shader."""
        request = GlRequest(gl_fragment(shading))
        check = ComputeBlock("check_gl", json.dumps(asdict(request)), is_value=True, label="the shader")
        try:
            self.links.run(self.workers[0], (check,))
        except InvalidInput as error:
            raise shading_error(error) from error

    def _draw(self, placed: list[tuple[list[DeviceBlock], Shape]], plan: ImagePlan) -> list[BlockImage]:
        """placed: blocks of each volume, and where they begin."""
        layer, *others = plan.scene.volumes
        source = self._shadings.get(layer.user_shading, "") if layer.shading == "user" else ""
        if not is_glsl(source) or others:
            return draw_blocks(placed, plan)
        shading = UserShading(source)
        fragment, uniforms = gl_fragment(shading), gl_uniforms(shading, layer)
        return [draw_block_gl(one, at, plan, fragment=fragment, uniforms=uniforms) for (one,), at in placed]

    def _volumes(self, scene: Scene) -> list[SceneBlocks]:
        """Those of the scene's layers, at its time."""
        return [self._volume(layer, scene.time) for layer in scene.volumes]

    def _volume(self, layer: VolumeLayer, time: float) -> SceneBlocks:
        source = layer.source
        if source not in self._steps:
            self._steps[source] = time_steps(source, self._files.open_series)
        location = at_step(source, self._steps[source], time)
        found = self.volumes.pop(str(location), None)
        if isinstance(found, VolumeBlocks) and found.halo < light_halo(layer.shading, found.volume.shape):
            found.release()  # They are read again, with what their light needs.
            found = None
        if found is None:
            self._make_room()
            volume = self._files.open_volume(str(location))
            halo = max(GRADIENT_HALO, light_halo(layer.shading, volume.shape))
            found = JobBlocks(volume) if JobBlocks.has(source) else VolumeBlocks(volume, self.workers, halo)
        self.volumes[str(location)] = found
        return found

    def _make_room(self) -> None:
        while len(self.volumes) >= MAX_VOLUMES:
            self.volumes.popitem(last=False)[1].release()

    def _plan(self, scene: Scene, blocks: SceneBlocks, canvas: DrawRegion) -> ImagePlan:
        height, width = canvas.size
        used = [layer.user_shading for layer in scene.volumes if layer.shading == "user"]
        shadings = tuple(self._shadings[name] for name in used if name in self._shadings)
        return ImagePlan(scene, width, height, blocks.volume.shape, blocks.volume.spacing, canvas.aim, shadings)

    def _recover(self) -> None:
        """Go on with the Workers that are there; those that replaced others are in the file."""
        known = (*self._file.read().workers, *self.workers)
        self.workers = tuple(worker for worker in dict.fromkeys(known) if self._responds(worker))
        if not self.workers:
            raise InvalidInput("All Device Workers have ended.", remedy="Start the program with the Workers again.")
        for blocks in self.volumes.values():
            blocks.forget_lost()

    def _responds(self, worker: WorkerId) -> bool:
        try:
            self.links.usage(worker)
        except (BlockLost, TokenRejected):
            return False
        return True

    def _device_frame(self, pixels: Voxels, volumes: list[SceneBlocks], watch: Stopwatch) -> DeviceFrame:
        warp = runtime.start()
        name = self.device.name
        color = warp.array(np.ascontiguousarray(pixels[..., :4]), dtype=warp.vec4, device=name)
        depth = warp.array(np.ascontiguousarray(pixels[..., 4]), dtype=warp.float32, device=name)
        watch.lap("prepare")
        seen = tuple(_seen(one) for one in volumes)
        return DeviceFrame(self.device, color, depth, seen, dict(watch.times_s))

    def _no_worker(self) -> WorkerId:
        return self.workers[0]


def _seen(blocks: SceneBlocks) -> VisibleBricks:
    """All of the volume, in one piece."""
    one = np.ones(1)
    is_full = np.array([blocks.is_full_resolution])
    return VisibleBricks(blocks.volume.shape, np.zeros((1, 3), int), one, is_full)
