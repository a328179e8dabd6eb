"""What a supervisor asks of a Worker about a scan that somebody is about to reconstruct.

Here: commands and answers as typed data.
Not here: those of pictures and volumes (commands), doing them (trials).
"""

from dataclasses import dataclass
from typing import Literal

from pellucid.tomo.reading.assembly import ScanOptions
from pellucid.tomo.reading.suggestion import Suggestion
from pellucid.tomo.recipe import Recipe

Subject = Literal["projection", "sinogram", "slice"]


@dataclass(frozen=True)
class DescribeScan:
    """The geometry of a scan; answered by ScanDescribed."""

    request: int
    source: str
    options: ScanOptions


@dataclass(frozen=True)
class ScanDescribed:
    """pixel_size_um: None where unknown. assumptions: what was not in the file and is taken to be so."""

    request: int
    kind: str
    projections: int
    rows: int
    columns: int
    dtype: str
    flats: int
    darks: int
    first_angle_deg: float
    last_angle_deg: float
    is_full_turn: bool
    pixel_size_um: float | None
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class SuggestParts:
    """Which datasets of a file might be which part of a scan; answered by PartsSuggested."""

    request: int
    source: str


@dataclass(frozen=True)
class PartsSuggested:
    request: int
    suggestion: Suggestion


@dataclass(frozen=True)
class FindAxis:
    """Where the axis of a scan is, in the way that the recipe says; answered by AxisFound. Done beside trials."""

    request: int
    source: str
    options: ScanOptions
    recipe: Recipe


@dataclass(frozen=True)
class AxisFound:
    """center: the column of the axis in the middle row. slope: columns that it moves by from one row to the next."""

    request: int
    center: float
    slope: float


@dataclass(frozen=True)
class TryScan:
    """A picture of a scan under a recipe; answered by Tried with a grey picture of at most ``edge`` along each side.

    index: the view of a projection, the row of the others. window: the values that become black and white; without it
    they are chosen. is_rough: more will follow, soon beats exact.
    """

    request: int
    source: str
    options: ScanOptions
    subject: Subject
    index: int
    recipe: Recipe
    edge: int
    window: tuple[float, float] | None = None
    is_rough: bool = False


@dataclass(frozen=True)
class Tried:
    """low, high: the values that are black and white. center, slope: of a slice, as in AxisFound.
    radius_px: over which its phase retrieval smooths. voxels: of the volume, along an edge, that became one; views: one
    of so many was used; iterations: so many were made."""

    request: int
    width: int
    height: int
    low: float
    high: float
    unit: str = ""
    center: float | None = None
    slope: float | None = None
    radius_px: float | None = None
    voxels: int = 1
    views: int = 1
    iterations: int = 0


Command = DescribeScan | SuggestParts | FindAxis | TryScan
Answer = ScanDescribed | PartsSuggested | AxisFound | Tried
