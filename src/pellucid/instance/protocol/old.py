"""What a page and an instance say to each other.

Here: every message as typed data, reading one from text, writing one to text or bytes.
Not here: what a message does (session, edits), how it travels (connection).

A frame travels as one binary message: four bytes with the length of its header (little-endian), the header as JSON, the
picture. Everything else is JSON text with a ``kind``.
"""

import json
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from pellucid.errors import InvalidInput
from pellucid.rendering.camera import Camera
from pellucid.rendering.scene import Mode, ShadingName

VERSION = 1
LARGEST_MESSAGE_BYTES = 64 * 1024
LARGEST_EDGE = 4096
FARTHEST = 1e12
"""World units. Beyond this the kernels' 32-bit numbers would say nothing about where a ray is."""

Encoding = Literal["jpeg", "png"]
OfferedShading = Literal["none", "gradient", "shadow", "occlusion"]
"""Every shading but the users' own: whoever may steer need not be allowed to run code."""
Edge = Annotated[int, Field(ge=1, le=LARGEST_EDGE)]
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Hello:
    """A page's first message: the version it speaks, and the pixels it can show."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    version: int
    width: Edge
    height: Edge
    kind: Literal["hello"] = "hello"


@dataclass(frozen=True)
class Resize:
    """The page's window has another size now, in pixels."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    width: Edge
    height: Edge
    kind: Literal["resize"] = "resize"


@dataclass(frozen=True)
class Look:
    """Look from here; the latest wins. is_moving: more will follow, so a small picture soon beats a large one."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    camera: Camera
    is_moving: bool = False
    kind: Literal["look"] = "look"

    def __post_init__(self) -> None:
        numbers = (*self.camera.position, *self.camera.target, *self.camera.up, self.camera.height)
        if not all(isfinite(number) and abs(number) < FARTHEST for number in numbers):
            raise InvalidInput("The camera stands beyond all bounds.", do=f"Stay within {FARTHEST:g} world units.")


@dataclass(frozen=True)
class Patch:
    """Change how the volume is drawn, based on the revision given; what is None stays."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    revision: int
    value_range: tuple[float, float] | None = None
    color_map: str | None = None
    mode: Mode | None = None
    shading: OfferedShading | None = None
    isovalue: float | None = None
    kind: Literal["patch"] = "patch"


@dataclass(frozen=True)
class Settings:
    """What a Patch can change, as it is now. color_map is empty where the colours are no map of ours."""

    value_range: tuple[float, float]
    color_map: str
    mode: Mode
    shading: ShadingName
    isovalue: float


@dataclass(frozen=True)
class Welcome:
    """The answer to Hello."""

    revision: int
    settings: Settings
    camera: Camera
    version: int = VERSION
    kind: Literal["welcome"] = "welcome"


@dataclass(frozen=True)
class Changed:
    """The scene has a new revision."""

    revision: int
    settings: Settings
    kind: Literal["changed"] = "changed"


@dataclass(frozen=True)
class Refusal:
    """Something could not be done: what happened, and what to do; ``revision`` is what the instance has."""

    what: str
    do: str
    revision: int
    kind: Literal["refusal"] = "refusal"


@dataclass(frozen=True)
class FrameHeader:
    """What a picture shows.

    is_exact: full size and lossless. times_s: seconds by stage. full_resolution: the fraction of what is visible
    that is drawn from the finest level; the rest had no room on the device, or is still being read.
    """

    revision: int
    camera: Camera
    width: int
    height: int
    encoding: Encoding
    is_exact: bool
    times_s: dict[str, float]
    full_resolution: float = 1.0
    kind: Literal["frame"] = "frame"


@dataclass(frozen=True)
class Picture:
    """A frame, encoded."""

    header: FrameHeader
    encoded: bytes

    def to_bytes(self) -> bytes:
        header = to_text(self.header).encode()
        return len(header).to_bytes(4, "little") + header + self.encoded


Incoming = Hello | Resize | Look | Patch
Outgoing = Welcome | Changed | Refusal | FrameHeader
_INCOMING: TypeAdapter[Incoming] = TypeAdapter(Annotated[Incoming, Field(discriminator="kind")])


def read(text: str) -> Incoming:
    """A page's message; what is no message is refused.

    >>> read('{"kind": "resize", "width": 640, "height": 360}')
    Resize(width=640, height=360, kind='resize')
    """
    try:
        return _INCOMING.validate_json(text)
    except ValidationError as error:
        raise InvalidInput(f"This message was not understood: {_first(error)}.", do="Reload the page.") from error


def to_text(message: Outgoing) -> str:
    return json.dumps(asdict(message))


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, and where."""
    first: Any = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])
