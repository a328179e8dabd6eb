"""Requests to a Worker.

Here: requests as typed data.
Not here: replies, to and from JSON (messages), carrying them (channel), handling them (render, queries).

``request`` numbers a request; its reply, or Failed, carries the same number. Drawing has numbers of its own: of the
Draws only the latest counts, and any number of FrameDrawn reply to it.
"""

from dataclasses import dataclass
from typing import Literal

from pellucid.box import Box
from pellucid.formats.protocol import Spacing
from pellucid.rendering.camera import Vector
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.slice_image import SliceImage, SliceRectangle
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.workers.folder_limit import AllowFolders
from pellucid.workers.protocol.module_requests import UserModuleRequest

ArrayKind = Literal["volume", "points", "mesh"]

Voxel = tuple[int, int, int]

Subject = Literal["projection", "sinogram", "slice"]


@dataclass(frozen=True)
class ViewSpec:
    """One image of a Draw. min_scale: how much of its edges a rough image keeps, where the device is a CPU."""

    scene: Scene
    width: int
    height: int
    min_scale: float = 0.0


@dataclass(frozen=True)
class Draw:
    """Draw these images. budget_ms: of the first, rough one; is_exact: then refine until nothing is missing."""

    number: int
    views: tuple[ViewSpec, ...]
    budget_ms: float
    is_exact: bool


@dataclass(frozen=True)
class Release:
    """The image in this slot was taken."""

    slot: int


@dataclass(frozen=True)
class TakeScreenshot:
    """One exact image, drawn when nothing else is wanted; answered by Drawn with this request.

    is_for_guest: everything else comes first, also what is requested while it is drawn.
    """

    request: int
    view: ViewSpec
    is_for_guest: bool = False


@dataclass(frozen=True)
class AddArray:
    """The shared array that comes along is the volume of this name; or points, as rows of x, y, z and value (float32);
    or a mesh, as rows of three: so many vertices (float32), then its triangles (uint32). is_next: an image of it alone
    will be wanted, so that the device may have it as soon as it is there."""

    request: int
    source: str
    shape: tuple[int, ...]
    dtype: str
    spacing: Spacing
    unit: str
    kind: ArrayKind = "volume"
    vertices: int = 0
    is_next: bool = False


@dataclass(frozen=True)
class MarkChanged:
    """Voxels of a sent array have changed, in these boxes. There is no reply; images show it."""

    source: str
    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class RemoveArray:
    """Release the array of this name."""

    request: int
    source: str


@dataclass(frozen=True)
class Compile:
    """Answered by Compiled."""

    request: int
    source: str


@dataclass(frozen=True)
class Describe:
    """What is at a source, and a layer and a camera that suit it; answered by SourceDescribed. aspect: width of the
    image over its height."""

    request: int
    source: str
    is_labels: bool = False
    aspect: float = 1.0


@dataclass(frozen=True)
class FitCamera:
    """A camera from this side that sees all that a scene shows; answered by CameraFitted. side: from the middle to the
    eye."""

    request: int
    scene: Scene
    side: Vector
    up: Vector
    aspect: float = 1.0


@dataclass(frozen=True)
class MeasureValues:
    """The values of a volume that was described by some of its voxels; answered by Measured."""

    request: int
    source: str


@dataclass(frozen=True)
class MeasureLabels:
    """Voxels, centre and box of every label; answered by LabelsMeasured with a shared array."""

    request: int
    source: str
    time: float = 0.0


@dataclass(frozen=True)
class MeasureRegion:
    """The voxels of a layer in a box or a sphere, which has the points of such a Measure; answered by RegionMeasured.
    max_voxels: a region that reaches over more is refused; None: any."""

    request: int
    layer: VolumeLayer
    kind: Literal["box", "sphere"]
    points: tuple[Vector, Vector]
    time: float = 0.0
    max_voxels: int | None = None


@dataclass(frozen=True)
class Inspect:
    """What a file holds, without reading its voxels; answered by Inspected."""

    request: int
    source: str


@dataclass(frozen=True)
class ProbePixel:
    """What is at a place (0 to 1) of an image drawn last; answered by Probed."""

    request: int
    view: int
    x: float
    y: float


@dataclass(frozen=True)
class DrawSlice:
    """A slice through volumes, the last layer on top; answered by SliceDrawn with its pixels. is_exact: wait for what
    is not loaded at full resolution. is_for_guest: drawn when nothing else is wanted; given up, with Cancelled, if
    something else is wanted while it waits."""

    request: int
    layers: tuple[VolumeLayer, ...]
    image: SliceImage
    time: float = 0.0
    is_exact: bool = True
    is_for_guest: bool = False


