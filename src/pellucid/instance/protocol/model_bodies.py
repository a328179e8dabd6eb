"""Bodies of HTTP requests about users' PyTorch models.

Here: requests, answers.
Not here: what they start (scene.model_layers), what all clients are sent (server_messages).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from pellucid.instance.protocol.shared_types import CLOSED

Edge = Annotated[int, Field(ge=1, le=1 << 16)]
Length = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Batch = Annotated[int, Field(ge=256, le=1 << 24)]


@dataclass(frozen=True)
class ModelRequest:
    """POST /api/models: draw a PyTorch model that maps points in [-1, 1]³ to values. It is run by a process of its own.

    path: a Python file or an exported program (.pt2), below the roots or uploaded. name: of a class or a function in a
    Python file. shape: voxels (z, y, x) to evaluate; by default those that the model states, or 256 along each axis.
    batch: points of one call; None for what suits the device.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    path: Annotated[str, Field(max_length=4096)]
    name: Annotated[str, Field(max_length=200)] = ""
    shape: tuple[Edge, Edge, Edge] | None = None
    spacing: tuple[Length, Length, Length] = (1.0, 1.0, 1.0)
    batch: Batch | None = None
    how: Literal["replace", "add"] = "replace"


@dataclass(frozen=True)
class ModelStarted:
    """task: as in /api/tasks. layer: index in scene.volumes."""

    task: str
    layer: int
    revision: int


@dataclass(frozen=True)
class ModelBatch:
    """PATCH /api/models/{task}: how many points are evaluated in one call from now on."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    batch: Batch


ANSWERS = (ModelStarted,)
BODIES = (ModelRequest, ModelBatch)
