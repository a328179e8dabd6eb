"""Messages from an instance to a page over the WebSocket.

Here: every message in that direction, and the headers of images.
Not here: what pages say (client_messages), answers over HTTP (http_bodies), text and bytes (codec).

Everything is one JSON text with a ``type``, but for images: those are binary, four bytes with the length of the
header (little-endian), the header as JSON, the encoded image.
"""

from dataclasses import dataclass
from typing import Literal

from pellucid.instance.protocol.reconstruction import ReconstructionRun, ScanDraft
from pellucid.instance.protocol.shared_types import (
    VERSION,
    Arrangement,
    Capability,
    Choices,
    Client,
    ClientLimits,
    Encoding,
    Hit,
    LayerDescription,
    MeshDescription,
    PointsDescription,
    Shading,
    StageTimes,
    TaskState,
    View,
    Voxel,
    WorkerState,
)
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.scene import Scene
from pellucid.rendering.slice_image import Region, SliceAxis, SliceRectangle


@dataclass(frozen=True)
class Proof:
    """The answer to Prove: the keyed hash (HMAC-SHA256 under the session's key, in hex) of "server", the page's nonce,
    this nonce and the page's address, with a space between. The page's own proof begins with "page" instead."""

    nonce: str
    proof: str
    type: Literal["proof"] = "proof"


@dataclass(frozen=True)
class Moved:
    """The answer to Hello of a page that was opened before a restart: it goes on at this link."""

    url: str
    type: Literal["moved"] = "moved"


@dataclass(frozen=True)
class Welcome:
    """The answer to Hello: everything there is to know; State, Layers, Shadings, Controls and Idle follow with more.

    client: the id of this page. token: for its HTTP requests from now on. roots: where the file browser may look;
    empty where the capability is not own.
    """

    client: str
    capability: Capability
    product: str
    device: str
    choices: Choices
    limits: ClientLimits
    roots: tuple[str, ...]
    clock_at_ms: float
    token: str = ""
    version: int = VERSION
    type: Literal["welcome"] = "welcome"


@dataclass(frozen=True)
class SceneState:
    """The scene has this revision. other: the scene beside it, while two are compared.

    by: the client who changed it, "" for the instance itself or a program; request: of the message that did.
    Sources in the scene are shortened to their names for guests.
    """

    revision: int
    scene: Scene
    other: Scene | None = None
    by: str = ""
    request: str = ""
    can_undo: bool = False
    can_redo: bool = False
    arrangement: Arrangement = "beside"
    type: Literal["state"] = "state"


@dataclass(frozen=True)
class CameraMoved:
    """The camera was moved by another client. The revision does not change."""

    camera: Camera
    by: str
    type: Literal["camera_moved"] = "camera_moved"


@dataclass(frozen=True)
class LayerList:
    """What is in the scene, described, in its order. revision: of the scene; view: which one, where two are side by
    side. Where both are new it comes before the scene."""

    layers: tuple[LayerDescription, ...]
    points: tuple[PointsDescription, ...]
    meshes: tuple[MeshDescription, ...]
    revision: int
    view: View = "main"
    type: Literal["layers"] = "layers"


@dataclass(frozen=True)
class ShadingList:
    """The users' shadings there are, those that wait for the owner's consent among them."""

    shadings: tuple[Shading, ...]
    type: Literal["shadings"] = "shadings"


@dataclass(frozen=True)
class ErrorMessage:
    """Something could not be done: what happened, what to do, and what was asked for; revision: what there is now.

    line: of a shading's source, from 1, else 0.
    """

    what: str
    remedy: str
    revision: int = 0
    request: str = ""
    line: int = 0
    type: Literal["error"] = "error"


@dataclass(frozen=True)
class ControlsStatus:
    """All clients, the id of the one who has the controls (or None), and those who requested them."""

    clients: tuple[Client, ...]
    holder: str | None
    asking: tuple[str, ...]
    type: Literal["controls"] = "controls"


@dataclass(frozen=True)
class WorkerStatus:
    """How the process that draws is. lost: it is being replaced; what and do say why."""

    state: WorkerState
    what: str = ""
    remedy: str = ""
    type: Literal["worker"] = "worker"


@dataclass(frozen=True)
class RunningModel:
    """A PyTorch model of a user that fills the volume of this source. task: as in Progress. device: as PyTorch names
    it. batch: points of one call; is_halved: it was made smaller, because memory did not suffice."""

    task: str
    source: str
    name: str
    device: str
    batch: int
    is_halved: bool
    is_running: bool


