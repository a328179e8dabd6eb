"""Bodies of HTTP requests about slices.

Here: requests, answers.
Not here: the cross-hair and the images of slices (client_messages, server_messages).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from pellucid.instance.protocol.shared_types import CLOSED
from pellucid.rendering.slice_image import SliceAxis

Percent = Annotated[float, Field(ge=0, le=100)]


@dataclass(frozen=True)
class SliceWindowRequest:
    """POST /api/slices/window: the grey window of a slice.

    oblique: the first of the scene's ``slices``, which has no index and its own layer. index: of any other slice.
    percents: of its voxels, below the window and below its upper end; 0 and 100: from the lowest to the highest value.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    axis: SliceAxis
    index: Annotated[int, Field(ge=0)] | None = None
    layer: Annotated[int, Field(ge=0)] = 0
    percents: tuple[Percent, Percent] = (1.0, 99.0)


@dataclass(frozen=True)
class SliceWindow:
    """The values that become black and white."""

    low: float
    high: float


ANSWERS = (SliceWindow,)
BODIES = (SliceWindowRequest,)
