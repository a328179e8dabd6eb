"""Bodies of HTTP requests about the view: from where a scene is seen, and as which file.

Here: requests, replies.
Not here: the camera of a page, which is a message (client_messages).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from pellucid.instance.protocol.shared_types import CLOSED, Edge, Hit, Name
from pellucid.rendering.annotations import Annotations
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.camera_path import KeyFrame


@dataclass(frozen=True)
class CameraChange:
    """PUT /api/camera."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    camera: Camera


@dataclass(frozen=True)
class FitRequest:
    """POST /api/camera/fit: a camera that sees all that is shown. aspect: width of the image over its height; None: of
    the image of the page that has the controls. is_from_here: from the side where the camera is now, instead of that
    of the first view."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    aspect: Annotated[float, Field(gt=0.01, lt=100)] | None = None
    is_from_here: bool = False


@dataclass(frozen=True)
class FittedCamera:
    """PUT /api/camera looks through it."""

    camera: Camera


@dataclass(frozen=True)
class PresetRequest:
    """PUT /api/presets: the look of a volume: a built-in preset (colours, opacities, shading), or a colour map."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    name: Name
    layer: Annotated[int, Field(ge=0)] = 0


@dataclass(frozen=True)
class PositionRequest:
    """POST /api/probe: what is at a position of the world? The reply is a Hit."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    position: Vector


@dataclass(frozen=True)
class FigureRequest:
    """POST /api/figures: the exact image as a file for a paper. dpi: pixels per inch on paper; annotations: instead of
    the scene's; has_scene: whether the file also has the scene, with the names of its files, which only an owner may
    ask for; key: a key frame of a movie, drawn instead of what is shown now."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    width: Edge = 1280
    height: Edge = 720
    format: Literal["png", "tiff"] = "png"
    dpi: Annotated[float, Field(ge=1, le=10_000)] | None = None
    is_transparent: bool = False
    annotations: Annotations | None = None
    has_scene: bool = False
    key: KeyFrame | None = None


ANSWERS = (FittedCamera, Hit)
BODIES = (CameraChange, FitRequest, PresetRequest, PositionRequest, FigureRequest)
