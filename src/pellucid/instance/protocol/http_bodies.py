"""Bodies of HTTP requests and replies.

Here: bodies of requests, bodies of answers.
Not here: the routes (instance/routes), the WebSocket (client_messages, server_messages).

A refusal has status 4xx and the body ErrorBody. Bodies of images and arrays are plain bytes.
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from pellucid.instance.protocol.shared_types import (
    CLOSED,
    Capability,
    Change,
    Choices,
    EntryKind,
    ExportFormat,
    Json,
    LayerDescription,
    MeshDescription,
    Name,
    PointsDescription,
    View,
    Voxel,
)
from pellucid.rendering.camera import Vector
from pellucid.rendering.scene import Scene
from pellucid.rendering.transfer import TransferFunction
from pellucid.rendering.user_shading import Parameter

Path = Annotated[str, Field(min_length=1, max_length=4096)]
Source = Annotated[str, Field(max_length=64 * 1024)]


@dataclass(frozen=True)
class ErrorBody:
    """What happened and what to do; line: of a shading's source, else 0; kind: the error's class in Python."""

    what: str
    remedy: str
    line: int = 0
    kind: str = ""


@dataclass(frozen=True)
class About:
    """GET /api/about. For the owner: socket, where memory changes hands on this machine; transfer, the address of the
    transport, which takes arrays from any machine that can reach it; transfer_token, which both of them ask for."""

    version: int
    product: str
    capability: Capability
    device: str
    pid: int
    socket: str
    transfer: str
    transfer_token: str


@dataclass(frozen=True)
class SceneSnapshot:
    """GET /api/scene: everything a program has to know about what is shown."""

    version: int
    revision: int
    scene: Scene
    other: Scene | None
    layers: tuple[LayerDescription, ...]
    points: tuple[PointsDescription, ...]
    meshes: tuple[MeshDescription, ...]
    device: str
    choices: Choices


@dataclass(frozen=True)
class SceneChange:
    """PATCH /api/scene. revision None: whatever it is now."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    changes: Annotated[tuple[Change, ...], Field(max_length=100, fail_fast=True)]
    revision: int | None = None
    view: View = "main"


@dataclass(frozen=True)
class Revision:
    """What a change of the scene led to."""

    revision: int


@dataclass(frozen=True)
class SavedState:
    """GET and PUT /api/state: all that is needed to show the same image again, as one JSON document.

    scene, other: as Scene.to_json writes them. shadings: sources by hash.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    version: int
    scene: Json
    other: Json = None
    shadings: dict[str, Source] = field(default_factory=dict)
    cross_hair: Voxel | None = None


@dataclass(frozen=True)
class SavedLink:
    """POST /api/links: the state saved under a short name; ``pellucid view --state NAME`` shows it again too. url:
    relative to the page's address; it has the capability control, and opens this state."""

    name: str
    url: str


@dataclass(frozen=True)
class Entry:
    """One line of a folder. path: to be given back to open it. bytes: of a file."""

    name: str
    path: str
    kind: EntryKind
    bytes: int | None
    modified_at_ms: float


@dataclass(frozen=True)
class Folder:
    """GET /api/files?folder=&search=: what is in a folder that can be opened; without one, the roots.

    parent: None at a root. search looks through the folders below too; is_cut: there was more. is_scan: its files are
    the projections of a scan. is_stack: its files are the slices of a volume, which its path opens.
    """

    path: str
    parent: str | None
    entries: tuple[Entry, ...]
    is_cut: bool
    is_scan: bool = False
    is_stack: bool = False


@dataclass(frozen=True)
class FileFacts:
    """GET /api/files/info?path=: what a file holds, without reading its voxels.

    datasets: names to choose from (give path:/name), where it holds several. problem: why it cannot be opened, or "".
    is_scan: it has to be reconstructed first; shape is (view, row, column) of its projections, datasets their name, if
    they have one. may_be_scan: it could be one, if a user chooses its datasets. is_headerless: its name alone may say
    what its shape and type are; else they have to be given, as path:shape=Z,Y,X,dtype=uint16,order=le,offset=0.
    """

    path: str
    shape: Voxel | None
    spacing: tuple[float, float, float] | None
    unit: str
    dtype: str
    levels: int
    times: int
    channels: int
    bytes: int
    datasets: tuple[str, ...]
    problem: str
    is_scan: bool = False
    may_be_scan: bool = False
    is_headerless: bool = False


