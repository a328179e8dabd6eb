"""Replies and events of a Worker.

Here: replies and reports as typed data.
Not here: requests, to and from JSON (messages), carrying them (channel).
"""

from dataclasses import dataclass
from typing import Literal

from pellucid.formats.protocol import Spacing
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.measures import RegionValues
from pellucid.rendering.scene import MeshLayer, PointsLayer, VolumeLayer
from pellucid.rendering.user_shading import Parameter
from pellucid.tomo.scan_files.dataset_guess import Suggestion
from pellucid.tomo.scan_files.scan_facts import ScanFacts
from pellucid.volume.slice_planes import ASSUMED_PLANES, Planes
from pellucid.workers.protocol.requests import Voxel

Stage = Literal["idle", "loading", "compiling", "drawing", "shading", "computing"]
"""What the thread that draws is doing. shading: drawing with a user's code, which is trusted for less long. computing:
whatever a Worker of another role does."""


@dataclass(frozen=True)
class Ready:
    """The Worker has its device."""

    device: str


@dataclass(frozen=True)
class Heartbeat:
    """Said twice a second. silence_s: since the thread that draws last gave a sign; 0 while it waits for work."""

    stage: Stage
    silence_s: float


@dataclass(frozen=True)
class FrameDrawn:
    """An image, RGBA, in a slot of shared memory, whose descriptor comes along when it is a new one.

    number: of the Draw, and view: which of its images; or request: of a Snapshot (number is -1). nbytes: of the slot.
    What follows is_exact is known once it is in the slot. is_along_rays: a neural field was evaluated where rays sample
    it, instead of being decoded to bricks.
    """

    number: int
    request: int
    view: int
    is_exact: bool
    slot: int = -1
    nbytes: int = 0
    width: int = 0
    height: int = 0
    full_resolution: float = 0.0
    render_ms: float = 0.0
    is_along_rays: bool = False


@dataclass(frozen=True)
class Failed:
    """A refusal, by name of the error's class. number: of a Draw, else -1; request: of the rest, else -1."""

    number: int
    request: int
    kind: str
    what: str
    remedy: str
    line: int = 0


@dataclass(frozen=True)
class Done:
    """It is done."""

    request: int


@dataclass(frozen=True)
class ModuleOpened:
    """A user's module was loaded. title: for users. shape: of the volume that it states, (z, y, x), or None. batch:
    points of one call that suit the device, which is named by PyTorch."""

    request: int
    title: str
    shape: tuple[int, int, int] | None
    batch: int
    device: str


@dataclass(frozen=True)
class ModuleDrafted:
    """batch: points of one call for which memory sufficed."""

    request: int
    batch: int


@dataclass(frozen=True)
class Compiled:
    request: int
    hash: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class VolumeFacts:
    """What a volume is. low, high: of its values, without a few far outside. counts: voxels in equal bins from low to
    high. is_estimated: from some of the voxels, so that a few may lie outside. planes: how its slices are shown;
    orientation: in words, empty where none is stated. compression: what was lost for it, in words, if anything.
    is_projections: they are those of a scan; resembles_projections: its images look like it.
    axis_code: where x, y and z run, such as RAS; empty where the file does not state it."""

    shape: Voxel
    spacing: Spacing
    unit: str
    dtype: str
    levels: int
    times: int
    channels: int
    low: float
    high: float
    counts: tuple[int, ...]
    is_estimated: bool = False
    planes: Planes = ASSUMED_PLANES
    orientation: str = ""
    compression: str = ""
    is_projections: bool = False
    resembles_projections: bool = False
    axis_code: str = ""


@dataclass(frozen=True)
class Measured:
    """low, high: of all voxels but a few far outside; counts: in equal bins between them, still from some."""

    request: int
    low: float
    high: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class LabelsMeasured:
    """The rows of a LabelTable come along. count: how many. dtype: of the labels."""

    request: int
    count: int
    dtype: str


@dataclass(frozen=True)
class RegionMeasured:
    request: int
    values: RegionValues


