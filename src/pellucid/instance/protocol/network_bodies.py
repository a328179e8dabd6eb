"""Bodies of HTTP requests about networks.

Here: requests, answers.
Not here: what they start (scene.network_layers).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from pellucid.instance.protocol.shared_types import CLOSED, Voxel

Text = Annotated[str, Field(max_length=200)]
Texts = Annotated[tuple[Text, ...], Field(max_length=16)]


@dataclass(frozen=True)
class NetworkRequest:
    """POST /api/networks: draw the labels that a network gives to the voxels of a layer, as they are computed.

    path: an ONNX file or bioimageio.yaml, below the roots or uploaded. layer: index in scene.volumes. threshold: of a
    network with one output, above which a voxel has label 1. The rest is what a bare ONNX file does not state: axes,
    one letter each (b, c, z, y, x); halo, in voxels (z, y, x); transforms before and after, such as ``sigmoid``.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    path: Annotated[str, Field(max_length=4096)]
    layer: Annotated[int, Field(ge=0)] = 0
    threshold: Annotated[float, Field(allow_inf_nan=False)] | None = None
    axes: Annotated[str, Field(max_length=8)] | None = None
    halo: Voxel | None = None
    preprocess: Texts = ()
    postprocess: Texts = ()


@dataclass(frozen=True)
class NetworkStarted:
    """task: as in /api/tasks. layer: index of the labels in scene.volumes."""

    task: str
    layer: int
    revision: int


ANSWERS = (NetworkStarted,)
BODIES = (NetworkRequest,)
