"""Bodies of HTTP requests about the view: from where a scene is seen.

Here: requests, replies.
Not here: the camera of a page, which is a message (client_messages).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from pellucid.instance.protocol.shared_types import CLOSED
from pellucid.rendering.camera import Camera


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


ANSWERS = (FittedCamera,)
BODIES = (CameraChange, FitRequest)
