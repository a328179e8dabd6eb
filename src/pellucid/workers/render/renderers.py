"""The renderer of a Worker: on one device, or on several that share every volume.

Here: RendererGroup, which knows what can be shared and gives everyone the same volumes and shadings.
Not here: drawing (rendering), when what is drawn (render_thread, refinement).

Rays are handed from one device to the next, through memory that one process has: so several devices have one Worker.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

from pellucid.device import Device, never_cancelled
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.drawing.multi_device import check_multi_device
from pellucid.rendering.frame import Frame
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.slice_image import SliceImage
from pellucid.rendering.user_shading import UserShading
from pellucid.volume.open_files import OpenFiles
from pellucid.volume.volume import Volume
from pellucid.workers.render.first_image import FirstImageRenderer


class RendererGroup:
    """devices: of which the first draws alone what cannot be shared (shadows, surfaces that are seen through).

    files: what opens files for all of them.
    """

    def __init__(self, devices: Sequence[Device], files: OpenFiles | None = None) -> None:
        self.devices = tuple(devices)
        self._files = files or OpenFiles()
        self._alone = Renderer(self.devices[0], files=self._files)

    @cached_property
    def _shared(self) -> Renderer:
        return Renderer(devices=self.devices, files=self._files) if len(self.devices) > 1 else self._alone

    @property
    def names(self) -> str:
        """Of the devices, as they are shown."""
        return ", ".join(device.name for device in self.devices)

    def of(self, scene: Scene) -> Renderer:
        """Which of them draws a scene."""
        try:
            check_multi_device(scene.visible)
        except InvalidInput:
            return self._alone
        return self._shared

    def draw_first(
        self, scene: Scene, width: int, height: int, is_cancelled: Callable[[], bool] = never_cancelled
    ) -> Frame | None:
        """An image of a large file that is still to be read, from some of its voxels; None where there is none."""
        return FirstImageRenderer(self.devices[0], self._files).render(scene, width, height, is_cancelled)

    def draw_slice(
        self,
        layers: Sequence[VolumeLayer],
        image: SliceImage,
        time: float,
        *,
        is_exact: bool,
        is_cancelled: Callable[[], bool],
    ) -> tuple[Voxels, bool]:
        """As Renderer.draw_slice."""
        return self._shared.draw_slice(layers, image, time, is_exact=is_exact, is_cancelled=is_cancelled)

    def add(self, volume: Volume) -> None:
        for renderer in self._each():
            renderer.add(volume)

    def load(self, source: str) -> None:
        """Bring a volume that was added to the devices, before an image of it is asked for."""
        self._shared.load_volume(source)

    def value_range(self, source: str) -> tuple[float, float] | None:
        """As Renderer.value_range."""
        return self._shared.value_range(source)

    def forget(self, source: str) -> None:
        for renderer in self._each():
            renderer.forget(source)

    def add_shading(self, source: str) -> UserShading:
        shading, *_ = [renderer.add_shading(source) for renderer in self._each()]
        return shading

    def _each(self) -> list[Renderer]:
        return [self._alone] if self._shared is self._alone else [self._alone, self._shared]
