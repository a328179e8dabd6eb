"""Bodies of HTTP requests about a training that is shown.

Here: requests.
Not here: the training (neural.fitting), what all clients are sent (server_messages).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from pellucid.instance.protocol.shared_types import CLOSED, Arrangement

Number = Annotated[float, Field(ge=-1e6, le=1e6)]
Corner = tuple[Number, Number, Number]
Corners = Annotated[tuple[Corner, ...], Field(min_length=8, max_length=8)]


@dataclass(frozen=True)
class TrainingState:
    """PUT /api/training: how far the training of a neural field is, whose preview is the first volume of the scene.

    psnr: in dB. grids: eight corners (x, y, z) of each of its feature grids, with x in the lowest bit of their number;
    -1 and 1 are the ends of the volume.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    name: Annotated[str, Field(max_length=200)]
    step: Annotated[int, Field(ge=0)]
    psnr: Number
    grids: Annotated[tuple[Corners, ...], Field(max_length=256)] = ()


@dataclass(frozen=True)
class Comparison:
    """PUT /api/compare: whether the scene as it is now stays beside the one that changes."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    is_on: bool
    arrangement: Arrangement = "beside"


BODIES = (TrainingState, Comparison)
