"""The first image of a large file, from some of its voxels: all of them take seconds to read.

Here: FirstImageRenderer.
Not here: which voxels these are (volume.subsample), images from all of them (refinement).
"""

from collections.abc import Callable
from dataclasses import replace

from pellucid.device import Device, never_cancelled
from pellucid.errors import PellucidError
from pellucid.formats.in_memory import ArrayReader
from pellucid.formats.location import Location
from pellucid.rendering.frame import Frame
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.volume.closable_reader import ClosableReader
from pellucid.volume.open_files import OpenFiles
from pellucid.volume.subsample import subsampled
from pellucid.volume.volume import Volume


class FirstImageRenderer:
    """Draws a scene while the voxels of its volume are still to be read. files: what opens them."""

    def __init__(self, device: Device, files: OpenFiles) -> None:
        self._device = device
        self._files = files

    def render(
        self, scene: Scene, width: int, height: int, is_cancelled: Callable[[], bool] = never_cancelled
    ) -> Frame | None:
        """A rough image of the one volume of a scene; None where its file is small, or is not read plane by plane."""
        shown = scene.visible
        if len(shown.volumes) != 1 or shown.slices or not _is_plain(shown.volumes[0]):
            return None
        source = shown.volumes[0].source
        if Location.parse(source).is_memory:
            return None
        try:
            with self._files.open_volume(source) as volume:
                seen = subsampled(volume)
                step = round(seen.spacing[0] / volume.spacing[0])
        except PellucidError:  # A series, whose steps have other names; or an error that the exact image reports.
            return None
        if step == 1:
            return None
        with Renderer(self._device) as renderer:
            renderer.add(_named(seen, source))
            frame = renderer.render(_through(shown, step), width, height, is_cancelled=is_cancelled)
        return replace(frame, statistics=replace(frame.statistics, full_resolution=0.0))


def _is_plain(layer: VolumeLayer) -> bool:
    """Whether a layer looks the same with fewer voxels: boxes are counted in voxels, and labels are no values."""
    return layer.labels is None and layer.clip is None and layer.shading != "user"


def _through(scene: Scene, step: int) -> Scene:
    """The same with voxels that are so many times as long: opacities are those of one voxel."""
    (layer,) = scene.volumes
    opacities = tuple((at, 1 - (1 - opacity) ** step) for at, opacity in layer.transfer.opacities)
    return replace(scene, volumes=(replace(layer, transfer=replace(layer.transfer, opacities=opacities)),))


def _named(volume: Volume, source: str) -> Volume:
    """The same voxels under the name that the scene has for them."""
    array = volume.read()
    return Volume(ClosableReader(ArrayReader(array, volume.spacing, volume.unit, volume.orientation)), Location(source))
