"""Messages from a page to an instance over the WebSocket.

Here: every message in that direction. Each is one JSON text with a ``type``.
Not here: the answers (server_messages), requests over HTTP (http_bodies).

``NEEDED`` says which capability a message needs; those in ``NEEDS_CONTROLS`` are refused from clients who have not got
the controls.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from pellucid.instance.protocol.http_bodies import Path
from pellucid.instance.protocol.reconstruction import ReconstructionDraft
from pellucid.instance.protocol.shared_types import (
    STRICT,
    Arrangement,
    Capability,
    Change,
    Edge,
    Encoding,
    Fraction,
    Name,
    PageAddress,
    Request,
    Secret,
    View,
    Voxel,
    check_camera,
)
from pellucid.rendering.camera import Camera
from pellucid.rendering.slice_image import SliceAxis

SliceEdge = Annotated[int, Field(ge=1, le=4096)]
SliceFraction = Annotated[float, Field(ge=-64, le=65)]


@dataclass(frozen=True)
class Prove:
    """The first message: the viewer is to prove that it holds the key of this page's session. nonce: random. address:
    of the page, as it sees itself."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    session: Secret
    nonce: Secret
    address: PageAddress = ""
    type: Literal["prove"] = "prove"


@dataclass(frozen=True)
class Hello:
    """The second message, once the viewer has proved itself: the page's own proof, the version spoken, the name of the
    user, the pixels there are, the encodings that can be shown."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    version: int
    width: Edge
    height: Edge
    proof: Secret = ""
    name: Name = ""
    encodings: Annotated[tuple[Encoding, ...], Field(max_length=8, fail_fast=True)] = ("jpeg", "png")
    type: Literal["hello"] = "hello"


@dataclass(frozen=True)
class Resize:
    """The image's place in the page has another size now, in pixels."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    width: Edge
    height: Edge
    type: Literal["resize"] = "resize"


@dataclass(frozen=True)
class SetCamera:
    """Look from here; the latest wins. is_moving: more will follow, so a small image soon beats a large one.

    sent_at_ms comes back in the header of the first frame that shows it.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    camera: Camera
    is_moving: bool = False
    sent_at_ms: float = 0.0
    type: Literal["set_camera"] = "set_camera"

    def __post_init__(self) -> None:
        check_camera(self.camera)


@dataclass(frozen=True)
class Patch:
    """Change the scene, all of it or nothing, based on the revision given.

    is_moving: more of the same will follow (a slider is held): small images, and one step of undo for all of them.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    revision: int
    changes: Annotated[tuple[Change, ...], Field(max_length=100, fail_fast=True)]
    view: View = "main"
    is_moving: bool = False
    request: Request = ""
    type: Literal["patch"] = "patch"


@dataclass(frozen=True)
class Undo:
    """Back to the scene before the last change; the camera stays."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    request: Request = ""
    type: Literal["undo"] = "undo"


@dataclass(frozen=True)
class Redo:
    """Forward again, to what was undone."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    request: Request = ""
    type: Literal["redo"] = "redo"


@dataclass(frozen=True)
class Compare:
    """Begin to compare: the scene as it is now becomes the other one, beside it; or end it."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    is_on: bool
    request: Request = ""
    type: Literal["compare"] = "compare"


@dataclass(frozen=True)
class Arrange:
    """Put the images of the two scenes that are compared side by side, or one over the other."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    arrangement: Arrangement
    type: Literal["arrange"] = "arrange"


@dataclass(frozen=True)
class Slices:
    """Show the three slices through a voxel of a layer; None ends it."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    voxel: Voxel | None
    layer: Annotated[int, Field(ge=0)] = 0
    type: Literal["slices"] = "slices"


@dataclass(frozen=True)
class SliceView:
    """A slice as a page has room for it. region: left, top, right and bottom of what is in sight, as fractions of the
    slice; width, height: in pixels. oblique: the first of the scene's ``slices``. view: of which scene, where two are
    compared; the slice of the other one lies at the same place of the world, and region is of the scene's slice."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    axis: SliceAxis
    width: SliceEdge
    height: SliceEdge
    region: tuple[SliceFraction, SliceFraction, SliceFraction, SliceFraction] = (0.0, 0.0, 1.0, 1.0)
    view: View = "main"


