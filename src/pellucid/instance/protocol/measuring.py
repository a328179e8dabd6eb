"""Bodies of HTTP requests and replies about labels and measures.

Here: the values in a region, paths of a brush. The lists of labels and measures are those of ``rendering``.
Not here: the routes (routes.labels, routes.measures), values along a line (http_bodies).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from pellucid.instance.protocol.shared_types import CLOSED, Axis, Request
from pellucid.rendering.camera import Vector
from pellucid.rendering.label_list import LabelList
from pellucid.rendering.measures import MeasureList

Index = Annotated[float, Field(ge=-1e6, le=1e6)]
PaintedPlace = tuple[Index, Index, Index]


@dataclass(frozen=True)
class RegionRequest:
    """POST /api/regions: the voxels of a layer in a box, between opposite corners along its axes, or in a sphere, given
    by its centre and a point on it; all in the world."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    kind: Literal["box", "sphere"]
    points: tuple[Vector, Vector]
    layer: Annotated[int, Field(ge=0)] = 0


@dataclass(frozen=True)
class PaintRequest:
    """POST /api/paint: give a label to the voxels that a brush touches; 0 erases.

    points: voxels (z, y, x) that it is drawn through. radius: in voxels, along the axis with the finest spacing. axis:
    a disc in the slice across it; None: a ball. only: voxels with this label alone. gesture: names one, of which
    all requests are one step of undo; is_moving: more of them will follow.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    layer: Annotated[int, Field(ge=0)]
    label: int
    points: Annotated[tuple[PaintedPlace, ...], Field(min_length=1, max_length=256, fail_fast=True)]
    radius: Annotated[float, Field(gt=0, le=1024)] = 4.0
    axis: Axis | None = None
    only: int | None = None
    gesture: Request = ""
    is_moving: bool = False


@dataclass(frozen=True)
class SaveLabelsRequest:
    """POST /api/labels/save: the labels of a layer as a new Zarr or HDF5 file."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    layer: Annotated[int, Field(ge=0)]
    path: Annotated[str, Field(min_length=1, max_length=4096)]


@dataclass(frozen=True)
class SavedLabels:
    """Where the labels are now."""

    path: str


ANSWERS = (LabelList, MeasureList, SavedLabels)
BODIES = (RegionRequest, PaintRequest, SaveLabelsRequest)