@dataclass(frozen=True)
class SourceDescribed:
    """One of the three layers, and a camera that sees it. facts: of a volume. count: of points or triangles.

    low, high and counts of points are in ``facts`` too, with a shape of zeros.
    """

    request: int
    camera: Camera
    facts: VolumeFacts | None
    volume: VolumeLayer | None = None
    points: PointsLayer | None = None
    mesh: MeshLayer | None = None
    count: int = 0


@dataclass(frozen=True)
class CameraFitted:
    """The camera that sees all of it."""

    request: int
    camera: Camera


@dataclass(frozen=True)
class Inspected:
    """datasets: names to choose from where there are several, and shape None then. problem: why it cannot be opened.
    is_scan: projections to be reconstructed, and shape is (view, row, column) of them. may_be_scan: it could be one, if
    a user chooses its datasets."""

    request: int
    shape: Voxel | None = None
    spacing: Spacing | None = None
    unit: str = ""
    dtype: str = ""
    levels: int = 0
    times: int = 0
    channels: int = 0
    datasets: tuple[str, ...] = ()
    problem: str = ""
    is_scan: bool = False
    may_be_scan: bool = False


@dataclass(frozen=True)
class PixelProbed:
    """position None: nothing is there. label: of the label volume that lies over the layer. label_layer: which one that
    is, or -1."""

    request: int
    position: Vector | None
    layer: int = -1
    voxel: Voxel = (0, 0, 0)
    value: float | None = None
    label: int | None = None
    label_layer: int = -1


@dataclass(frozen=True)
class SliceDrawn:
    """An image of a slice, RGBA, as a shared array. is_complete: whether all of it is at the resolution of its
    pixels."""

    request: int
    width: int
    height: int
    is_complete: bool


@dataclass(frozen=True)
class SliceMeasured:
    request: int
    low: float
    high: float


@dataclass(frozen=True)
class LineSampled:
    request: int
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Retrieved:
    request: int
    shape: Voxel
    dtype: str
    spacing: Spacing


@dataclass(frozen=True)
class ProgressReported:
    """How far something is. request: of an Export, else -1."""

    request: int
    task: int
    name: str
    done: int
    total: int | None
    unit: str
    seconds_left: float | None
    is_finished: bool
    is_stopped: bool


@dataclass(frozen=True)
class ScanDescribed:
    request: int
    facts: ScanFacts


@dataclass(frozen=True)
class PartsSuggested:
    request: int
    suggestion: Suggestion


@dataclass(frozen=True)
class AxisFound:
    """center: the column of the axis in the middle row. slope: columns that it moves by from one row to the next."""

    request: int
    center: float
    slope: float


@dataclass(frozen=True)
class PreviewMade:
    """low, high: the values that are black and white. center, slope: of a slice, as in AxisFound.
    radius_px: over which its phase retrieval smooths. edge: its pixels of the detector along x and y. voxels: of the
    volume, along an edge, that became one; views: one of so many was used; iterations: so many were made. code_low,
    code_high: the values that are 0 and 65535 where pixels have 16 bits."""

    request: int
    width: int
    height: int
    low: float
    high: float
    unit: str = ""
    center: float | None = None
    slope: float | None = None
    radius_px: float | None = None
    edge: int = 0
    voxels: int = 1
    views: int = 1
    iterations: int = 0
    code_low: float = 0.0
    code_high: float = 0.0

    @property
    def is_deep(self) -> bool:
        """Whether pixels have 16 bits."""
        return self.code_high > self.code_low


Reply = (
    Ready
    | Heartbeat
    | FrameDrawn
    | Failed
    | Done
    | ModuleOpened
    | ModuleDrafted
    | Compiled
    | Measured
    | LabelsMeasured
    | RegionMeasured
    | SourceDescribed
    | CameraFitted
    | Inspected
    | PixelProbed
    | SliceDrawn
    | SliceMeasured
    | LineSampled
    | Retrieved
    | ProgressReported
    | ScanDescribed
    | PartsSuggested
    | AxisFound
    | PreviewMade
)
