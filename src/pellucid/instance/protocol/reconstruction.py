"""Bodies and messages for scans and their reconstruction.

Here: bodies of requests and answers, and the header of a trial's image.
Not here: the routes (instance/routes), other bodies (http_bodies).

The settings of a reconstruction are ``tomo.recipe.Recipe``; those of a scan, its ScanOptions.
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from pellucid.instance.protocol.http_bodies import Path, TaskStatus
from pellucid.instance.protocol.shared_types import CLOSED, Edge, Name
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.dataset_guess import Suggestion
from pellucid.tomo.scan_files.scan_facts import ScanFacts

PreviewPosition = Literal["projection", "sinogram", "slice", "before"]
"""Of the page's images. before: a slice to compare with."""
Index = Annotated[int, Field(ge=0, le=2**31)]
PreviewEncoding = Literal["jpeg", "png", "grey16"]
Ends = tuple[Index, Index]
"""First and stop."""
AxisOrigin = Literal["guessed", "found", "chosen"]
"""A quick guess, to be looked at more closely; a thorough search; or a user."""
ComparedStep = Literal["nothing", "rings", "phase", "filter"]
"""What a slice is compared with: itself, without a step."""


@dataclass(frozen=True)
class ScanRequest:
    """POST /api/scans/describe: a scan, and what is said of it where its files do not."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    path: Path
    options: ScanOptions = field(default_factory=ScanOptions)


@dataclass(frozen=True)
class ReconstructionChoices:
    """What there is to choose from."""

    filters: tuple[str, ...]
    rings: tuple[str, ...]
    methods: tuple[str, ...]
    paddings: tuple[str, ...]


@dataclass(frozen=True)
class ScanDescription(ScanFacts):
    """A scan, and what to begin with. recipe: settings. output: a place for the volume."""

    recipe: Recipe
    output: str
    choices: ReconstructionChoices


@dataclass(frozen=True)
class AxisRequest:
    """POST /api/scans/axis: where the axis is, in the way that the recipe's center names. It may take seconds."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    path: Path
    recipe: Recipe
    options: ScanOptions = field(default_factory=ScanOptions)


@dataclass(frozen=True)
class AxisResult:
    """center: its column in the middle row. slope: columns that it moves by from one row to the next."""

    center: float
    slope: float


@dataclass(frozen=True)
class PreviewRequest:
    """POST /api/scans/preview: an image of a scan with a recipe. A new request for the same view cancels the old one.

    index: the view of a projection, the row of the others. edge: pixels of its longest side, at most. window: the
    values that are black and white; without it they are chosen. is_moving: something is held, soon beats exact.
    is_deep: an image at rest comes as grey16. client: the sender; clients do not cancel each other's requests. number:
    counts what it has asked, for requests may overtake each other.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    path: Path
    place: PreviewPosition
    index: Index
    recipe: Recipe
    options: ScanOptions = field(default_factory=ScanOptions)
    edge: Edge = 1024
    window: tuple[float, float] | None = None
    is_moving: bool = False
    is_deep: bool = False
    client: Name = ""
    number: Index = 0


@dataclass(frozen=True)
class PreviewHeader:
    """Before the image: low and high are black and white, center and slope as in AxisResult, radius_px
    how far phase retrieval smooths. edge: of a slice, in pixels of the detector. voxels: of the volume along an edge,
    that became one pixel, because all of them would take long; views: one of so many was used; iterations: so many were
    made. encoding: grey16 is 16 bits (little endian) for every pixel, from code_low (0) to code_high (65535)."""

    place: PreviewPosition
    index: int
    encoding: PreviewEncoding
    width: int
    height: int
    low: float
    high: float
    unit: str
    center: float | None
    slope: float | None
    radius_px: float | None
    edge: int
    voxels: int
    views: int
    iterations: int
    code_low: float
    code_high: float


@dataclass(frozen=True)
class ReconstructionRequest:
    """POST /api/reconstructions: make the volume; POST /api/reconstructions/command: say it for a terminal.

    is_watched: slices are shown as they are made, in the place of what is shown now. rows, crop: the part that is made,
    as in OutputOptions; all of it without them.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    path: Path
    output: Path
    recipe: Recipe
    options: ScanOptions = field(default_factory=ScanOptions)
    is_replaced: bool = False
    is_watched: bool = False
    rows: Ends | None = None
    crop: tuple[Ends, Ends] | None = None


@dataclass(frozen=True)
class ReconstructionDraft:
    """All settings of a user for a scan: those of ReconstructionRequest, and those of the previews.

    row, view: of the detector. output: where the volume goes; may be empty as yet. rows, crop: as in
    ReconstructionRequest.
    """

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    options: ScanOptions
    recipe: Recipe
    axis: AxisOrigin
    row: Index
    view: Index
    compare: ComparedStep
    output: Annotated[str, Field(max_length=4096)]
    is_replaced: bool
    is_watched: bool
    rows: Ends | None = None
    crop: tuple[Ends, Ends] | None = None


@dataclass(frozen=True)
class ScanDraft:
    """What has been set up for a scan."""

    scan: str
    draft: ReconstructionDraft


@dataclass(frozen=True)
class ReconstructionRun:
    """A volume that is being made, or was."""

    scan: str
    output: str
    is_watched: bool
    status: TaskStatus


@dataclass(frozen=True)
class ReconstructionCommand:
    """The line that does the same in a terminal."""

    text: str


ANSWERS = (ScanDescription, Suggestion, AxisResult, PreviewHeader, ReconstructionCommand)
BODIES = (ScanRequest, AxisRequest, PreviewRequest, ReconstructionRequest)
