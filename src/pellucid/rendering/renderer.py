"""From a Scene to Frames, on one device or on several.

Here: Renderer, which keeps what it has loaded; render and render_progressive for one scene.
Not here: the mathematics (reference, kernels), one device (device_renderer), when which image is drawn (refinement).
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.device import Device, LaunchRange, choose, devices, never_cancelled
from pellucid.device.pinned_memory import to_host
from pellucid.errors import Cancelled, InvalidInput
from pellucid.fields.dense import dense_bytes
from pellucid.fields.device_field import DeviceField
from pellucid.fields.store import SHARE_OF_CARD
from pellucid.formats.protocol import Voxels
from pellucid.rendering.cinematic.packing import is_cinematic
from pellucid.rendering.cinematic.path_pass import PathPass
from pellucid.rendering.cinematic.refinement import more_paths
from pellucid.rendering.drawing import refinement
from pellucid.rendering.drawing.device_renderer import DeviceRenderer
from pellucid.rendering.drawing.draw_pass import DeviceFrame, DrawOptions, DrawPass, DrawRegion, Stopwatch
from pellucid.rendering.drawing.multi_device import MultiDevicePass, check_multi_device, merged
from pellucid.rendering.drawing.packing import world_to_voxel
from pellucid.rendering.drawing.partition import parts
from pellucid.rendering.drawing.postprocess import to_frame
from pellucid.rendering.frame import Frame
from pellucid.rendering.layers.slice_images import wanted_level
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.slice_image import SliceImage
from pellucid.rendering.user_shading import UserShading
from pellucid.rendering.validation import check
from pellucid.volume.open_files import OpenFiles
from pellucid.volume.series import open_at
from pellucid.volume.volume import Volume

MAX_ROUNDS = 64
ROUNDS_WITHOUT_ROOM = 4
"""How often an image is drawn again with more bricks: what comes in hides other bricks, and shows some behind them."""


def render(scene: Scene, width: int = 1024, height: int = 1024, device: str | None = None) -> Frame:
    """Draw one image of a scene. For several images of the same volumes use a Renderer: it keeps them loaded."""
    with renderer_for(scene, device) as renderer:
        return renderer.render(scene, width, height)


def render_progressive(
    scene: Scene, width: int = 1024, height: int = 1024, device: str | None = None, *, budget_ms: float = 100.0
) -> Generator[Frame, None, None]:
    """Yield better and better images of a scene: see Renderer.render_progressive."""
    with renderer_for(scene, device) as renderer:
        yield from renderer.render_progressive(scene, width, height, budget_ms=budget_ms)


class Renderer:
    """Draws scenes, and keeps their volumes in the memory of a device; in bricks if they exceed budget_bytes.

    devices: several devices that share the bricks of each volume; budget_bytes is then for each. files: opens files, if
    other parts of the process read the same ones.
    """

    def __init__(
        self,
        device: Device | None = None,
        budget_bytes: int | None = None,
        *,
        devices: Sequence[Device] = (),
        files: OpenFiles | None = None,
    ) -> None:
        self.devices = tuple(devices) or (device or choose(),)
        self.device = self.devices[0]
        is_sharing = len(self.devices) > 1
        files = files or OpenFiles()
        self._painters = [DeviceRenderer(one, budget_bytes, is_sharing=is_sharing, files=files) for one in self.devices]
        self._pace = refinement.FrameCostModel()

    def render(
        self,
        scene: Scene,
        width: int,
        height: int,
        *,
        is_exact: bool = True,
        is_cancelled: Callable[[], bool] = never_cancelled,
        samples: int = 1,
    ) -> Frame:
        """Draw an image. is_exact=False: from what is loaded now, while the rest is read in the background; of a
        cinematic scene with so many paths for each pixel (samples) instead of all.
        is_cancelled: called often, from any thread; once it returns true, Cancelled is raised."""
        check(scene, width, height)
        scene = scene.visible
        canvas = DrawRegion((height, width), samples=1 if is_exact else samples)
        for image in self.images(scene, canvas, DrawOptions(is_exact, is_cancelled)):
            drawn = image
        if is_exact and drawn.total is not None:
            *_, drawn = [drawn, *more_paths(self, scene, drawn, is_cancelled)]
        return to_frame(scene, drawn, (height, width))

    def render_progressive(
        self,
        scene: Scene,
        width: int,
        height: int,
        *,
        budget_ms: float = 100.0,
        is_cancelled: Callable[[], bool] = never_cancelled,
    ) -> Generator[Frame, None, None]:
        """Yield images of one size: the first within the budget, at a resolution that fits it; the exact one; then
        smoother ones, as long as they improve. It ends when is_cancelled() returns true (called often, from any
        thread), or when the iterator is closed."""
        check(scene, width, height)
        request = refinement.RefineRequest(scene.visible, (height, width), budget_ms / 1000, is_cancelled)
        return refinement.refine(self, self._pace, request)

    def images(self, scene: Scene, canvas: DrawRegion, timeout: DrawOptions) -> Iterator[DeviceFrame]:
        """Draw, load what was seen too coarsely and draw again, until nothing is missing or there is no room for it."""
        watch, rounds = Stopwatch(), 0
        fields = self.load(scene)
        each = list({id(field): field for on_one in fields for field in on_one}.values())
        watch.lap("load")
        while rounds < MAX_ROUNDS:
            for field in each:
                field.prepare_frame()
            drawing = self._begin(scene, fields, canvas)
            watch.lap("prepare")
            drawn_at = time.perf_counter()
            drawing.draw(LaunchRange(canvas.size, 0, timeout.is_cancelled))
            _go_on(timeout)
            watch.lap("draw")
            seen = tuple(merged([field.visible() for field in devices]) for devices in zip(*fields, strict=True))
            pixels = drawing.device, drawing.color, drawing.depth
            total = drawing.total if isinstance(drawing, PathPass) else None
            yield DeviceFrame(*pixels, seen, dict(watch.times_s), drawing.is_along_rays, total)
            # Loading gets as long as drawing took, or most of the time would go into images that show little more.
            round_s = max(timeout.round_s, time.perf_counter() - drawn_at)
            watch.skip()
            is_better, is_complete = _improve(each, replace(timeout, round_s=round_s))
            watch.lap("read")
            rounds += is_complete
            has_room = all(field.has_room for field in each)
            if not is_better or (is_complete and rounds >= ROUNDS_WITHOUT_ROOM and not has_room):
                break

    def draw_slice(
        self,
        layers: Sequence[VolumeLayer],
        image: SliceImage,
        time: float = 0.0,
        *,
        is_exact: bool = True,
        is_cancelled: Callable[[], bool] = never_cancelled,
    ) -> tuple[Voxels, bool]:
        """(height, width, 4) of a slice through volumes, the last layer on top; whether it is at full resolution.

        is_exact=False: from what is loaded now, while the rest is read in the background.
        """
        painter = self._painters[0]
        fields = painter.load_layers(layers, time)
        finest = [wanted_level(layer, field, image) for layer, field in zip(layers, fields, strict=True)]
        for _ in range(ROUNDS_WITHOUT_ROOM):
            for field in fields:
                field.prepare_frame()
            pixels = painter.draw_slice(layers, fields, image)
            missing = [
                field.load_missing(wait=is_exact, should_stop=is_cancelled, finest=level)
                for field, level in zip(fields, finest, strict=True)
            ]
            if is_cancelled():
                raise Cancelled("Drawing a slice")
            if not any(missing) or not is_exact:
                break
        (rgba,) = to_host([pixels], self.device)
        return rgba.view(np.uint8).reshape(image.height, image.width, 4), not any(missing)

    def load(self, scene: Scene) -> list[list[DeviceField]]:
        """Load the volumes of a scene to every device, then those that its slices cut."""
        if len(self._painters) > 1:
            check_multi_device(scene)
        return [painter.load(scene) for painter in self._painters]

    def close(self) -> None:
        """Release the memory of all volumes, and close the files that were opened for them."""
        for painter in self._painters:
            painter.close()

    def __enter__(self) -> "Renderer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, volume: Volume) -> None:
        """Draw this volume where a scene names it: one without a file, or one that announces changes."""
        for painter in self._painters:
            painter.add(volume)

    def load_volume(self, source: str) -> None:
        """Load a volume that was added to every device, before a scene names it."""
        for painter in self._painters:
            painter.load_volume(source)

    def value_range(self, source: str) -> tuple[float, float] | None:
        """The smallest and largest value of a loaded volume; None if they are not known yet."""
        return self._painters[0].value_range(source)

    def forget(self, source: str) -> None:
        """Remove a volume that was added, and release its memory; a file is loaded again when it is needed."""
        for painter in self._painters:
            painter.forget(source)

    def add_field(self, source: str, field: DeviceField) -> None:
        """Draw this field where a scene names it; it is on one device."""
        if len(self._painters) > 1:
            remedy = "Use add() with the volume, of which every device loads a part."
            raise InvalidInput("add_field() does not support several devices.", remedy=remedy)
        self._painters[0].add_field(source, field)

    def add_shading(self, source: str | Callable[..., Any]) -> UserShading:
        """Compile a custom shading, so that a layer can use it by its hash; if it fails, earlier ones stay."""
        shading, *_ = [painter.add_shading(source) for painter in self._painters]
        return shading

    def _begin(
        self, scene: Scene, fields: list[list[DeviceField]], canvas: DrawRegion
    ) -> DrawPass | MultiDevicePass | PathPass:
        if is_cinematic(scene):
            return self._painters[0].start_paths(scene, fields[0], canvas)
        if len(self._painters) == 1 or not scene.volumes:
            return self._painters[0].start_pass(scene, fields[0], canvas)
        volumes = zip(scene.volumes, fields[0], strict=False)
        layer, largest = max(volumes, key=lambda one: one[1].shape[0] * one[1].shape[1] * one[1].shape[2])
        shared = parts(largest.shape, world_to_voxel(layer, largest), scene.camera, len(self._painters))
        return MultiDevicePass(
            [
                self._painters[number].start_pass(scene, fields[number], DrawRegion(canvas.size, canvas.aim, part))
                for number, part in shared
            ]
        )


def _improve(fields: Sequence[DeviceField], timeout: DrawOptions) -> tuple[bool, bool]:
    """Load what was seen too coarsely. Whether another image would show more; whether loading was not cut short."""
    end_s = time.perf_counter() + timeout.round_s

    def should_stop() -> bool:
        return timeout.is_cancelled() or time.perf_counter() > end_s

    is_better = [field.load_missing(wait=timeout.is_exact, should_stop=should_stop) for field in fields]
    _go_on(timeout)
    return timeout.is_exact and any(is_better), not should_stop()


def _go_on(timeout: DrawOptions) -> None:
    if timeout.is_cancelled():
        raise Cancelled("Rendering an image")


def renderer_for(scene: Scene, device: str | None = None) -> Renderer:
    """A renderer on one device; on all CUDA devices where that is one of them and a volume does not fit it."""
    chosen = choose(device)
    cards = [one for one in devices() if one.is_cuda] if chosen.is_cuda and device in (None, "auto", "cuda") else []
    if len(cards) > 1 and not _fits(scene, chosen):
        return Renderer(devices=cards)
    return Renderer(chosen)


def _fits(scene: Scene, device: Device) -> bool:
    needs = 0
    for layer in scene.visible.volumes:
        with open_at(layer.source, scene.time) as volume:
            needs += dense_bytes(volume)
    return needs <= SHARE_OF_CARD * device.free_bytes()