@dataclass(frozen=True)
class ModelList:
    """The models whose volumes are in the scene."""

    models: tuple[RunningModel, ...]
    type: Literal["models"] = "models"


@dataclass(frozen=True)
class ShownTraining:
    """How far the training of a neural field is, whose preview is the first volume; as in TrainingState."""

    name: str = ""
    step: int = 0
    psnr: float = 0.0
    grids: tuple[tuple[Vector, ...], ...] = ()
    is_running: bool = False
    type: Literal["training"] = "training"


@dataclass(frozen=True)
class Progress:
    """Progress of a task. total: None if unknown. unit: "B" for bytes, else a noun in the plural.

    url: where the result of an export can be fetched, once it is finished. note: what the task waits for.
    """

    task: str
    name: str
    done: int
    total: int | None
    unit: str
    state: TaskState
    seconds_left: float | None = None
    url: str = ""
    note: str = ""
    type: Literal["progress"] = "progress"


@dataclass(frozen=True)
class IdleStatus:
    """When the instance ends itself. is_warning: ask whether to prolong. idle_timeout_s: what Prolong gives."""

    seconds_left: float
    idle_timeout_s: float
    is_warning: bool
    type: Literal["idle"] = "idle"


@dataclass(frozen=True)
class ShuttingDown:
    """The instance stops now. Do not reconnect."""

    what: str
    remedy: str
    type: Literal["shutting_down"] = "shutting_down"


@dataclass(frozen=True)
class ProbeResult:
    """The answer to Probe; hit None: nothing is there."""

    request: str
    hit: Hit | None
    type: Literal["probe_result"] = "probe_result"


@dataclass(frozen=True)
class CrossHair:
    """Where the slices are cut, whichever client moved them; None: they are not shown."""

    voxel: Voxel | None
    layer: int
    by: str
    type: Literal["cross_hair"] = "cross_hair"


@dataclass(frozen=True)
class Reconstructions:
    """For owners: what has been set up for scans, what runs or has ended; open: the scan that is in front, or ""."""

    open: str
    drafts: tuple[ScanDraft, ...]
    runs: tuple[ReconstructionRun, ...]
    type: Literal["reconstructions"] = "reconstructions"


@dataclass(frozen=True)
class FrameHeader:
    """What an image shows.

    width, height: of the encoded image, to be stretched over full_width × full_height. is_exact: the renderer's own
    image, full size and lossless. codec: for h264, what WebCodecs wants; Annex B. is_key: a decoder can begin here.
    full_resolution: the fraction of what is visible that is drawn from the finest level. input_sent_at_ms: of the Look
    that it answers, else 0. sent_at_ms: on the instance's clock. is_along_rays: a neural field was evaluated where rays
    sample it, instead of being decoded to bricks.
    """

    number: int
    view: View
    revision: int
    camera: Camera
    width: int
    height: int
    full_width: int
    full_height: int
    encoding: Encoding
    is_exact: bool
    full_resolution: float
    times_ms: StageTimes
    input_sent_at_ms: float
    sent_at_ms: float
    codec: str = ""
    is_key: bool = True
    is_along_rays: bool = False
    type: Literal["frame"] = "frame"


@dataclass(frozen=True)
class SliceHeader:
    """The image of a slice, grey or in colours, with visible labels on top, as its slice_options say.

    index: which slice; -1 of an oblique one. region: which part of the slice, as fractions from its top left. place:
    where all of the slice lies in the world. is_exact: lossless, and at the resolution of its pixels or of the voxels;
    otherwise a better one follows. For z: y downwards, x to the right; for y: z upwards, x right; for x: z upwards, y
    right; unless planes of the LayerDescription say otherwise. view: of which scene, where two are compared; region is
    then of the scene's slice, and index and place are those of this one.
    """

    axis: SliceAxis
    index: int
    layer: int
    revision: int
    number: int
    width: int
    height: int
    region: Region
    place: SliceRectangle
    is_exact: bool
    encoding: Encoding = "png"
    view: View = "main"
    type: Literal["slice"] = "slice"


Outgoing = (
    Proof
    | Moved
    | Welcome
    | SceneState
    | CameraMoved
    | LayerList
    | ShadingList
    | ErrorMessage
    | ControlsStatus
    | WorkerStatus
    | Progress
    | IdleStatus
    | ShuttingDown
    | ProbeResult
    | CrossHair
    | Reconstructions
    | ModelList
    | ShownTraining
)
Header = FrameHeader | SliceHeader