@dataclass(frozen=True)
class ProbePosition:
    """What is at a place (x, y, z) of the world; answered by PixelProbed."""

    request: int
    scene: Scene
    position: Vector


@dataclass(frozen=True)
class MeasureSlice:
    """The values below which so many per cent of a slice's voxels lie; answered by SliceMeasured."""

    request: int
    source: str
    axis: int
    index: int
    percents: tuple[float, float]
    time: float = 0.0


@dataclass(frozen=True)
class MeasureOblique:
    """The same of an oblique slice of a layer, whose values lie between voxels; answered by SliceMeasured, too."""

    request: int
    layer: VolumeLayer
    place: SliceRectangle
    percents: tuple[float, float]
    time: float = 0.0


@dataclass(frozen=True)
class SampleLine:
    """Values at places along a line in the world; answered by Profiled."""

    request: int
    layer: VolumeLayer
    start: Vector
    stop: Vector
    count: int
    time: float = 0.0


@dataclass(frozen=True)
class Retrieve:
    """The voxels of a box, None for all; answered by Retrieved with a shared array."""

    request: int
    source: str
    box: Box | None
    time: float = 0.0


@dataclass(frozen=True)
class Export:
    """Write a box of a volume to a file or folder; progress goes under the number of the request. Answered by Done.
    is_replaced: whether what has that name is overwritten."""

    request: int
    source: str
    box: Box | None
    target: str
    time: float = 0.0
    is_replaced: bool = True


@dataclass(frozen=True)
class Cancel:
    """Stop working on a request, if that can still be done."""

    request: int


@dataclass(frozen=True)
class DescribeScan:
    """The geometry of a scan; answered by ScanDescribed."""

    request: int
    source: str
    options: ScanOptions


@dataclass(frozen=True)
class SuggestParts:
    """Which datasets of a file might be which part of a scan; answered by PartsSuggested."""

    request: int
    source: str


@dataclass(frozen=True)
class FindAxis:
    """Where the axis of a scan is, in the way that the recipe says; answered by AxisFound. Done beside trials."""

    request: int
    source: str
    options: ScanOptions
    recipe: Recipe


@dataclass(frozen=True)
class MakePreview:
    """An image of a scan under a recipe; answered by Tried with a grey image of at most ``edge`` along each side.

    index: the view of a projection, the row of the others. window: the values that become black and white; without it
    they are chosen. is_rough: more will follow, soon beats exact. is_deep: pixels have 16 bits, for all values.
    """

    request: int
    source: str
    options: ScanOptions
    subject: Subject
    index: int
    recipe: Recipe
    edge: int
    window: tuple[float, float] | None = None
    is_rough: bool = False
    is_deep: bool = False


@dataclass(frozen=True)
class ApplyNetwork:
    """Fill an array of the instance with the labels that a network gives to a volume; answered by Done. Every box that
    is finished is announced as VoxelsChanged.

    target: an array of uint8, as large as the volume. network: a file. The rest is what a bare ONNX file does not
    state; transforms are texts such as ``scale_linear:gain=2``.
    """

    request: int
    source: str
    target: str
    network: str
    axes: str | None = None
    halo: Voxel | None = None
    preprocess: tuple[str, ...] = ()
    postprocess: tuple[str, ...] = ()
    threshold: float | None = None
    time: float = 0.0


@dataclass(frozen=True)
class SetFocus:
    """What a user looks at, in voxels of the array that a network or a module fills: what is seen is computed first."""

    target: str
    cross_hair: tuple[float, float, float] | None = None
    eye: tuple[float, float, float] | None = None
    box: Box | None = None


Request = (
    Draw
    | Release
    | TakeScreenshot
    | AddArray
    | MarkChanged
    | RemoveArray
    | Compile
    | Describe
    | FitCamera
    | MeasureValues
    | MeasureLabels
    | MeasureRegion
    | Inspect
    | ProbePixel
    | DrawSlice
    | ProbePosition
    | MeasureSlice
    | MeasureOblique
    | SampleLine
    | Retrieve
    | Export
    | Cancel
    | DescribeScan
    | SuggestParts
    | FindAxis
    | MakePreview
    | ApplyNetwork
    | SetFocus
    | AllowFolders
    | UserModuleRequest
)
