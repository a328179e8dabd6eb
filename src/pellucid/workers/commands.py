"""What a supervisor asks of a Worker, and what it answers.

Here: commands and answers as typed data, to and from JSON.
Not here: carrying them (line), doing them (drawing, reading).

``request`` numbers a question; its answer, or Failed, carries the same number. Drawing has numbers of its own: of the
Draws only the latest counts, and it is answered by any number of Drawn.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from pellucid.box import Box
from pellucid.formats.protocol import Spacing
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.documents import build
from pellucid.rendering.labels import Labels
from pellucid.rendering.scene import MeshLayer, PointsLayer, Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.rendering.user_shading import Parameter
from pellucid.volume.slice_planes import ASSUMED_PLANES, Planes
from pellucid.workers import trial_commands
from pellucid.workers.folder_limit import AllowFolders

Stage = Literal["idle", "loading", "compiling", "drawing", "shading"]
"""What the thread that draws is doing. shading: drawing with a user's code, which is trusted for less long."""
ArrayKind = Literal["volume", "points", "mesh"]
Voxel = tuple[int, int, int]


@dataclass(frozen=True)
class View:
    """One picture of a Draw."""

    scene: Scene
    width: int
    height: int


# Commands


@dataclass(frozen=True)
class Draw:
    """Draw these pictures. budget_ms: of the first, rough one; is_exact: then refine until nothing is missing."""

    number: int
    views: tuple[View, ...]
    budget_ms: float
    is_exact: bool


@dataclass(frozen=True)
class Release:
    """The picture in this slot was taken."""

    slot: int


@dataclass(frozen=True)
class Snapshot:
    """One exact picture, drawn when nothing else is wanted; answered by Drawn with this request."""

    request: int
    view: View


@dataclass(frozen=True)
class UseArray:
    """The shared array that comes along is the volume of this name; or points, as rows of x, y, z and value (float32);
    or a mesh, as rows of three: so many vertices (float32), then its triangles (uint32). is_next: a picture of it alone
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
class Changed:
    """Voxels of an array that was handed over are new, in these boxes. Nobody answers: pictures show it."""

    source: str
    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class Forget:
    """Nobody needs the array of this name any more."""

    request: int
    source: str


@dataclass(frozen=True)
class Compile:
    """Answered by Compiled."""

    request: int
    source: str


@dataclass(frozen=True)
class Describe:
    """What is at a source, and a layer that suits it; answered by Described."""

    request: int
    source: str
    is_labels: bool = False


@dataclass(frozen=True)
class Measure:
    """The values of a volume that was described by some of its voxels; answered by Measured."""

    request: int
    source: str


@dataclass(frozen=True)
class Inspect:
    """What a file holds, without reading its voxels; answered by Inspected."""

    request: int
    source: str


@dataclass(frozen=True)
class Probe:
    """What is at a place (0 to 1) of a picture drawn last; answered by Probed."""

    request: int
    view: int
    x: float
    y: float


@dataclass(frozen=True)
class Slice:
    """The slice of a layer across an axis (0 is z); answered by Sliced with an RGB picture of at most ``edge``."""

    request: int
    source: str
    transfer: TransferFunction
    labels: Labels | None
    axis: int
    index: int
    edge: int
    time: float = 0.0


@dataclass(frozen=True)
class Profile:
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
    """Write a box of a volume to a file or folder; progress goes under the number of the request. Answered by Done."""

    request: int
    source: str
    box: Box | None
    target: str
    time: float = 0.0


@dataclass(frozen=True)
class Cancel:
    """Stop working on a request, if that can still be done."""

    request: int


# Answers


@dataclass(frozen=True)
class Ready:
    """The Worker has its device."""

    device: str


@dataclass(frozen=True)
class Alive:
    """Said twice a second. silence_s: since the thread that draws last gave a sign; 0 while it waits for work."""

    stage: Stage
    silence_s: float


@dataclass(frozen=True)
class Drawn:
    """A picture, RGBA, in a slot of shared memory, whose descriptor comes along when it is a new one.

    number: of the Draw, and view: which of its pictures; or request: of a Snapshot (number is -1). nbytes: of the slot.
    """

    number: int
    request: int
    view: int
    slot: int
    nbytes: int
    width: int
    height: int
    is_exact: bool
    full_resolution: float
    render_ms: float


@dataclass(frozen=True)
class Failed:
    """A refusal, by name of the error's class. number: of a Draw, else -1; request: of the rest, else -1."""

    number: int
    request: int
    kind: str
    what: str
    do: str
    line: int = 0


@dataclass(frozen=True)
class Done:
    """It is done."""

    request: int


@dataclass(frozen=True)
class Compiled:
    request: int
    hash: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Facts:
    """What a volume is. counts: voxels in equal bins from low to high. is_estimated: from some of the voxels, so that
    a few may lie outside. planes: how its slices are shown; orientation: in words, empty where none is stated."""

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


@dataclass(frozen=True)
class Measured:
    """low, high: of all voxels; counts: in equal bins between them, still from some."""

    request: int
    low: float
    high: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Described:
    """One of the three layers, and a camera that sees it. facts: of a volume. count: of points or triangles.

    low, high and counts of points are in ``facts`` too, with a shape of zeros.
    """

    request: int
    camera: Camera
    facts: Facts | None
    volume: VolumeLayer | None = None
    points: PointsLayer | None = None
    mesh: MeshLayer | None = None
    count: int = 0


@dataclass(frozen=True)
class Inspected:
    """datasets: names to choose from where there are several, and shape None then. problem: why it cannot be opened.
    is_scan: projections to be reconstructed, and shape is (view, row, column) of them. may_be_scan: it could be one, if
    somebody says what its datasets are."""

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
class Probed:
    """position None: nothing is there. label: of the label volume that lies over the layer."""

    request: int
    position: Vector | None
    layer: int = -1
    voxel: Voxel = (0, 0, 0)
    value: float | None = None
    label: int | None = None


@dataclass(frozen=True)
class Sliced:
    request: int
    width: int
    height: int


@dataclass(frozen=True)
class Profiled:
    request: int
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Retrieved:
    request: int
    shape: Voxel
    dtype: str
    spacing: Spacing


@dataclass(frozen=True)
class Progressed:
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


Command = (
    Draw | Release | Snapshot | UseArray | Changed | Forget | Compile | Describe | Measure | Inspect | Probe | Slice
    | Profile | Retrieve | Export | Cancel | AllowFolders | trial_commands.Command
)  # fmt: skip
Answer = (
    Ready | Alive | Drawn | Failed | Done | Compiled | Described | Measured | Inspected | Probed | Sliced | Profiled
    | Retrieved | Progressed | trial_commands.Answer
)  # fmt: skip
KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (*Command.__args__, *Answer.__args__)}


def to_message(said: Command | Answer) -> dict[str, Any]:
    return {"kind": type(said).__name__, "said": asdict(said)}


def from_message(message: dict[str, Any]) -> Any:
    """A command or an answer.

    >>> from_message(to_message(Cancel(3)))
    Cancel(request=3)
    """
    kind = KINDS[message["kind"]]
    return build(kind, message["said"], message["kind"])
