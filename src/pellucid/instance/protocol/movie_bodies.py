"""Bodies of HTTP requests about movies.

Here: requests, replies.
Not here: their files (rendering.movie), what moves in them (rendering.camera_path).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from pellucid.instance.protocol.shared_types import CLOSED, Edge
from pellucid.rendering.camera_path import CameraPath, KeyFrame

FrameRate = Annotated[int, Field(ge=1, le=60)]


@dataclass(frozen=True)
class MovieRequest:
    """POST /api/movies: through the key frames of a path, as an MP4; without one, once around the target, about the
    camera's up, in so many seconds."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    width: Edge = 1280
    height: Edge = 720
    seconds: Annotated[float, Field(gt=0, le=120)] = 8.0
    frames_per_second: FrameRate = 30
    path: CameraPath | None = None


@dataclass(frozen=True)
class MomentsRequest:
    """POST /api/movies/moments: what a movie shows, image by image."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    path: CameraPath
    frames_per_second: FrameRate = 30


@dataclass(frozen=True)
class MovieMoments:
    """From the first image to the last. After the first one, None is for what is as it was in the image before."""

    moments: tuple[KeyFrame, ...]


@dataclass(frozen=True)
class MoviePathText:
    """POST /api/movies/path: the text of a file with key frames, to be read."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    text: Annotated[str, Field(max_length=2**20)]


@dataclass(frozen=True)
class MoviePath:
    """Key frames with all that they leave to defaults; with version, a file for ``pellucid render --path``."""

    keys: tuple[KeyFrame, ...]
    version: int = 1


ANSWERS = (MovieMoments, MoviePath)
BODIES = (MovieRequest, MomentsRequest, MoviePathText)
