"""Progressive rendering: one image after another, each better than the one before.

Here: how large the first may be (FrameCostModel), which follow (refine), where in their pixels the rays of each pass.
Not here: drawing them (renderer), the bytes (postprocess).

First a small image that fits the budget, enlarged; then larger ones; then the exact image, as soon as all that it
shows is loaded; then more of the same with rays through other places of each pixel, averaged, which smooths its edges.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable, Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Protocol

from pellucid.device import Device, never_cancelled
from pellucid.errors import Cancelled
from pellucid.fields.device_field import DeviceField
from pellucid.rendering.cinematic.packing import is_cinematic
from pellucid.rendering.cinematic.refinement import more_paths
from pellucid.rendering.drawing.draw_pass import DeviceFrame, DrawOptions, DrawRegion
from pellucid.rendering.drawing.packing import Size, SubpixelOffset
from pellucid.rendering.drawing.postprocess import FrameSum, to_frame
from pellucid.rendering.frame import Frame
from pellucid.rendering.scene import Scene
from pellucid.settings import current

IMAGES = 9
"""How many images are averaged; odd, so that the exact one is in their middle."""

ROUND_S = 0.5
"""While bricks are loaded: an image of what is there already, so often."""

MIN_SCALE = 1 / 32
GROWTH = 2.0
"""From one image to the next along each edge, until all pixels are drawn."""

LATER = 3.0
"""What the second image may take, in budgets, if the first turns out to have been planned too small."""

ALMOST = 0.6
"""An image so large is not worth its time: the exact one comes soon after."""

SHARE_OF_BUDGET = 0.7
"""What the first image is planned to take: what was measured does not hold exactly."""

CPU_SAMPLES_PER_S = 10e6
CUDA_SAMPLES_PER_S = 2e9
"""How fast, at the least, samples of a scene are taken that was never drawn: on a core, on a card."""

SAMPLES_PER_TREE = 200
"""Finding what a ray meets among points or triangles takes as long as so many samples, at the most."""

SAMPLES_OF_PATH = 4
"""Following a path of light through a volume takes as long as so many rays, at the most."""

MAX_PATHS = 16
"""Of every pixel, of an image that shall be there soon."""

MAX_KNOWN = 64


class FrameSource(Protocol):
    """What draws: a Renderer."""

    device: Device

    def load(self, scene: Scene) -> list[list[DeviceField]]: ...

    def images(self, scene: Scene, canvas: DrawRegion, timeout: DrawOptions) -> Iterator[DeviceFrame]: ...


@dataclass(frozen=True)
class RefineRequest:
    """A scene, the rows and columns of its images, and how long the first may take."""

    scene: Scene
    size: Size
    budget_s: float = 0.1
    is_cancelled: Callable[[], bool] = never_cancelled


@dataclass(frozen=True)
class FrameCost:
    """Seconds for each pixel, and beside all of them."""

    pixel_s: float
    beside_s: float = 0.0


class FrameCostModel:
    """What images of scenes cost last, and how large one may be.

    >>> pace = FrameCostModel()
    >>> pace.measured("scene", (900, 1600), drawing_s=1.44, beside_s=0.01)
    >>> pace.affordable("scene", (900, 1600), budget_s=0.1, otherwise=FrameCost(1.0))
    (184, 327)
    """

    def __init__(self) -> None:
        self._costs: OrderedDict[Hashable, FrameCost] = OrderedDict()

    def measured(self, what: Hashable, size: Size, drawing_s: float, beside_s: float) -> None:
        """An image took so long, to draw and for all else (of which the better of two times counts)."""
        known = self._costs.pop(what, None)
        beside_s = min(beside_s, known.beside_s) if known else beside_s
        self._costs[what] = FrameCost(drawing_s / (size[0] * size[1]), beside_s)
        while len(self._costs) > MAX_KNOWN:
            self._costs.popitem(last=False)

    def affordable(self, what: Hashable, size: Size, budget_s: float, otherwise: FrameCost) -> Size:
        """The largest image of a shape within a budget. otherwise: what it costs if it was never drawn."""
        cost = self._costs.get(what, otherwise)
        left_s = SHARE_OF_BUDGET * budget_s - min(cost.beside_s, budget_s / 2)
        whole_s = max(cost.pixel_s * size[0] * size[1], 1e-9)
        scale = min(1.0, max(sqrt(max(left_s, 0.0) / whole_s), MIN_SCALE))
        return smaller(size, scale)

    def repeats(self, what: Hashable, size: Size, budget_s: float) -> int:
        """How often all pixels of an image can be drawn within a budget; once if it was never drawn.

        >>> pace = FrameCostModel()
        >>> pace.measured("scene", (100, 100), drawing_s=0.01, beside_s=0.01)
        >>> pace.repeats("scene", (100, 100), budget_s=0.1), pace.repeats("other", (100, 100), budget_s=0.1)
        (6, 1)
        """
        cost = self._costs.get(what)
        if cost is None:
            return 1
        left_s = SHARE_OF_BUDGET * budget_s - min(cost.beside_s, budget_s / 2)
        return max(1, int(left_s / max(cost.pixel_s * size[0] * size[1], 1e-9)))


def smaller(size: Size, scale: float) -> Size:
    """Rows and columns of an image that is enlarged afterwards."""
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def refine(source: FrameSource, pace: FrameCostModel, request: RefineRequest) -> Generator[Frame, None, None]:
    """Frames until they are exact and smooth, or cancelled."""
    try:
        yield from _refine(source, pace, request)
    except Cancelled:
        return


def _refine(source: FrameSource, pace: FrameCostModel, request: RefineRequest) -> Generator[Frame, None, None]:
    drawn, frame = _first(source, pace, request)
    yield frame
    while (size := _next(pace, request, drawn))[0] <= ALMOST * request.size[0]:
        drawn, frame = _at(source, pace, request, size)
        yield frame
    if not frame.statistics.is_exact:
        for drawn in source.images(
            request.scene, DrawRegion(request.size), DrawOptions(True, request.is_cancelled, ROUND_S)
        ):
            frame = to_frame(request.scene, drawn, request.size)
            yield frame
    if drawn.total is not None:
        for image in more_paths(source, request.scene, drawn, request.is_cancelled):
            yield to_frame(request.scene, image, request.size)
        return
    # Where there is no room for all bricks, waiting for some of them again and again would gain nothing.
    yield from _smooth(source, request, drawn, DrawOptions(frame.statistics.is_exact, request.is_cancelled))


def _first(source: FrameSource, pace: FrameCostModel, request: RefineRequest) -> tuple[DeviceFrame, Frame]:
    """An image within the budget; where it was planned much too small and there is time left, a larger one."""
    otherwise = estimate_cost(source, request.scene)
    size = pace.affordable(kind(request.scene), request.size, request.budget_s, otherwise)
    end_s = time.perf_counter() + request.budget_s
    first = _at(source, pace, request, size)
    larger = pace.affordable(kind(request.scene), request.size, end_s - time.perf_counter(), otherwise)
    return _at(source, pace, request, larger) if larger[0] > GROWTH * size[0] else first


def _next(pace: FrameCostModel, request: RefineRequest, drawn: DeviceFrame) -> Size:
    """How large the next image is: larger by GROWTH, or by more where that is soon done."""
    affordable = pace.affordable(kind(request.scene), request.size, LATER * request.budget_s, FrameCost(0.0))
    return max(smaller(drawn.color.shape, GROWTH), affordable)


def _at(source: FrameSource, pace: FrameCostModel, request: RefineRequest, size: Size) -> tuple[DeviceFrame, Frame]:
    """An image of what is there, of so many rows and columns, enlarged."""
    paths = _paths(pace, request, size)
    canvas = DrawRegion(size, samples=paths)
    (drawn,) = source.images(request.scene, canvas, DrawOptions(False, request.is_cancelled))
    frame = to_frame(request.scene, drawn, request.size)
    times_s = frame.statistics.times_s
    pace.measured(kind(request.scene), size, times_s["draw"] / paths, times_s["prepare"] + times_s["finish"])
    return drawn, frame


def _paths(pace: FrameCostModel, request: RefineRequest, size: Size) -> int:
    """Of every pixel of a cinematic image: where all pixels are soon drawn, as many as the budget allows."""
    if size != request.size or not is_cinematic(request.scene):
        return 1
    most = min(request.scene.cinematic.samples, MAX_PATHS)
    return min(pace.repeats(kind(request.scene), size, request.budget_s), most)


def _smooth(
    source: FrameSource, request: RefineRequest, exact: DeviceFrame, timeout: DrawOptions
) -> Generator[Frame, None, None]:
    """The exact image and others with rays elsewhere in their pixels, averaged; the depth stays that of the first."""
    total = FrameSum(exact)
    for number in range(1, IMAGES):
        canvas = DrawRegion(request.size, subpixel_offset(number))
        for image in source.images(request.scene, canvas, timeout):
            drawn = image
        total.add(drawn)
        yield to_frame(request.scene, exact, request.size, total)


def subpixel_offset(number: int) -> SubpixelOffset:
    """Where the rays of one of the images pass: in the middle of their pixels, then around it, to opposite sides."""
    # Nine places of which no two share a row or a column; together they have the middle as their middle.
    place = (number + 1) // 2 * (1 if number % 2 else -1)
    return SubpixelOffset(place / IMAGES, _centred(2 * place) / IMAGES, 5 * number % IMAGES / IMAGES)


def _centred(place: int) -> int:
    return (place + IMAGES // 2) % IMAGES - IMAGES // 2


def kind(scene: Scene) -> Hashable:
    """What about a scene decides how long its pixels take, but for the camera."""
    scene = scene.visible
    volumes = tuple((layer.source, layer.mode, layer.shading) for layer in scene.volumes)
    others = tuple(layer.source for layers in (scene.points, scene.meshes, scene.slices) for layer in layers)
    return volumes, others, scene.step


def estimate_cost(source: FrameSource, scene: Scene) -> FrameCost:
    """What a pixel of a scene costs at the most: a ray through all of its volumes, from corner to corner, and trees."""
    scene = scene.visible
    rate = CUDA_SAMPLES_PER_S if source.device.is_cuda else CPU_SAMPLES_PER_S * current().threads
    samples = sum(sqrt(sum(n * n for n in field.shape)) / scene.step for field in source.load(scene)[0])
    samples += SAMPLES_PER_TREE * (len(scene.points) + len(scene.meshes))
    return FrameCost(samples / rate * (SAMPLES_OF_PATH if is_cinematic(scene) else 1))
