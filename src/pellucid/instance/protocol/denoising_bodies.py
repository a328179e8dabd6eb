"""Bodies of HTTP requests about denoising a scan.

Here: requests, answers.
Not here: what they start (instance.reconstruction.denoising), the routes.
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from pellucid.instance.protocol.http_bodies import Path, TaskStatus
from pellucid.instance.protocol.shared_types import CLOSED, Voxel
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan_files.assembly import ScanOptions

RegionName = Literal["material", "air"]
"""Of the signal-to-noise ratio: (mean of material - mean of air) / standard deviation of air."""
DenoisingPreset = Literal["fast", "spring8"]
DenoisedSide = Literal["before", "after"]


@dataclass(frozen=True)
class DenoisingRegion:
    """Voxels of the volume from start to before stop, (z, y, x)."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    name: RegionName
    start: Voxel
    stop: Voxel


@dataclass(frozen=True)
class DenoisingRequest:
    """POST /api/denoisings: reconstruct a scan, train a network on it, and write the volume without noise. steps: of
    the training; null for those of the preset. regions: none or one of each name."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    path: Path
    output: Path
    recipe: Recipe
    options: ScanOptions = field(default_factory=ScanOptions)
    preset: DenoisingPreset = "fast"
    steps: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    regions: Annotated[tuple[DenoisingRegion, ...], Field(max_length=2)] = ()
    is_replaced: bool = False


@dataclass(frozen=True)
class ValidationPoint:
    """Mean squared difference from slices of views that the network has not seen, and that of the slices before it."""

    step: int
    error: float
    error_before: float


@dataclass(frozen=True)
class DenoisingStatus:
    """GET /api/denoisings?scan=: the last denoising of a scan.

    stage: what the command does now. steps: how many there will be; step: how many were done. losses: one for every
    ``every`` steps. is_training: the training can be ended now, and its network kept. images: a number that changes
    with the images before and after; 0 while there are none. sentences: what was measured, at the end.
    """

    scan: str
    output: str
    status: TaskStatus
    stage: str
    step: int
    steps: int
    every: int
    losses: tuple[float, ...]
    validations: tuple[ValidationPoint, ...]
    is_training: bool
    images: int
    sentences: tuple[str, ...]


ANSWERS = (DenoisingStatus,)
BODIES = (DenoisingRequest,)