@dataclass(frozen=True)
class ShowSlices:
    """The slices that this page shows while there is a cross-hair; their images follow, and again whenever what they
    show changes."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    views: Annotated[tuple[SliceView, ...], Field(max_length=8, fail_fast=True)]
    type: Literal["show_slices"] = "show_slices"


@dataclass(frozen=True)
class AcknowledgeSlice:
    """The image of a slice was painted."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    axis: SliceAxis
    number: int
    view: View = "main"
    type: Literal["acknowledge_slice"] = "acknowledge_slice"


@dataclass(frozen=True)
class ProbeSlice:
    """What is at this place of a slice that is shown? x, y: fractions of the slice. Only the latest is answered."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    axis: SliceAxis
    x: Fraction
    y: Fraction
    request: Request = ""
    type: Literal["probe_slice"] = "probe_slice"


@dataclass(frozen=True)
class Probe:
    """What is at this place of the image? x from the left, y from the top, 0 to 1. Only the latest is answered."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    x: Fraction
    y: Fraction
    view: View = "main"
    request: Request = ""
    type: Literal["probe"] = "probe"


@dataclass(frozen=True)
class Acknowledge:
    """A frame was painted. Without it, no more than a few frames are sent."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    number: int
    decode_ms: float = 0.0
    paint_ms: float = 0.0
    type: Literal["acknowledge"] = "acknowledge"


@dataclass(frozen=True)
class RequestKeyFrame:
    """The video decoder lost its way: send a key frame next."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    type: Literal["key_frame"] = "key_frame"


@dataclass(frozen=True)
class RequestControls:
    """Request the controls. An owner gets them at once, and so does any client while they are free."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    type: Literal["request_controls"] = "request_controls"


@dataclass(frozen=True)
class HandOverControls:
    """Hand the controls to a client, or release them."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    client: Request | None = None
    type: Literal["hand_over_controls"] = "hand_over_controls"


@dataclass(frozen=True)
class KeepAlive:
    """The viewer is in use: the idle timeout starts again."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    type: Literal["keep_alive"] = "keep_alive"


@dataclass(frozen=True)
class CancelTask:
    """Stop a task."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    task: Request
    type: Literal["cancel_task"] = "cancel_task"


@dataclass(frozen=True)
class SaveDraft:
    """Keep what is chosen for the reconstruction of a scan, for a page that is opened later.

    draft: None if too little is known of the scan. is_open: whether the page shows it.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    scan: Path
    draft: ReconstructionDraft | None
    is_open: bool
    type: Literal["save_draft"] = "save_draft"


Incoming = (
    Prove | Hello | Resize | SetCamera | Patch | Undo | Redo | Compare | Arrange | Slices | ShowSlices | Probe
    | ProbeSlice | Acknowledge | AcknowledgeSlice | RequestKeyFrame | RequestControls | HandOverControls | KeepAlive
    | CancelTask | SaveDraft
)  # fmt: skip

NEEDED: dict[type[Incoming], Capability] = {
    Prove: "view", Hello: "view", Resize: "view", Acknowledge: "view", RequestKeyFrame: "view", Probe: "view",
    ShowSlices: "view", ProbeSlice: "view", AcknowledgeSlice: "view",
    SetCamera: "control", Patch: "control", Undo: "control", Redo: "control", Compare: "control", Arrange: "control",
    Slices: "control", RequestControls: "control", HandOverControls: "control", KeepAlive: "control",
    CancelTask: "control", SaveDraft: "own",
}  # fmt: skip
"""A Patch that names another source needs ``own`` all the same."""
NEEDS_CONTROLS = (SetCamera, Patch, Undo, Redo, Compare, Arrange, Slices)
