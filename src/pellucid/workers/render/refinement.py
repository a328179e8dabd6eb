"""Which images are drawn for a request: a rough one while something moves, better ones until it is exact.

Here: FrameRefiner; LastFrame, the image before.
Not here: the thread that draws (render_thread), how large a rough image is (frame_size), how one gets better
(rendering.drawing.refinement).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil

from pellucid.rendering.cinematic.packing import is_cinematic
from pellucid.rendering.drawing.refinement import estimate_cost, kind
from pellucid.rendering.frame import Frame
from pellucid.rendering.scene import Scene
from pellucid.workers.protocol.requests import Draw, ViewSpec
from pellucid.workers.render.frame_size import FrameSizer
from pellucid.workers.render.renderers import RendererGroup


@dataclass(frozen=True)
class LastFrame:
    """The image that was drawn last of a view; depth as in Frame."""

    scene: Scene
    frame: Frame


class FrameRefiner:
    """One for a Worker."""

    def __init__(self, renderers: RendererGroup) -> None:
        self._renderers = renderers
        self._sizing = FrameSizer()

    def frames(
        self, request: Draw, view: ViewSpec, shown: LastFrame | None, is_cancelled: Callable[[], bool]
    ) -> Iterator[tuple[Frame, bool]]:
        """Ever better images; the second part says whether it is the last. shown: the image before."""
        for frame, is_last in self._frames(request, view, shown, is_cancelled):
            self._sizing.measured(kind(view.scene), frame.depth.shape, frame.statistics, not request.is_exact)
            yield frame, is_last

    def _frames(
        self, request: Draw, view: ViewSpec, shown: LastFrame | None, is_cancelled: Callable[[], bool]
    ) -> Iterator[tuple[Frame, bool]]:
        if not request.is_exact:
            yield self._rough(request, view), False
        elif shown is not None and _is_all_there(shown, view) and not is_cinematic(view.scene):
            # Nothing is missing but pixels: the rough images on the way would only put the exact one off.
            renderer = self._renderers.of(view.scene)
            yield renderer.render(view.scene, view.width, view.height, is_cancelled=is_cancelled), True
        else:
            yield from self._better(request, view, is_cancelled)

    def _rough(self, request: Draw, view: ViewSpec) -> Frame:
        """An image within the budget, as small as that makes it: what is not drawn need not be encoded or sent."""
        renderer = self._renderers.of(view.scene)
        whole, otherwise = (view.height, view.width), estimate_cost(renderer, view.scene)
        # A path of light says less than a pixel: cinematic images are as small as it takes to have several of them.
        is_kept = not renderer.device.is_cuda and not is_cinematic(view.scene)
        least = view.min_scale if is_kept else 0.0
        scale = self._sizing.scale(kind(view.scene), whole, request.budget_ms / 1000, otherwise, least)
        size = ceil(view.width * scale), ceil(view.height * scale)
        samples = self._sizing.samples(kind(view.scene), size, request.budget_ms / 1000)
        return renderer.render(view.scene, *size, is_exact=False, samples=samples)

    def _better(self, request: Draw, view: ViewSpec, is_cancelled: Callable[[], bool]) -> Iterator[tuple[Frame, bool]]:
        last: Frame | None = None
        size, budget = (view.width, view.height), request.budget_ms
        renderer = self._renderers.of(view.scene)
        images = renderer.render_progressive(view.scene, *size, budget_ms=budget, is_cancelled=is_cancelled)
        for frame in images:
            if frame.statistics.images > 1:
                break  # From here on they only get smoother.
            if frame.statistics.is_exact:
                yield frame, True
                return
            last = frame
            yield frame, False
        if last is not None and not is_cancelled():
            yield last, True  # As good as this device can.


def _is_all_there(shown: LastFrame, view: ViewSpec) -> bool:
    """Whether the image before had all that it showed of the same volumes at full resolution."""
    return shown.frame.statistics.full_resolution == 1 and sources_of(shown.scene) == sources_of(view.scene)


def sources_of(scene: Scene) -> set[str]:
    return {layer.source for layer in scene.visible.volumes}