@dataclass(frozen=True)
class LoadRequest:
    """POST /api/load: show a file. replace: alone; add: as another layer; labels: over the first volume."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    path: Path
    how: Literal["replace", "add", "labels"] = "replace"


@dataclass(frozen=True)
class SampleRequest:
    """POST /api/sample: show a small volume to try things with. replace: alone; add: as another layer."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    how: Literal["replace", "add"]


@dataclass(frozen=True)
class Loaded:
    """warning, remedy: what may be wrong with what is shown now, and what to do; "" if nothing is."""

    revision: int
    warning: str = ""
    remedy: str = ""


@dataclass(frozen=True)
class RecentFile:
    """path: to be given to /api/load. thumbnail: an image as a data URL, or ""."""

    path: str
    name: str
    folder: str
    opened_at_ms: float
    thumbnail: str


@dataclass(frozen=True)
class RecentFiles:
    """GET /api/recent: the files that the user opened last, the latest first. folder: the one browsed last, or ""."""

    files: tuple[RecentFile, ...]
    folder: str


@dataclass(frozen=True)
class Uploaded:
    """PUT /api/upload?name=: where the bytes of the body are now; give it to /api/load."""

    path: str


@dataclass(frozen=True)
class ArrayOffer:
    """POST /api/arrays: an array is coming, in C order and in the byte order of dtype."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    shape: tuple[int, int, int]
    dtype: Name
    spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)
    unit: Name = ""
    name: Name = ""
    how: Literal["replace", "add", "labels"] = "replace"


@dataclass(frozen=True)
class ArrayUpload:
    """The answer: PUT /api/arrays/{id}?offset=N takes its bytes, POST /api/arrays/{id}/show shows it."""

    id: str
    bytes: int


@dataclass(frozen=True)
class ShadingText:
    """POST /api/shadings: compile this."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    source: Source


@dataclass(frozen=True)
class CompiledShading:
    """A shading that a layer can name now. A refusal of its source carries the line."""

    hash: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class PresetText:
    """POST /api/presets/parse: the JSON that ParaView exports."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    text: Annotated[str, Field(max_length=2**20)]


@dataclass(frozen=True)
class PresetTransfer:
    """The transfer function that it means."""

    transfer: TransferFunction


@dataclass(frozen=True)
class ProfileRequest:
    """POST /api/profile: values of a layer along a line between two places in the world."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    start: Vector
    stop: Vector
    layer: Annotated[int, Field(ge=0)] = 0
    count: Annotated[int, Field(ge=2, le=4096)] = 256


@dataclass(frozen=True)
class ProfileValues:
    """values: None outside the volume. length: in world units, which have the unit of the layer."""

    values: tuple[float | None, ...]
    length: float


@dataclass(frozen=True)
class ExportRequest:
    """POST /api/exports: the clipped region of a layer as a file. start, stop: a box of voxels instead of the clip."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    format: ExportFormat = "tiff"
    layer: Annotated[int, Field(ge=0)] = 0
    start: Voxel | None = None
    stop: Voxel | None = None


@dataclass(frozen=True)
class TaskStarted:
    """Progress messages report how far it is, and where the result is; so does GET /api/tasks/{task}."""

    task: str


@dataclass(frozen=True)
class TaskStatus:
    """GET /api/tasks/{task}. note: what it waits for. seconds: that it took, without waiting; 0 while it runs."""

    task: str
    state: Literal["running", "finished", "stopped"]
    done: int
    total: int | None
    url: str
    what: str = ""
    remedy: str = ""
    note: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class StageSummary:
    """Milliseconds over the last frames: half are faster than median, 95 % faster than p95."""

    median: float
    p95: float


@dataclass(frozen=True)
class StatisticsNow:
    """GET /api/statistics. stages: input, render, encode, wire, decode, paint."""

    frames: int
    frames_per_second: float
    dropped: int
    clients: int
    worker_restarts: int
    seconds_idle: float
    stages: dict[str, StageSummary]


ANSWERS = (
    ErrorBody,
    About,
    SceneSnapshot,
    Revision,
    SavedState,
    SavedLink,
    Folder,
    FileFacts,
    Loaded,
    RecentFiles,
    Uploaded,
    ArrayUpload,
    CompiledShading,
    PresetTransfer,
    ProfileValues,
    TaskStarted,
    TaskStatus,
    StatisticsNow,
)
BODIES = (
    SceneChange, LoadRequest, SampleRequest, ArrayOffer, ShadingText, PresetText, ProfileRequest,
    ExportRequest,
)  # fmt: skip
