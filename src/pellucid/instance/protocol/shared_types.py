"""Types that several messages share.

Here: limits, names, and the pieces that messages in both directions share.
Not here: the messages (client_messages, server_messages), HTTP bodies (http_bodies), text and bytes (codec).

Scene, Camera and everything inside them are those of ``rendering``. Shapes, spacings, voxels and boxes are in (z, y, x)
order; positions in the world in (x, y, z). Times that end in ``_ms`` are milliseconds; those ending in ``_at_ms`` are
milliseconds since 1970 on the clock of the sender.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from pellucid.errors import InvalidInput
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.scene import ShadingName
from pellucid.rendering.user_shading import Parameter
from pellucid.volume.slice_planes import ASSUMED_PLANES, Planes

VERSION = 4
"""Of the messages. A page and an instance of different versions do not talk."""
MAX_MESSAGE_BYTES = 256 * 1024
"""Of a WebSocket message to the instance; larger ones end the connection."""
MAX_EDGE = 8192
MAX_UPLOAD_BYTES = 256 * 2**20
MAX_CLIENTS = 16
RESERVED_FOR_OWNER = 2
"""Of the clients: guests never take the last places."""
MAX_COORDINATE = 1e12
"""World units. Beyond this the kernels' 32-bit numbers would say nothing about where a ray is."""

Capability = Literal["view", "control", "own"]
"""view: see pixels. control: also camera and settings. own: also code, paths, retrieval and sharing."""
Encoding = Literal["jpeg", "png", "h264"]
View = Literal["main", "other"]
Arrangement = Literal["beside", "over"]
"""Of the images of two scenes that are compared: side by side, or one over the other, each as large as the page's."""
"""other: the second scene, where two are compared side by side."""
Axis = Literal["z", "y", "x"]
ExportFormat = Literal["tiff", "nrrd", "zarr"]
TaskState = Literal["running", "finished", "stopped"]
WorkerState = Literal["starting", "loading", "compiling", "ready", "lost", "stopped"]
"""lost: another one is being started. stopped: not any more, until something is wanted."""
EntryKind = Literal["folder", "volume", "points", "mesh"]
Voxel = tuple[int, int, int]
Json = object
"""Any JSON value."""
Edge = Annotated[int, Field(ge=1, le=MAX_EDGE)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(max_length=200)]
PageAddress = Annotated[str, Field(max_length=4096)]
Secret = Annotated[str, Field(max_length=200)]
Request = Annotated[str, Field(max_length=64)]
"""Chosen by the client; the reply or error has the same."""
# A sequence that anyone can fill has fail_fast: an error for each of 100,000 entries takes a second to collect.
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
CLOSED = ConfigDict(extra="forbid", allow_inf_nan=False)
"""For HTTP bodies, which arrive parsed: a list has to pass for a tuple there."""


def check_camera(camera: Camera) -> None:
    """Refuse a camera that is farther away than kernels can count."""
    numbers = (*camera.position, *camera.target, *camera.up, camera.height)
    if not all(isfinite(number) and abs(number) < MAX_COORDINATE for number in numbers):
        raise InvalidInput(
            "The camera position is out of range.", remedy=f"Keep it within {MAX_COORDINATE:g} world units."
        )


@dataclass(frozen=True)
class Change:
    """One place of the scene, and what stands there from now on.

    path: names and numbers from the scene inwards, such as ["volumes", 0, "transfer", "value_range"]. A number one past
    the end of a list adds to it; value null takes an element of a list away.
    """

    path: Annotated[tuple[str | int, ...], Field(max_length=16, fail_fast=True)]
    value: Json


@dataclass(frozen=True)
class HistogramData:
    """counts: voxels in equal bins from low to high."""

    low: float
    high: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class LayerDescription:
    """A volume of the scene, in the order of ``scene.volumes``.

    name: to show. is_memory: an array that was handed over, which a saved state cannot bring back. times, channels: how
    many the file has; scene.time chooses the time step, the source (``file:c=1``) the channel. histogram: None while
    the voxels are still being counted. planes: how slices across z, y and x are shown. orientation: where its axes run
    and where it lies, in words; empty where the file does not state it. compression: what was lost for it, in words.
    is_projections: these are the projections of a scan, which has to be reconstructed to become a volume.
    resembles_projections: no file says so, but they look like projections. axis_code: where its x, y and z run, a
    letter each, such as RAS (right, anterior, superior); empty where the file does not state it.
    """

    name: str
    shape: Voxel
    spacing: tuple[float, float, float]
    unit: str
    dtype: str
    levels: int
    is_memory: bool
    times: int
    channels: int
    channel: int
    histogram: HistogramData | None
    planes: Planes = ASSUMED_PLANES
    orientation: str = ""
    compression: str = ""
    is_projections: bool = False
    resembles_projections: bool = False
    axis_code: str = ""


@dataclass(frozen=True)
class PointsDescription:
    """Points of the scene, in the order of ``scene.points``, with the histogram of their values."""

    name: str
    count: int
    histogram: HistogramData | None


@dataclass(frozen=True)
class MeshDescription:
    """A mesh of the scene, in the order of ``scene.meshes``."""

    name: str
    triangles: int


@dataclass(frozen=True)
class Choices:
    """What there is to choose from. color_maps: colours (red, green, blue, 0 to 1) at equal distances, by name."""

    modes: tuple[str, ...]
    shadings: tuple[ShadingName, ...]
    color_maps: dict[str, tuple[Vector, ...]]
    export_formats: tuple[ExportFormat, ...]


@dataclass(frozen=True)
class Shading:
    """A custom shading. source: empty for guests.

    is_waiting: it came with a state from elsewhere; it is compiled when the owner agrees, and until then what names it
    is drawn with ``gradient``.
    """

    hash: str
    source: str
    parameters: tuple[Parameter, ...]
    is_waiting: bool


@dataclass(frozen=True)
class Client:
    """A connected client."""

    id: str
    name: str
    capability: Capability


@dataclass(frozen=True)
class StageTimes:
    """Where the time of a frame went on the instance's side, in milliseconds.

    input: from the arrival of the message to the start of drawing. encode: this frame's own.
    """

    input: float
    render: float
    encode: float


@dataclass(frozen=True)
class Hit:
    """What is under a place of the image.

    position: in the world. layer: index in scene.volumes. value: of the volume there; label: of the label
    volume, whose index is label_layer; -1 where there is none.
    """

    position: Vector
    layer: int
    voxel: Voxel
    value: float | None
    label: int | None = None
    label_layer: int = -1


@dataclass(frozen=True)
class ClientLimits:
    """What the instance accepts, for a page to stay within."""

    max_edge: int = MAX_EDGE
    max_upload_bytes: int = MAX_UPLOAD_BYTES
    max_clients: int = MAX_CLIENTS
